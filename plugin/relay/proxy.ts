import type {
  FlowChoice,
  InboundRequest,
  ProxyOutcome,
  ResponseSpec,
  SipLink,
  TargetAnswer,
} from '../link/sip-link';
import { bestAnswer } from './best-answer';
import type { CancelInjector } from './cancel-injector';
import { copyAnswer } from './copy-answer';
import { destinationUri } from './destination';
import { NodeCheck } from './node-check';
import { attemptOf, resultOf } from './proxy-outcome';
import { GuardedCall, GuardedCalls, callKey } from './guarded-call';
import {
  FAILOVER_STATUSES,
  giveBadGateway,
  isStreamEnd,
  silenceMs,
  withRetryAfter,
  type AttemptRecord,
  type FailoverLimits,
  type HeaderPolicy,
  type RelayDependencies,
  type RelayedAnswer,
  type RelayResult,
  type RelayTarget,
} from './relay';

export interface ProxyRelayOptions extends FlowChoice {
  /**
   * The Request-URI asked for. A server that can't be told it keeps the one it got; one that names the server itself it
   * replaces by the destination, so the user goes into that.
   */
  readonly requestUri: string;
  readonly targets: readonly RelayTarget[];
  readonly limits: FailoverLimits;
  /** False: only the first target is tried. */
  readonly failover: boolean;
  /** Stay on the path of the dialog (Record-Route). */
  readonly onPath: boolean;
  /** User part of our Record-Route, where the server can carry one. */
  readonly recordRouteUser?: string;
  /** `remove` needs the capability `removeHeaders`; `path` is not for proxied requests. */
  readonly headers?: HeaderPolicy;
  /** Called at once with every final answer that a target gives. */
  readonly onAnswer?: (answer: RelayedAnswer) => void;
  /** Milliseconds after which we stop waiting for the end of a call set-up; default 5 minutes. */
  readonly deadlineMs?: number;
}

/** Longer than timer C (RFC 3261 §16.6 step 11), so that only what the server never tells ends by it. */
const INVITE_DEADLINE_MS = 300_000;
/** 64 × T1 and a little. */
const OTHER_DEADLINE_MS = 34_000;
/** Below this the server's own retransmission (timer A at 500 ms) meets the time-out, and a site gets two INVITEs. */
export const MIN_GUARD_TIMEOUT_MS = 2000;

export interface ProxyRelayDependencies extends RelayDependencies {
  readonly cancels: CancelInjector;
  /** Answers by ourselves, past the traps of the server; default: by the link alone. */
  readonly answer?: (request: InboundRequest, response: ResponseSpec) => Promise<void>;
}

/**
 * Relays by the server's `proxy`. Where the server can fail over by status, it is given all targets. Where it can't,
 * an INVITE is guarded: behind each site stands the server's own address as second target, so that whatever ends
 * the first attempt comes back to us as a loop, and `resume` sends it on to the next site or answers it. Not so where there is no
 * site but one phone or vendor on UDP: nobody else could be tried, and the server takes two loops of a call that a site forked for one.
 */
export class ProxyRelay {
  private readonly calls = new GuardedCalls();

  private readonly check: NodeCheck | undefined;

  constructor(private readonly dependencies: ProxyRelayDependencies) {
    const { ask, now } = dependencies;
    this.check = ask && new NodeCheck(ask, now);
  }

  /** Calls under guarded failover. */
  get size(): number {
    return this.calls.size;
  }

  /** While hurried, no request is held back to find out whether its node refuses it. */
  hurry(hurried: boolean): void {
    this.check?.suspend(hurried);
  }

  /** Relays a request. Never rejects for what the network does. */
  relay(request: InboundRequest, options: ProxyRelayOptions): Promise<RelayResult> {
    const { capabilities } = request.link;
    if (capabilities.failoverByStatus) return this.byServer(request, options);
    const self = selfTarget(request, options.requestUri);
    const guard =
      options.failover &&
      options.targets.some((target) => target.site !== undefined || isStreamEnd(target)) &&
      self !== undefined &&
      request.message.method === 'INVITE' &&
      !usesReliableProvisionals(request);
    return guard ? this.guarded(request, options, self) : this.byServer(request, options);
  }

  /**
   * Takes an INVITE that is our own guarded loop; undefined: it is none. To be asked before anything else looks at
   * the request (admission, hooks, loop detection have seen the call already).
   */
  resume(request: InboundRequest): Promise<void> | undefined {
    const call = this.calls.loopOf(request);
    const resumed = call && this.resumable.get(call);
    return call && resumed ? this.continue(request, call, resumed) : undefined;
  }

  private readonly resumable = new WeakMap<GuardedCall, ProxyRelayOptions>();

  /** One `proxy` command with as many targets as the server handles rightly by itself. */
  private async byServer(request: InboundRequest, options: ProxyRelayOptions): Promise<RelayResult> {
    const { link, message } = request;
    const { limits, requestUri } = options;
    const isInvite = message.method === 'INVITE';
    const byStatus = link.capabilities.failoverByStatus;
    const count = options.failover && byStatus ? limits.maxAttempts : 1;
    const attempts: AttemptRecord[] = [];
    const targets = byStatus
      ? options.targets.slice(0, count)
      : await this.reachable(request, options, attempts);
    if (request.cancelled) return { kind: 'cancelled', attempts };
    if (targets.length === 0) return this.refuse(request, attempts);
    const refused = attempts.length;
    let startedAt = this.dependencies.now();
    const onAnswer = (answer: TargetAnswer): void => {
      const now = this.dependencies.now();
      const target = targets[attempts.length - refused] ?? targets[targets.length - 1];
      if (target) this.record(attempts, attemptOf(answer, target, link.name, now - startedAt));
      startedAt = now;
      this.tell(options, answer, target);
    };
    const statuses = limits.statuses ?? FAILOVER_STATUSES;
    const patience = silenceMs(limits, options.targets);
    let ended = false;
    if (isInvite && !byStatus) {
      const since = startedAt;
      request.onCancel(() => this.dependencies.cancels.inject(request, since, () => ended));
    }
    const outcome = await link.proxy(request, {
      targets: targets.map(({ uri }) => ({ uri: destinationUri(uri, requestUri) })),
      recordRoute: options.onPath,
      requestUri,
      ...(options.recordRouteUser === undefined ? {} : { recordRouteUser: options.recordRouteUser }),
      ...(options.headers?.add === undefined ? {} : { headers: options.headers.add }),
      ...(options.headers?.remove === undefined ? {} : { removeHeaders: options.headers.remove }),
      ...(options.entry === undefined ? {} : { entry: options.entry }),
      ...(options.existingFlow === undefined ? {} : { existingFlow: options.existingFlow }),
      ...(byStatus
        ? {
            failoverStatuses: limits.onSilence ? statuses : statuses.filter((status) => status !== 408),
            ...(isInvite
              ? { provisionalTimeoutMs: patience }
              : { finalTimeoutMs: limits.onSilence ? patience : limits.totalMs }),
          }
        : {}),
      onAnswer,
      deadlineMs: options.deadlineMs ?? (isInvite ? INVITE_DEADLINE_MS : OTHER_DEADLINE_MS),
    });
    ended = true;
    return resultOf(outcome, attempts);
  }

  private async guarded(
    request: InboundRequest,
    options: ProxyRelayOptions,
    self: string,
  ): Promise<RelayResult> {
    const { limits, targets } = options;
    const key = callKey(request.link.name, request.message);
    const endsAt = this.dependencies.now() + limits.totalMs;
    const call = new GuardedCall(key, targets, limits.maxAttempts, endsAt);
    const target = await this.next(call, request);
    if (request.cancelled) return { kind: 'cancelled', attempts: call.attempts };
    if (target === undefined) return this.refuse(request, call.attempts);
    this.calls.add(call);
    this.resumable.set(call, options);
    try {
      const outcome = await this.attempt(request, call, target, options, self);
      const result = resultOf(outcome, call.attempts);
      if (result.kind !== 'answered' || call.decided === undefined) return result;
      return { ...result, answer: call.decided };
    } finally {
      this.calls.remove(call);
      this.resumable.delete(call);
    }
  }

  /** Hands one INVITE (the caller's, or a loop of it) to the server: to the target, and behind it to ourselves. */
  private async attempt(
    request: InboundRequest,
    call: GuardedCall,
    target: RelayTarget,
    options: ProxyRelayOptions,
    self: string,
  ): Promise<ProxyOutcome> {
    if (request.cancelled) return { kind: 'cancelled' };
    const isLoop = call.current !== undefined;
    call.current = {
      target,
      startedAt: this.dependencies.now(),
      branch: request.message.via?.branch,
    };
    const { current } = call;
    let ended = false;
    request.onCancel(() => {
      call.cancelled = true;
      // Too late to hold the command back: the server has forgotten the CANCEL by the time it proxies.
      this.dependencies.cancels.inject(request, current.startedAt, () => ended);
    });
    const outcome = await request.link.proxy(request, {
      targets: [{ uri: destinationUri(target.uri, options.requestUri) }, { uri: self }],
      // The first pass put its Record-Route and headers into what looped.
      recordRoute: options.onPath && !isLoop,
      ...(options.headers?.add === undefined || isLoop ? {} : { headers: options.headers.add }),
      provisionalTimeoutMs: Math.max(MIN_GUARD_TIMEOUT_MS, silenceMs(options.limits, options.targets)),
      onAnswer: (answer) => {
        ended = ended || !isFromSelf(answer, request);
        this.targetAnswered(call, current, answer, request);
        if (!isFromSelf(answer, request)) this.tell(options, answer, target);
      },
      deadlineMs: options.deadlineMs ?? INVITE_DEADLINE_MS,
    });
    ended = true;
    return outcome;
  }

  private targetAnswered(
    call: GuardedCall,
    current: NonNullable<GuardedCall['current']>,
    answer: TargetAnswer,
    request: InboundRequest,
  ): void {
    if (isFromSelf(answer, request) || current.answer !== undefined) return;
    current.answer = answer;
    const milliseconds = this.dependencies.now() - current.startedAt;
    this.record(call.attempts, attemptOf(answer, current.target, request.link.name, milliseconds));
    call.answers.push({ status: answer.status, answer, target: current.target });
    call.decided = { status: answer.status, message: answer.message, target: current.target };
  }

  /** An attempt has ended and its INVITE came back to us: on to the next target, or the answer. */
  private async continue(
    request: InboundRequest,
    call: GuardedCall,
    options: ProxyRelayOptions,
  ): Promise<void> {
    const { current } = call;
    if (current !== undefined && current.answer === undefined) {
      const milliseconds = this.dependencies.now() - current.startedAt;
      const { name: server } = request.link;
      this.record(call.attempts, { target: current.target, server, outcome: 'silence', milliseconds });
    }
    const statuses = options.limits.statuses ?? FAILOVER_STATUSES;
    const status = current?.answer?.status;
    const mayMoveOn = status === undefined ? options.limits.onSilence : statuses.includes(status);
    const target = mayMoveOn ? await this.next(call, request) : undefined;
    const self = selfTarget(request, options.requestUri);
    if (request.cancelled || call.cancelled) {
      call.cancelled = true;
      await this.give(request, { status: 487 });
      return;
    }
    if (target !== undefined && self !== undefined) {
      await this.attempt(request, call, target, options, self);
      return;
    }
    await this.give(request, this.conclusion(call, request.link));
  }

  /** The next target of a guarded call that does not refuse what is sent to it. */
  private async next(call: GuardedCall, request: InboundRequest): Promise<RelayTarget | undefined> {
    for (;;) {
      const target = call.take(this.dependencies.now());
      if (target === undefined || !(await this.refuses(target, request, call.attempts))) return target;
    }
  }

  /** The one target a server gets that can't fail over by status: the first that does not refuse, of those that may be tried. */
  private async reachable(
    request: InboundRequest,
    { targets, failover, limits }: ProxyRelayOptions,
    attempts: AttemptRecord[],
  ): Promise<readonly RelayTarget[]> {
    for (const target of targets.slice(0, failover ? limits.maxAttempts : 1)) {
      if (!(await this.refuses(target, request, attempts))) return [target];
    }
    return [];
  }

  /** Nothing was sent to a target that refuses: whatever the method, the next may have it. */
  private async refuses(
    target: RelayTarget,
    request: InboundRequest,
    attempts: AttemptRecord[],
  ): Promise<boolean> {
    if (this.check === undefined) return false;
    const { name: server } = request.link;
    const startedAt = this.dependencies.now();
    if (!(await this.check.refuses(server, target))) return false;
    const milliseconds = this.dependencies.now() - startedAt;
    this.record(attempts, { target, server, outcome: 'transport_error', milliseconds });
    return true;
  }

  /** All targets refused. */
  private async refuse(request: InboundRequest, attempts: readonly AttemptRecord[]): Promise<RelayResult> {
    const response = withRetryAfter({ status: 503 });
    await this.give(request, response);
    return { kind: 'answered', answer: { status: response.status }, attempts };
  }

  private conclusion(call: GuardedCall, link: SipLink): ResponseSpec {
    const best = bestAnswer(call.answers, true);
    if (best === undefined) {
      call.decided = { status: 503 };
      return withRetryAfter({ status: 503 });
    }
    call.decided = { status: best.status, message: best.answer.message, target: best.target };
    return withRetryAfter(copyAnswer('INVITE', best.answer.message, link.capabilities));
  }

  private async give(request: InboundRequest, response: ResponseSpec): Promise<void> {
    if (request.settled) return;
    try {
      const { answer } = this.dependencies;
      await (answer === undefined ? request.link.respond(request, response) : answer(request, response));
    } catch (error) {
      this.dependencies.log.info({ callId: request.message.callId, err: error }, 'not answered');
      await giveBadGateway(request);
    }
  }

  private tell(options: ProxyRelayOptions, answer: TargetAnswer, target: RelayTarget | undefined): void {
    // What the server made up itself is no answer of a target.
    if (answer.source.address === '') return;
    const { status, message } = answer;
    try {
      options.onAnswer?.({ status, message, ...(target === undefined ? {} : { target }) });
    } catch (error) {
      this.dependencies.log.error({ err: error }, 'a listener for answers failed');
    }
  }

  private record(attempts: AttemptRecord[], attempt: AttemptRecord): void {
    attempts.push(attempt);
    if (attempt.outcome === 'answer') this.check?.heard(attempt.server, attempt.target);
    try {
      this.dependencies.observer?.attemptEnded(attempt);
    } catch (error) {
      this.dependencies.log.error({ err: error }, 'an observer of attempts failed');
    }
  }
}

/** The server's own address, as a destination: where it got the request. */
function selfTarget(request: InboundRequest, requestUri: string): string | undefined {
  const { address, port } = request.receivedOn;
  if (address === '') return undefined;
  const own = request.link.addresses.filter((one) => one.port === port && one.address === address);
  const host = address.includes(':') ? `[${address}]` : address;
  if (own.length > 0 && !own.some(({ transport }) => transport === 'udp')) return undefined;
  return destinationUri(`sip:${host}:${port}`, requestUri);
}

function isFromSelf({ source }: TargetAnswer, request: InboundRequest): boolean {
  const { address, port } = request.receivedOn;
  return source.address === address && source.port === port;
}

/** 100rel in Supported or Require (RFC 3262): the server rewrites RSeq, and after a loop the PRACK is lost. */
export function usesReliableProvisionals({ message }: InboundRequest): boolean {
  return [...message.list('supported'), ...message.list('require')].some(
    (option) => option.toLowerCase() === '100rel',
  );
}
