import type { HeadersAndBody, LegAnswer, SipDialog } from '../link/sip-dialog';
import type { ClientOutcome, HeaderLine, InboundRequest, ResponseSpec } from '../link/sip-link';
import type { Logger } from '../telemetry/logger';
import { answerHeaders, inDialogHeaders } from './leg-headers';
import type { LegIds } from './leg-ids';
import { provisionalEndsReinvite, provisionalHidesFinal } from './server-traps';

/** How long an INVITE inside the dialog may ring: timer C (RFC 3261 §16.6 step 11). */
const REINVITE_MS = 180_000;
/** 64 × T1. */
const OTHER_MS = 32_000;

export interface BridgeParts {
  readonly a: SipDialog;
  readonly b: SipDialog;
  readonly kind: 'INVITE' | 'SUBSCRIBE';
  readonly ids: LegIds;
  readonly log: Logger;
  readonly ended: () => void;
}

/** Two legs of one call or subscription: what one side sends in its dialog goes out in the other. */
export class Bridge {
  private readonly timers = new Set<NodeJS.Timeout>();
  /** Whose ACK the other leg waits for, since it carries the session description. */
  private readonly awaitedAcks = new Map<SipDialog, (ack: HeadersAndBody) => void>();
  private over = false;

  constructor(private readonly parts: BridgeParts) {
    parts.ids.add(parts.a, parts.b);
  }

  /**
   * From here on requests cross. To be called synchronously after both legs exist: the first may be there already.
   * `held`: those of `a` that came before.
   */
  start(held: readonly InboundRequest[] = []): void {
    const { a, b } = this.parts;
    a.onLost((reason) => {
      this.hangUp(b, reason);
    });
    b.onLost((reason) => {
      this.hangUp(a, reason);
    });
    for (const request of held) this.cross(request, a, b);
    a.onRequest((request) => {
      this.cross(request, a, b);
    });
    b.onRequest((request) => {
      this.cross(request, b, a);
    });
  }

  /** `to` is acknowledged by the ACK of `from`, which has the answer to its offer; or without, if none comes. */
  acknowledgeBy(from: SipDialog, to: SipDialog): void {
    const timer = this.later(OTHER_MS, () => {
      if (this.awaitedAcks.delete(from)) to.acknowledge();
    });
    this.awaitedAcks.set(from, (ack) => {
      clearTimeout(timer);
      this.timers.delete(timer);
      to.acknowledge(ack);
    });
  }

  /** Ends both sides. */
  end(reason: string): void {
    const { a, b } = this.parts;
    this.hangUp(a, reason);
    this.hangUp(b, reason);
  }

  private cross(request: InboundRequest, from: SipDialog, to: SipDialog): void {
    const { method } = request.message;
    if (method === 'ACK') {
      const acknowledge = this.awaitedAcks.get(from);
      this.awaitedAcks.delete(from);
      acknowledge?.({ headers: contentHeaders(request), body: request.message.body });
      return;
    }
    const crossing = method === 'BYE' ? this.bye(request, from, to) : this.relay(request, from, to);
    crossing.catch((error: unknown) => {
      this.parts.log.error({ err: error, callId: from.callId, method }, 'a request did not cross');
    });
  }

  /** A hang-up needs nobody's consent: answered at once, whatever the other side says. */
  private async bye(request: InboundRequest, from: SipDialog, to: SipDialog): Promise<void> {
    const headers = this.headersOf(request, to);
    from.forget();
    this.finish();
    const said = this.answer(request, { status: 200 });
    if (!to.ended) await to.request({ method: 'BYE', headers, timeoutMs: OTHER_MS });
    await said;
  }

  private async relay(request: InboundRequest, from: SipDialog, to: SipDialog): Promise<void> {
    const { message } = request;
    const isInvite = message.method === 'INVITE';
    const outcome = await this.ask(request, from, to);
    if (isInvite && outcome.kind === 'answer' && outcome.status < 300) {
      // With an offer in the INVITE its answer is here; without one it comes with the ACK.
      if (message.body !== '') to.acknowledge();
      else this.acknowledgeBy(from, to);
    }
    await this.answer(request, this.responseTo(outcome, from));
    if (this.endsSubscription(request)) this.finishSubscription();
  }

  private ask(request: InboundRequest, from: SipDialog, to: SipDialog): Promise<ClientOutcome> {
    const { method } = request.message;
    const asked = { method, headers: this.headersOf(request, to), body: this.bodyOf(request) };
    if (method !== 'INVITE') return to.request({ ...asked, timeoutMs: OTHER_MS });
    return new Promise((resolve, reject) => {
      const onProvisional = (answer: LegAnswer): void => {
        if (answer.status === 100) return;
        if (provisionalHidesFinal(to.link.capabilities)) {
          resolve({ kind: 'transport_error', reason: 'the final answer will not be told' });
        } else if (!provisionalEndsReinvite(from.link.capabilities)) {
          void this.answer(request, this.response(answer, from));
        }
      };
      to.request({ ...asked, timeoutMs: REINVITE_MS, onProvisional }).then(resolve, reject);
    });
  }

  private responseTo(outcome: ClientOutcome, from: SipDialog): ResponseSpec {
    switch (outcome.kind) {
      case 'answer':
        return this.response(outcome, from);
      case 'timeout':
      case 'aborted':
        return { status: 408 };
      case 'transport_error':
        // The leg is gone on the far side of the server: the dialog is not there any more.
        return { status: /dialog/i.test(outcome.reason) ? 481 : 503 };
      case 'link_lost':
        return { status: 503 };
    }
  }

  private response({ message, status }: LegAnswer, from: SipDialog): ResponseSpec {
    return {
      status,
      ...(message.reason === '' ? {} : { reason: message.reason.replace(/[\r\n\0]/g, ' ') }),
      headers: answerHeaders(message, from.link.capabilities),
      body: message.body,
    };
  }

  private headersOf({ message }: InboundRequest, to: SipDialog): HeaderLine[] {
    const { ids } = this.parts;
    return inDialogHeaders(message, to.link.capabilities).map(([name, value]): HeaderLine => {
      const key = name.toLowerCase();
      if (key === 'refer-to') return [name, ids.mapReferTo(value)];
      if (key === 'replaces' || key === 'target-dialog') return [name, ids.mapReplaces(value)];
      return [name, value];
    });
  }

  private bodyOf({ message }: InboundRequest): string {
    const isDialogInfo = /^application\/dialog-info\+xml\b/i.test(message.get('content-type') ?? '');
    return isDialogInfo ? this.parts.ids.mapDialogInfo(message.body) : message.body;
  }

  private endsSubscription({ message }: InboundRequest): boolean {
    if (this.parts.kind !== 'SUBSCRIBE') return false;
    return message.method === 'NOTIFY' && /^terminated\b/i.test(message.get('subscription-state') ?? '');
  }

  private finishSubscription(): void {
    this.parts.a.forget();
    this.parts.b.forget();
    this.finish();
  }

  private hangUp(leg: SipDialog, reason: string): void {
    this.finish();
    if (leg.ended) return;
    if (this.parts.kind === 'SUBSCRIBE') {
      leg.forget();
      return;
    }
    const text = reason.replace(/[\r\n\0"\\]/g, ' ');
    const headers: HeaderLine[] = [
      ['Reason', /^(sip|q\.850)\b/i.test(text) ? reason : `SIP;cause=503;text="${text}"`],
    ];
    leg.request({ method: 'BYE', headers, timeoutMs: OTHER_MS }).catch((error: unknown) => {
      this.parts.log.warn({ err: error, callId: leg.callId }, 'could not hang up');
    });
  }

  private async answer(request: InboundRequest, response: ResponseSpec): Promise<void> {
    try {
      await request.link.respond(request, response);
    } catch (error) {
      this.parts.log.info({ err: error, callId: request.message.callId }, 'answer in a dialog not delivered');
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
    this.parts.ids.remove(this.parts.a, this.parts.b);
    this.parts.ended();
  }
}

/** Of an ACK only what describes its body goes over. */
function contentHeaders({ message }: InboundRequest): HeaderLine[] {
  const headers: HeaderLine[] = [];
  for (const header of message.headers) {
    if (header.key.startsWith('content-') && header.key !== 'content-length') {
      headers.push([header.key === 'content-type' ? 'Content-Type' : header.name, header.value]);
    }
  }
  return headers;
}
