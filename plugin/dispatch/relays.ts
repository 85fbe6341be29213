import type { InboundRequest, ResponseSpec } from '../link/sip-link';
import type { CarryOrder } from '../relay/carrier';
import type { RelayResult } from '../relay/relay';

/** The ways to carry a request, as the call path sees them. */
export interface Relays {
  /** True if the request is one of our own on its way back (the guard of a failover): it is being dealt with. */
  takesBack(request: InboundRequest): boolean;
  carry(request: InboundRequest, order: CarryOrder): Promise<RelayResult>;
  /** Answers by ourselves, past the traps of the server. */
  answer(request: InboundRequest, response: ResponseSpec): Promise<void>;
}
