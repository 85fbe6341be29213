import type { DialogLink, LegAnswer, Opening, OpeningOutcome, SipDialog } from '../link/sip-dialog';
import type { FlowChoice, HeaderLine, InboundRequest, ResponseSpec } from '../link/sip-link';
import type { SipMessage } from '../message/sip-message';
import { attemptOf } from './attempt';
import { bestAnswer } from './best-answer';
import { Bridge } from './bridge';
import { Subscription, unsubscription } from './subscription';
import { Crossing } from './crossing';
import { EarlyDialog } from './early-dialog';
import { answerHeaders, isReliable, openingHeaders } from './leg-headers';
import { LegIds } from './leg-ids';
import {
  FAILOVER_STATUSES,
  giveBadGateway,
  silenceMs,
  unreachable,
  withRetryAfter,
  type AttemptRecord,
  type Distrusted,
  type FailoverLimits,
  type HeaderPolicy,
  type RelayDependencies,
  type RelayedAnswer,
  type RelayResult,
  type RelayTarget,
} from './relay';

export interface B2buaOptions extends FlowChoice {
  readonly requestUri: string;
  readonly targets: readonly RelayTarget[];
  readonly limits: FailoverLimits;
  readonly headers?: HeaderPolicy;
  readonly distrusted?: Distrusted;
  /** The server the second leg leaves from. */
  readonly link: DialogLink;
  readonly onAnswer?: (answer: RelayedAnswer) => void;
  readonly beforeAnswer?: (
    answer: RelayedAnswer,
    response: ResponseSpec,
  ) => ResponseSpec | Promise<ResponseSpec>;
}

/** An INVITE may ring this long (timer C and some). */
const INVITE_MS = 300_000;
const SUBSCRIBE_MS = 32_000;

interface Answered {
  readonly status: number;
  readonly message: SipMessage;
  readonly target: RelayTarget;
}

/**
 * Relays INVITE and SUBSCRIBE as two dialogs, so that everything inside the dialog comes through us: the only way to
 * an endpoint behind NAT, or on a stream, on a server that can't carry our flow token.
 */
export class B2buaRelay {
  private readonly ids = new LegIds();
  private readonly bridges = new Set<Bridge | Subscription>();

  constructor(private readonly dependencies: RelayDependencies) {}

  /** Calls and subscriptions that are up. */
  get size(): number {
    return this.bridges.size;
  }

  /** Resolves when the caller has its final answer; the bridge lives on by itself. */
  async relay(request: InboundRequest, caller: DialogLink, options: B2buaOptions): Promise<RelayResult> {
    return new BridgedCall(request, caller, options, this.dependencies, this.ids, this.bridges).run();
  }

  /** Hangs up everything. */
  close(reason: string): void {
    for (const bridge of [...this.bridges]) bridge.end(reason);
  }
}

class BridgedCall {
  private readonly attempts: AttemptRecord[] = [];
  private readonly answers: Answered[] = [];
  private current: Opening | undefined;
  private readonly crossing: Crossing;
  private readonly early: EarlyDialog;
  private readonly kind: 'INVITE' | 'SUBSCRIBE';

  constructor(
    private readonly request: InboundRequest,
    private readonly caller: DialogLink,
    private readonly options: B2buaOptions,
    private readonly dependencies: RelayDependencies,
    private readonly ids: LegIds,
    private readonly bridges: Set<Bridge | Subscription>,
  ) {
    this.crossing = new Crossing(ids, dependencies.log, {
      distrusted: options.distrusted,
      callerCallId: request.message.callId,
    });
    this.early = new EarlyDialog(this.crossing);
    this.kind = request.message.method === 'SUBSCRIBE' ? 'SUBSCRIBE' : 'INVITE';
    request.onCancel(() => {
      this.current?.cancel();
    });
  }

  async run(): Promise<RelayResult> {
    const { limits, targets } = this.options;
    const end = this.dependencies.now() + limits.totalMs;
    for (const target of targets.slice(0, limits.maxAttempts)) {
      const left = end - this.dependencies.now();
      if (left <= 0 || this.request.cancelled) break;
      const result = await this.attempt(target, Math.min(silenceMs(limits, targets), left));
      if (result !== 'next') return result;
    }
    if (this.request.cancelled) return { kind: 'cancelled', attempts: this.attempts };
    return this.refuse();
  }

  private async attempt(target: RelayTarget, silenceMs: number): Promise<RelayResult | 'next'> {
    const { limits } = this.options;
    const startedAt = this.dependencies.now();
    let silent = false;
    const timer = setTimeout(() => {
      silent = true;
      opening.abandon();
    }, silenceMs);
    const opening = this.open(target, () => {
      clearTimeout(timer);
    });
    if (!limits.onSilence) clearTimeout(timer);
    this.current = opening;
    const outcome = await opening.outcome;
    clearTimeout(timer);
    this.record(target, outcome, silent, this.dependencies.now() - startedAt);
    switch (outcome.kind) {
      case 'opened':
        return this.connect(target, outcome.dialog, outcome.answer);
      case 'answer': {
        const { status, message } = outcome;
        this.answers.push({ status, message, target });
        this.tell({ status, message, target });
        if (this.request.cancelled) return { kind: 'cancelled', attempts: this.attempts };
        return (limits.statuses ?? FAILOVER_STATUSES).includes(status) ? 'next' : this.refuse();
      }
      case 'aborted':
      case 'timeout':
        return limits.onSilence ? 'next' : this.refuse();
      case 'transport_error':
        return 'next';
      case 'link_lost':
        return {
          kind: 'lost',
          cause: 'link_lost',
          reason: 'the link to the SIP server was lost',
          attempts: this.attempts,
        };
    }
  }

  private open(target: RelayTarget, alive: () => void): Opening {
    const { link, requestUri, headers = {}, entry, existingFlow } = this.options;
    const { message } = this.request;
    const opening = link.openDialog({
      method: this.kind,
      uri: requestUri,
      headers: this.ids.mapHeaders(openingHeaders(message, headers, link.capabilities)),
      body: message.body,
      nextHop: target.uri,
      timeoutMs: this.kind === 'INVITE' ? INVITE_MS : SUBSCRIBE_MS,
      onProvisional: (answer) => {
        alive();
        if (answer.status > 100) this.provisional(answer, opening);
      },
      ...(entry === undefined ? {} : { entry }),
      ...(existingFlow === undefined ? {} : { existingFlow }),
    });
    return opening;
  }

  private provisional(answer: LegAnswer, opening: Opening): void {
    if (this.request.settled || this.request.cancelled || opening !== this.current) return;
    const { message, status } = answer;
    const reliable = isReliable(message);
    const response: ResponseSpec = {
      status,
      ...(message.reason === '' ? {} : { reason: message.reason.replace(/[\r\n\0]/g, ' ') }),
      headers: this.headersFor(message),
      body: message.body,
    };
    this.caller.respondInDialog(this.request, response).then(
      (leg) => {
        this.early.follow(leg, answer, opening);
      },
      (error: unknown) => {
        // The caller takes no reliable answers, or is gone: the far side must not wait for its PRACK.
        if (reliable) opening.early?.acknowledgeProvisional(answer, message.cseq?.number ?? 1);
        this.dependencies.log.info({ err: error, callId: this.request.message.callId }, '18x not delivered');
      },
    );
  }

  /** The far side said yes: the caller hears it, and both legs are bridged. */
  private async connect(target: RelayTarget, far: SipDialog, answer: LegAnswer): Promise<RelayResult> {
    const { message, status } = answer;
    this.tell({ status, message, target });
    const lateOffer = this.kind === 'INVITE' && this.request.message.body === '';
    const release = (): void => {
      if (lateOffer) far.acknowledge();
      if (this.kind === 'INVITE') void far.request({ method: 'BYE', headers: [], timeoutMs: SUBSCRIBE_MS });
      else
        void far.request({
          method: 'SUBSCRIBE',
          headers: unsubscription(this.event),
          timeoutMs: SUBSCRIBE_MS,
        });
    };
    if (this.kind === 'INVITE' && !lateOffer) far.acknowledge();
    if (this.request.cancelled || this.request.settled) {
      release();
      return { kind: 'cancelled', attempts: this.attempts };
    }
    // The ACK may be there before this function goes on after its answer.
    this.early.hold(far);
    try {
      const response = await this.changed(
        { status, message, target },
        {
          status,
          ...(message.reason === '' ? {} : { reason: message.reason.replace(/[\r\n\0]/g, ' ') }),
          headers: this.headersFor(message),
          body: message.body,
        },
      );
      const near = await this.caller.respondInDialog(this.request, response);
      this.bridge(near, far, lateOffer, message);
      return { kind: 'answered', answer: { status, message, target }, attempts: this.attempts };
    } catch (error) {
      release();
      this.early.forget();
      if (this.wasCancelled()) return { kind: 'cancelled', attempts: this.attempts };
      this.dependencies.log.info({ err: error, callId: this.request.message.callId }, '2xx not delivered');
      if (await giveBadGateway(this.request)) {
        return { kind: 'answered', answer: { status: 502 }, attempts: this.attempts };
      }
      return {
        kind: 'lost',
        cause: 'caller_gone',
        reason: 'the answer could not be delivered',
        attempts: this.attempts,
      };
    }
  }

  /** Asked anew after a wait: the caller may have cancelled meanwhile. */
  private wasCancelled(): boolean {
    return this.request.cancelled;
  }

  private bridge(near: SipDialog, far: SipDialog, lateOffer: boolean, answer: SipMessage): void {
    const { log } = this.dependencies;
    const shared = {
      ids: this.ids,
      crossing: this.crossing,
      log,
      ended: (): void => {
        this.bridges.delete(bridge);
        log.info({ callId: near.callId, farCallId: far.callId }, 'bridge ended');
      },
    };
    const bridge =
      this.kind === 'INVITE'
        ? new Bridge({ ...shared, a: near, b: far })
        : new Subscription({
            ...shared,
            subscriber: near,
            notifier: far,
            event: this.event,
            expiresS: answer.expires ?? this.request.message.expires,
          });
    this.bridges.add(bridge);
    if (lateOffer && bridge instanceof Bridge) {
      bridge.acknowledgeBy(near, far, this.request.message.cseq?.number);
    }
    bridge.start();
    log.info({ callId: near.callId, farCallId: far.callId, kind: this.kind }, 'bridge up');
  }

  /** The headers of a far side's answer, as the caller hears them. */
  private headersFor(answer: SipMessage): HeaderLine[] {
    return answerHeaders(answer, this.caller.capabilities, this.crossing.removedFrom(answer));
  }

  private get event(): string {
    return this.request.message.get('event') ?? '';
  }

  private async refuse(): Promise<RelayResult> {
    const best = bestAnswer(this.answers, this.kind === 'INVITE');
    const own = unreachable(this.options.existingFlow, this.attempts);
    const answer: RelayedAnswer = best ?? { status: own.status };
    const response: ResponseSpec = best
      ? {
          status: best.status,
          ...(best.message.reason === '' ? {} : { reason: best.message.reason.replace(/[\r\n\0]/g, ' ') }),
          headers: this.headersFor(best.message),
          body: best.message.body,
        }
      : own;
    try {
      const changed = await this.changed(answer, withRetryAfter(response));
      if (this.request.cancelled) return { kind: 'cancelled', attempts: this.attempts };
      await this.request.link.respond(this.request, changed);
      return { kind: 'answered', answer, attempts: this.attempts };
    } catch (error) {
      if (this.wasCancelled()) return { kind: 'cancelled', attempts: this.attempts };
      this.dependencies.log.info({ err: error, callId: this.request.message.callId }, 'answer not delivered');
      if (await giveBadGateway(this.request)) {
        return { kind: 'answered', answer: { status: 502 }, attempts: this.attempts };
      }
      return {
        kind: 'lost',
        cause: 'caller_gone',
        reason: 'the answer could not be delivered',
        attempts: this.attempts,
      };
    }
  }

  private async changed(answer: RelayedAnswer, response: ResponseSpec): Promise<ResponseSpec> {
    const { beforeAnswer } = this.options;
    return beforeAnswer ? beforeAnswer(answer, response) : response;
  }

  private tell(answer: RelayedAnswer): void {
    try {
      this.options.onAnswer?.(answer);
    } catch (error) {
      this.dependencies.log.error({ err: error }, 'a listener for answers failed');
    }
  }

  private record(target: RelayTarget, outcome: OpeningOutcome, silent: boolean, milliseconds: number): void {
    const attempt = attemptOf(outcome, { target, server: this.options.link.name, milliseconds }, silent);
    this.attempts.push(attempt);
    try {
      this.dependencies.observer?.attemptEnded(attempt);
    } catch (error) {
      this.dependencies.log.error({ err: error }, 'an observer of attempts failed');
    }
  }
}
