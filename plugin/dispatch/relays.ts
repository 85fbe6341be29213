import type { FlowChoice, HeaderLine, InboundRequest, ResponseSpec, SipLink } from '../link/sip-link';
import type { FailoverLimits, HeaderPolicy, RelayedAnswer, RelayResult, RelayTarget } from '../relay/relay';
import type { RelayKind } from '../routing/decision';

/** Everything a relay needs to carry one request. */
export interface RelayOrder extends FlowChoice {
  readonly relay: RelayKind;
  /** The Request-URI that goes out, the same for every target. */
  readonly requestUri: string;
  /** In the order they are tried. */
  readonly targets: readonly RelayTarget[];
  readonly limits: FailoverLimits;
  readonly headers: HeaderPolicy;
  readonly onPath: boolean;
  /** User part of our Record-Route: the flow of the endpoint that in-dialog requests are to reach. */
  readonly recordRouteUser?: string;
  /** The server it leaves from; default: the one it came by. */
  readonly link?: SipLink;
  /** The endpoint's flow, where one side of the dialog is reached by it alone. */
  readonly far?: 'caller' | 'callee';
  /** Called at once with every final answer that a target gives. */
  readonly onAnswer: (answer: RelayedAnswer) => void;
  /** Called with the answer just before the caller gets it, where it is ours to send. */
  readonly beforeAnswer: (answer: RelayedAnswer, response: ResponseSpec) => Promise<ResponseSpec>;
}

/** The ways to carry a request, as the call path sees them. */
export interface Relays {
  /** True if the request is one of our own on its way back (the guard of a failover): it is being dealt with. */
  takesBack(request: InboundRequest): boolean;
  carry(request: InboundRequest, order: RelayOrder): Promise<RelayResult>;
  /** Answers by ourselves, past the traps of the server. */
  answer(request: InboundRequest, response: ResponseSpec): Promise<void>;
}

export type { HeaderLine };
