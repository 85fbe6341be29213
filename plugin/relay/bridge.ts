import type { HeadersAndBody, LegAnswer, SipDialog } from '../link/sip-dialog';
import type { ClientOutcome, HeaderLine, InboundRequest } from '../link/sip-link';
import type { Logger } from '../telemetry/logger';
import { contentHeaders, NON_INVITE_MS, type Crossing } from './crossing';
import type { LegIds } from './leg-ids';
import { provisionalEndsReinvite, provisionalHidesFinal } from './server-traps';

/** How long an INVITE inside the dialog may ring: timer C (RFC 3261 §16.6 step 11). */
const REINVITE_MS = 180_000;

/**
 * How often both sides of a call are asked whether they still know it. A phone that lost its power says no BYE, and not
 * every call has a session timer (RFC 4028).
 */
const AUDIT_MS = 10 * 60_000;

export interface BridgeParts {
  readonly a: SipDialog;
  readonly b: SipDialog;
  readonly ids: LegIds;
  readonly crossing: Crossing;
  readonly log: Logger;
  readonly ended: () => void;
}

/** An ACK that has to cross. */
interface AwaitedAck {
  readonly sequence: number | undefined;
  readonly come: (ack: HeadersAndBody) => void;
}

/** An INVITE inside the dialog on its way to the other leg. */
class Reinvite {
  readonly cancel = new AbortController();
  readonly end = new AbortController();
  private isEnded = false;

  constructor(readonly request: InboundRequest) {
    request.onCancel(() => {
      this.cancel.abort();
    });
  }

  /** The caller has its 487 already. */
  get isCancelled(): boolean {
    return this.isEnded || this.request.cancelled;
  }

  /**
   * Somebody acknowledges a final answer we did not give: drachtio-server answers a CANCEL inside a dialog, and its
   * INVITE, without telling, but for that ACK.
   */
  wasCancelled(): void {
    this.isEnded = true;
    this.cancel.abort();
  }
}

/** Two legs of one call: what one side sends in its dialog goes out in the other. */
export class Bridge {
  private readonly timers = new Set<NodeJS.Timeout>();
  /** Whose ACK the other leg waits for, since it carries the session description. */
  private readonly awaitedAcks = new Map<SipDialog, AwaitedAck>();
  /** INVITEs inside the dialog that have no final answer yet, by the leg they came on. */
  private readonly reinvites = new Map<SipDialog, Reinvite>();
  private over = false;

  constructor(private readonly parts: BridgeParts) {
    parts.ids.add(parts.a, parts.b);
  }

  /** From here on requests cross. To be called synchronously after both legs exist: the first may be there already. */
  start(): void {
    const { a, b } = this.parts;
    a.onLost((reason) => {
      this.hangUp(b, a, reason);
    });
    b.onLost((reason) => {
      this.hangUp(a, b, reason);
    });
    this.audit();
    a.onRequest((request) => {
      this.cross(request, a, b);
    });
    b.onRequest((request) => {
      this.cross(request, b, a);
    });
  }

  /**
   * `to` is acknowledged by the ACK of `from`, which has the answer to its offer. If none comes the call is over
   * (RFC 3261 §13.3.1.4).
   * @param sequence the CSeq number of the INVITE of `from`
   */
  acknowledgeBy(from: SipDialog, to: SipDialog, sequence: number | undefined): void {
    const timer = this.later(NON_INVITE_MS, () => {
      this.end('no ACK');
    });
    const come = (ack: HeadersAndBody): void => {
      clearTimeout(timer);
      this.timers.delete(timer);
      to.acknowledge(ack);
    };
    this.awaitedAcks.set(from, { sequence, come });
  }

  /** Ends both sides. */
  end(reason: string): void {
    const { a, b } = this.parts;
    this.hangUp(a, b, reason);
    this.hangUp(b, a, reason);
  }

  private cross(request: InboundRequest, from: SipDialog, to: SipDialog): void {
    const { crossing, log } = this.parts;
    switch (request.message.method) {
      case 'ACK':
        this.acknowledged(request, from);
        return;
      case 'BYE':
        soon(() => {
          this.report(this.bye(request, from, to), request);
        });
        return;
      case 'INVITE':
        if (this.awaitedAcks.has(from)) {
          // Its ACK was lost, so the other side still waits for one: no second INVITE there before (RFC 3261 §14.1).
          void crossing.answer(request, { status: 491 });
          return;
        }
        this.report(this.reinvite(request, from, to), request);
        return;
      case 'PRACK':
        // Of a provisional answer that the final one has overtaken.
        log.debug({ callId: from.callId }, 'a PRACK after the final answer');
        void crossing.answer(request, { status: 200 });
        return;
      default:
        soon(() => {
          this.report(this.relay(request, from, to), request);
        });
    }
  }

  private report(crossing: Promise<void>, { message }: InboundRequest): void {
    crossing.catch((error: unknown) => {
      const { callId, method } = message;
      this.parts.log.error({ err: error, callId, method }, 'a request did not cross');
    });
  }

  private acknowledged(ack: InboundRequest, from: SipDialog): void {
    const reinvite = this.reinvites.get(from);
    if (reinvite !== undefined && ack.message.cseq?.number === reinvite.request.message.cseq?.number) {
      reinvite.wasCancelled();
      return;
    }
    const awaited = this.awaitedAcks.get(from);
    // One of an earlier INVITE, sent again because its 2xx came again, says nothing of this one.
    if (awaited === undefined || ack.message.cseq?.number !== awaited.sequence) return;
    this.awaitedAcks.delete(from);
    awaited.come({ headers: contentHeaders(ack), body: ack.message.body });
  }

  /** A hang-up needs nobody's consent: answered at once, whatever the other side says. */
  private async bye(request: InboundRequest, from: SipDialog, to: SipDialog): Promise<void> {
    const { crossing } = this.parts;
    const headers = crossing.headersOf(request, to);
    this.acknowledgeWhatWaits(to, from);
    from.forget();
    const said = crossing.answer(request, { status: 200 });
    const heard = to.ended ? undefined : to.request({ method: 'BYE', headers, timeoutMs: NON_INVITE_MS });
    this.finish();
    await heard;
    await said;
  }

  private async relay(request: InboundRequest, from: SipDialog, to: SipDialog): Promise<void> {
    const { crossing } = this.parts;
    const outcome = await to.request(crossing.requestOf(request, to));
    await crossing.answer(request, crossing.responseTo(outcome, from, request));
  }

  private async reinvite(request: InboundRequest, from: SipDialog, to: SipDialog): Promise<void> {
    const { crossing } = this.parts;
    const reinvite = new Reinvite(request);
    this.reinvites.set(from, reinvite);
    const outcome = await this.ask(reinvite, from, to).finally(() => {
      // Before it is answered: the ACK may come before the server tells that the answer is sent.
      if (this.reinvites.get(from) === reinvite) this.reinvites.delete(from);
    });
    if (outcome.kind === 'answer' && outcome.status < 300) {
      // With an offer in the INVITE its answer is here; without one it comes with the ACK, but not any more.
      if (request.message.body !== '' || reinvite.isCancelled) to.acknowledge();
      else this.acknowledgeBy(from, to, request.message.cseq?.number);
    }
    if (!reinvite.isCancelled) await crossing.answer(request, crossing.responseTo(outcome, from, request));
  }

  private ask({ request, cancel, end }: Reinvite, from: SipDialog, to: SipDialog): Promise<ClientOutcome> {
    const { crossing } = this.parts;
    return new Promise((resolve, reject) => {
      const onProvisional = (answer: LegAnswer): void => {
        if (answer.status === 100) return;
        if (provisionalHidesFinal(to.link.capabilities)) {
          resolve({ kind: 'transport_error', reason: 'the final answer will not be told' });
        } else if (!provisionalEndsReinvite(from.link.capabilities)) {
          void crossing.answer(request, crossing.response(answer, from));
        }
      };
      const asked = { ...crossing.requestOf(request, to), timeoutMs: REINVITE_MS, onProvisional };
      to.request({ ...asked, cancel: cancel.signal, signal: end.signal }).then(resolve, reject);
    });
  }

  private hangUp(leg: SipDialog, other: SipDialog, reason: string): void {
    this.acknowledgeWhatWaits(leg, other);
    if (!leg.ended) this.sendBye(leg, reason);
    this.finish();
  }

  private sendBye(leg: SipDialog, reason: string): void {
    const text = reason.replace(/[\r\n\0"\\]/g, ' ');
    const headers: HeaderLine[] = [
      ['Reason', /^(sip|q\.850)\b/i.test(text) ? reason : `SIP;cause=503;text="${text}"`],
    ];
    leg.request({ method: 'BYE', headers, timeoutMs: NON_INVITE_MS }).catch((error: unknown) => {
      this.parts.log.warn({ err: error, callId: leg.callId }, 'could not hang up');
    });
  }

  /** A 2xx is acknowledged before the call it belongs to is hung up (RFC 3261 §13.2.2.4). */
  private acknowledgeWhatWaits(leg: SipDialog, other: SipDialog): void {
    if (this.awaitedAcks.delete(other) && !leg.ended) leg.acknowledge();
  }

  private audit(): void {
    const { a, b } = this.parts;
    this.later(AUDIT_MS, () => {
      void Promise.all([this.isKnownTo(a), this.isKnownTo(b)]).then((known) => {
        if (this.over) return;
        if (known.includes(false)) this.end('one side does not know the call any more');
        else this.audit();
      });
    });
  }

  /** RFC 3261 §12.2.1.2: silence and 481 mean that the dialog is gone; any other answer that it is there. */
  private async isKnownTo(leg: SipDialog): Promise<boolean> {
    const outcome = await leg.request({ method: 'OPTIONS', headers: [], timeoutMs: NON_INVITE_MS });
    switch (outcome.kind) {
      case 'answer':
        return outcome.status !== 481 && outcome.status !== 408;
      case 'timeout':
        return false;
      case 'transport_error':
        return !/dialog/i.test(outcome.reason);
      case 'aborted':
      case 'link_lost':
        return true;
    }
  }

  private later(ms: number, action: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      action();
    }, ms);
    timer.unref();
    this.timers.add(timer);
    return timer;
  }

  private finish(): void {
    if (this.over) return;
    this.over = true;
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
    this.awaitedAcks.clear();
    for (const { end } of this.reinvites.values()) end.abort();
    this.parts.ids.remove(this.parts.a, this.parts.b);
    this.parts.ended();
  }
}

/**
 * An answer of the same side that came in the same read, before the request, is on its way before it then. A phone that
 * hears the NOTIFY before the 202 to its REFER may refuse it (linphone: 491).
 */
const soon = (action: () => void): void => void setImmediate(action);
