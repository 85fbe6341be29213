import type { InboundRequest, TargetAnswer } from '../link/sip-link';
import { param } from '../message/name-addr';
import type { SipMessage } from '../message/sip-message';
import type { AttemptRecord, RelayTarget, RelayedAnswer } from './relay';

/** The attempt that is under way: which target, since when, and how it has ended so far. */
export interface CurrentAttempt {
  readonly target: RelayTarget;
  readonly startedAt: number;
  /** The branch of the INVITE in hand, which a loop of it carries as its second Via. */
  readonly branch: string | undefined;
  answer?: TargetAnswer;
}

/** One INVITE under guarded failover, over all its loops through the SIP server. */
export class GuardedCall {
  readonly attempts: AttemptRecord[] = [];
  /** Final answers of targets, in order. */
  readonly answers: {
    readonly status: number;
    readonly answer: TargetAnswer;
    readonly target: RelayTarget;
  }[] = [];
  current: CurrentAttempt | undefined;
  cancelled = false;
  /** What the caller hears in the end. */
  decided: RelayedAnswer | undefined;
  private next = 0;

  constructor(
    readonly key: string,
    readonly targets: readonly RelayTarget[],
    readonly maxAttempts: number,
    /** Monotonic milliseconds: no attempt starts after it. */
    readonly endsAt: number,
  ) {}

  /** The next target to try, if there is one and time is left. */
  take(now: number): RelayTarget | undefined {
    if (this.cancelled || this.next >= this.maxAttempts || now >= this.endsAt) return undefined;
    const target = this.targets[this.next];
    this.next += 1;
    return target;
  }
}

/** The calls under guarded failover. Each is removed when its first `proxy` ends, which has a deadline. */
export class GuardedCalls {
  /** Of one key there may be several: a proxy that rings two devices of an account sends each the same INVITE with a branch of its own. */
  private readonly calls = new Map<string, GuardedCall[]>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(call: GuardedCall): void {
    const forks = this.calls.get(call.key);
    if (forks === undefined) this.calls.set(call.key, [call]);
    else forks.push(call);
    this.count += 1;
  }

  remove(call: GuardedCall): void {
    const forks = this.calls.get(call.key) ?? [];
    const at = forks.indexOf(call);
    if (at < 0) return;
    forks.splice(at, 1);
    if (forks.length === 0) this.calls.delete(call.key);
    this.count -= 1;
  }

  /**
   * The call an INVITE is a loop of: it comes from the server's own address, and under the server's Via it has
   * the branch we last handed to `proxy`, which nobody outside knows in advance.
   */
  loopOf(request: InboundRequest): GuardedCall | undefined {
    if (request.message.method !== 'INVITE') return undefined;
    const { source, receivedOn, message } = request;
    if (source.address !== receivedOn.address || source.port !== receivedOn.port) return undefined;
    const branch = message.vias[1]?.branch;
    if (branch === undefined) return undefined;
    const forks = this.calls.get(callKey(request.link.name, message));
    return forks?.find(({ current }) => current?.branch === branch);
  }
}

/** The same for an INVITE and its loops: server, Call-ID, From tag, CSeq. */
export function callKey(server: string, message: SipMessage): string {
  const tag = message.from === undefined ? undefined : param(message.from.params, 'tag');
  return [server, message.callId ?? '', typeof tag === 'string' ? tag : '', message.cseq?.number ?? ''].join(
    '\n',
  );
}
