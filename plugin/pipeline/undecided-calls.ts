import type { Admission } from '../admission/admission';
import type { CarriedDecision } from '../dispatch/order';
import type { Relays } from '../dispatch/relays';
import type { HeaderLine, InboundRequest } from '../link/sip-link';
import type { Logger } from '../telemetry/logger';
import type { Call } from './call';

export interface UndecidedCallsParts {
  readonly admission: Admission;
  readonly relays: Relays;
  readonly log: Logger;
}

/** Seconds after which a caller may come again where another instance is about to serve. */
const HANDED_OVER_RETRY_AFTER_S = 1;

/** The requests that were let in and are neither on their way nor answered: what becomes of them in a hand-over. */
export class UndecidedCalls {
  readonly #parts: UndecidedCallsParts;
  readonly #calls = new Set<Call>();

  constructor(parts: UndecidedCallsParts) {
    this.#parts = parts;
  }

  add(call: Call): void {
    this.#calls.add(call);
  }

  delete(call: Call): void {
    this.#calls.delete(call);
  }

  /** Answers 503 to each INVITE that the server has said 100 to: it would be sent again by nobody. */
  async refuse(): Promise<void> {
    const held = [...this.#calls].filter(({ request }) => wasSaid100(request));
    await Promise.all(
      held.map(async (call) => {
        try {
          await this.#sendElsewhere(call);
        } catch (error) {
          this.#parts.log.debug({ id: call.record.id, err: error }, 'refusal not delivered');
        }
      }),
    );
  }

  /**
   * Whether the request is left to the instance that has the addresses, or will have them in a moment. Until they are gone a
   * proxied request is carried: its answers find their way through any instance. The others would end with ours: in silence,
   * so that they are sent again; where the SIP server has said 100 to an INVITE, with a 503.
   */
  async leaves(call: Call, decision: CarriedDecision): Promise<boolean> {
    const { request, record, standing } = call;
    const { admission } = this.#parts;
    const cameLate = standing === 'late' && decision.relay !== 'proxy';
    if (admission.maySend && !cameLate) return false;
    if (admission.maySend && wasSaid100(request)) {
      await this.#sendElsewhere(call);
    } else {
      record.reason = 'standby';
      record.ending = 'dropped';
      request.link.drop(request, 'take');
    }
    return true;
  }

  /** Answers 503: the caller shall come again, to the instance that has the addresses then. */
  async #sendElsewhere(call: Call): Promise<void> {
    this.delete(call);
    call.refused = true;
    call.record.reason = 'standby';
    call.record.status = 503;
    const headers: HeaderLine[] = [['Retry-After', String(HANDED_OVER_RETRY_AFTER_S)]];
    await this.#parts.relays.answer(call.request, { status: 503, headers });
  }
}

/** Whether the SIP server has said 100 by itself to what has no other answer yet: it is not sent again. */
const wasSaid100 = ({ message, link, settled, cancelled }: InboundRequest): boolean =>
  message.method === 'INVITE' && !link.capabilities.dropRequests && !settled && !cancelled;
