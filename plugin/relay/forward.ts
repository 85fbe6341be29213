import type { DsbcError } from '../errors';
import type { ClientOutcome, FlowChoice, InboundRequest, ResponseSpec, SipLink } from '../link/sip-link';
import { attemptOf } from './attempt';
import { bestAnswer } from './best-answer';
import { copyAnswer } from './copy-answer';
import { copyRequestHeaders } from './copy-request';
import type { InProgress } from './in-progress';
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

export interface ForwardOptions extends FlowChoice {
  /** The Request-URI that goes out, the same for every target. */
  readonly requestUri: string;
  /** In the order they are tried. */
  readonly targets: readonly RelayTarget[];
  readonly limits: FailoverLimits;
  readonly headers?: HeaderPolicy;
  readonly distrusted?: Distrusted;
  /** The server the request leaves from; default: the one it came by. */
  readonly link?: SipLink;
  /** Whether SIP may be sent now; default: always. */
  readonly maySend?: () => boolean;
  /** Called at once with every final answer that a target gives. */
  readonly onAnswer?: (answer: RelayedAnswer) => void;
  /** Called with the answer just before the caller gets it; may change what is sent back. */
  readonly beforeAnswer?: (
    answer: RelayedAnswer,
    response: ResponseSpec,
  ) => ResponseSpec | Promise<ResponseSpec>;
  /** Retransmissions of what is under way here are dropped. */
  readonly inProgress?: InProgress;
}

interface Answered {
  readonly status: number;
  readonly outcome: Extract<ClientOutcome, { kind: 'answer' }>;
  readonly target: RelayTarget;
}

/**
 * Relays a request that opens no dialog: the caller's server transaction on one side, an own client transaction per
 * attempt on the other. Moves on to the next target on silence (if the limits say so), when it can't be sent, and on
 * the failover statuses; never on any other answer. Never rejects for what the network does.
 */
export async function forward(
  request: InboundRequest,
  options: ForwardOptions,
  dependencies: RelayDependencies,
): Promise<RelayResult> {
  const { inProgress } = options;
  if (inProgress !== undefined && !inProgress.enter(request)) {
    request.link.drop(request);
    return { kind: 'duplicate', attempts: [] };
  }
  try {
    return await new Forwarding(request, options, dependencies).run();
  } finally {
    inProgress?.leave(request);
  }
}

class Forwarding {
  private readonly attempts: AttemptRecord[] = [];
  private readonly answers: Answered[] = [];
  private readonly link: SipLink;
  private readonly abort = new AbortController();

  constructor(
    private readonly request: InboundRequest,
    private readonly options: ForwardOptions,
    private readonly dependencies: RelayDependencies,
  ) {
    this.link = options.link ?? request.link;
    request.onCancel(() => {
      this.abort.abort();
    });
  }

  async run(): Promise<RelayResult> {
    const { limits, targets } = this.options;
    const end = this.dependencies.now() + limits.totalMs;
    for (const target of targets.slice(0, limits.maxAttempts)) {
      const left = end - this.dependencies.now();
      if (left <= 0) break;
      const goOn = await this.attempt(target, Math.min(silenceMs(limits, targets), left), left);
      if (this.request.cancelled) return { kind: 'cancelled', attempts: this.attempts };
      if (!goOn) break;
    }
    return this.conclude();
  }

  /** One target; true when the next one is to be tried. */
  private async attempt(target: RelayTarget, timeoutMs: number, leftMs: number): Promise<boolean> {
    const { limits, requestUri, headers = {}, entry, existingFlow } = this.options;
    const { message } = this.request;
    const start = this.dependencies.now();
    const outcome = await this.link.request({
      method: message.method,
      uri: requestUri,
      headers: copyRequestHeaders(message, headers, this.link.capabilities),
      body: message.body,
      nextHop: target.uri,
      // Where silence does not move on there is nothing to hurry for.
      timeoutMs: limits.onSilence ? timeoutMs : leftMs,
      signal: this.abort.signal,
      ...(entry === undefined ? {} : { entry }),
      ...(existingFlow === undefined ? {} : { existingFlow }),
    });
    const milliseconds = this.dependencies.now() - start;
    this.record(attemptOf(outcome, { target, server: this.link.name, milliseconds }));
    switch (outcome.kind) {
      case 'answer':
        this.answers.push({ status: outcome.status, outcome, target });
        this.tell({ status: outcome.status, message: outcome.message, target });
        return this.movesOn(outcome.status);
      case 'timeout':
        return limits.onSilence;
      case 'transport_error':
        this.dependencies.log.info(
          { callId: message.callId, target: target.uri, reason: outcome.reason },
          'not sent',
        );
        return true;
      case 'aborted':
      case 'link_lost':
        return false;
    }
  }

  /** A 408 says that somebody behind the target was silent: what may not be tried elsewhere after silence may not be then. */
  private movesOn(status: number): boolean {
    const { limits } = this.options;
    if (status === 408 && !limits.onSilence) return false;
    return (limits.statuses ?? FAILOVER_STATUSES).includes(status);
  }

  private async conclude(): Promise<RelayResult> {
    const best = bestAnswer(this.answers, this.request.message.method === 'INVITE');
    const { capabilities } = this.request.link;
    if (best !== undefined) {
      const { message } = best.outcome;
      const { distrusted } = this.options;
      const { method } = this.request.message;
      const response = withRetryAfter(copyAnswer(method, message, capabilities, distrusted));
      return this.answer({ status: best.status, message, target: best.target }, response);
    }
    if (this.attempts.some(({ outcome }) => outcome === 'link_lost')) {
      return {
        kind: 'lost',
        cause: 'link_lost',
        reason: 'the link to the SIP server was lost',
        attempts: this.attempts,
      };
    }
    if (this.options.maySend?.() === false) {
      // Nothing was reached because the addresses went meanwhile. An answer of ours would reach nobody either, and would be kept
      // for the request's retransmission, which whoever has the addresses then can serve.
      this.request.link.drop(this.request, 'take');
      const reason = 'the addresses are not here any more';
      return { kind: 'lost', cause: 'caller_gone', reason, attempts: this.attempts };
    }
    const own = unreachable(this.options.existingFlow, this.attempts);
    return this.answer({ status: own.status }, own);
  }

  private async answer(answer: RelayedAnswer, response: ResponseSpec): Promise<RelayResult> {
    const { beforeAnswer } = this.options;
    try {
      const changed = beforeAnswer ? await beforeAnswer(answer, response) : response;
      await this.request.link.respond(this.request, changed);
      return { kind: 'answered', answer, attempts: this.attempts };
    } catch (error) {
      // The device is gone, or the server: nobody is left to be told.
      const reason = (error as DsbcError).message;
      this.dependencies.log.info({ callId: this.request.message.callId, err: error }, 'answer not delivered');
      if (await giveBadGateway(this.request)) {
        return { kind: 'answered', answer: { status: 502 }, attempts: this.attempts };
      }
      return { kind: 'lost', cause: 'caller_gone', reason, attempts: this.attempts };
    }
  }

  private tell(answer: RelayedAnswer): void {
    try {
      this.options.onAnswer?.(answer);
    } catch (error) {
      this.dependencies.log.error({ err: error }, 'a listener for answers failed');
    }
  }

  private record(attempt: AttemptRecord): void {
    this.attempts.push(attempt);
    try {
      this.dependencies.observer?.attemptEnded(attempt);
    } catch (error) {
      this.dependencies.log.error({ err: error }, 'an observer of attempts failed');
    }
  }
}
