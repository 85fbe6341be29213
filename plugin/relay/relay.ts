import type { HeaderLine, InboundRequest, ResponseSpec } from '../link/sip-link';
import type { SipMessage } from '../message/sip-message';
import type { MonotonicClock } from '../telemetry/clock';
import type { Logger } from '../telemetry/logger';
import type { AskNode } from './node-check';

/** One destination of an attempt list, as routing's plan has them. */
export interface RelayTarget {
  /** A SIP URI without user, with port and transport: where the packet goes. */
  readonly uri: string;
  readonly system?: string;
  readonly site?: string;
  readonly node?: string;
}

/** A phone or vendor on a stream: without the connection it has nothing can reach it, and a SIP server may try for long. */
export const isStreamEnd = ({ site, uri }: RelayTarget): boolean =>
  site === undefined && /;transport=(tcp|tls|ws|wss)\b/i.test(uri);

/**
 * How long a target may be silent: where there is no other to go to, nothing is gained by giving up before all the time is over,
 * unless it is a stream, whose other end says at once that it is there.
 */
export const silenceMs = (limits: FailoverLimits, targets: readonly RelayTarget[]): number =>
  Math.min(targets.length, limits.maxAttempts) > 1 || targets.some(isStreamEnd)
    ? limits.timeoutMs
    : Math.max(limits.timeoutMs, limits.totalMs);

/** How one attempt ended. */
export interface AttemptRecord {
  readonly target: RelayTarget;
  /** The name of the SIP server it was tried from. */
  readonly server: string;
  readonly outcome: 'answer' | 'silence' | 'transport_error' | 'aborted' | 'link_lost';
  /** The final status, when there was an answer. */
  readonly status?: number;
  /** Seconds the site asked to be left alone (Retry-After of a 503). */
  readonly retryAfterS?: number;
  readonly milliseconds: number;
}

/** Who wants to know how attempts end: health, metrics, the log. What it throws is logged and changes nothing. */
export interface RelayObserver {
  attemptEnded(attempt: AttemptRecord): void;
}

/** What changes between what came in and what goes out, beyond what the relay itself must change. */
export interface HeaderPolicy {
  /** Names of headers that do not go on, long or compact, in any case. */
  readonly remove?: readonly string[];
  /** Headers put in front of those that go on. */
  readonly add?: readonly HeaderLine[];
  /** Our own Path, put on top of the request's (RFC 3327). */
  readonly path?: string;
}

/** The side that may not say who is calling, or was called: its identity headers do not go on, of requests and answers. */
export type Distrusted = 'caller' | 'callee';

/** Limits of the failover of one request. */
export interface FailoverLimits {
  /** Milliseconds one attempt may stay without a final answer (INVITE: without any). */
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** Milliseconds all attempts together may take. */
  readonly totalMs: number;
  /** Whether silence moves on to the next target. Off for MESSAGE: the first may have been delivered. */
  readonly onSilence: boolean;
  /** Statuses that move on to the next target; default 408 and 503. */
  readonly statuses?: readonly number[];
}

export const FAILOVER_STATUSES: readonly number[] = Object.freeze([408, 503]);

/** An answer on its way to the caller. */
export interface RelayedAnswer {
  readonly status: number;
  /** The far side's message; absent when the relay answers by itself. */
  readonly message?: SipMessage;
  readonly target?: RelayTarget;
}

/** How a relayed request ended for the caller. */
export type RelayResult =
  | { readonly kind: 'answered'; readonly answer: RelayedAnswer; readonly attempts: readonly AttemptRecord[] }
  | { readonly kind: 'cancelled'; readonly attempts: readonly AttemptRecord[] }
  /** A retransmission of a request that is still under way: dropped. */
  | { readonly kind: 'duplicate'; readonly attempts: readonly [] }
  /** The caller got nothing from us: the server or its link was lost, or the request was over. */
  | {
      readonly kind: 'lost';
      readonly cause: LossCause;
      readonly reason: string;
      readonly attempts: readonly AttemptRecord[];
    };

/**
 * Why the caller got nothing: the link to the server was lost; the server never told how it ended; it would not take
 * the command; the answer could not be delivered.
 */
export type LossCause = 'link_lost' | 'no_outcome' | 'server_refused' | 'caller_gone';

export interface RelayDependencies {
  readonly log: Logger;
  readonly now: MonotonicClock;
  readonly observer?: RelayObserver;
  /** Asks a node whether it is there, where the SIP server would not tell; without it that is found out by timers. */
  readonly ask?: AskNode;
}

/** Seconds a caller is asked to wait when nothing could be reached. */
export const UNREACHABLE_RETRY_AFTER_S = 10;

/** A 503 says when to come again, so that the caller neither gives up for long nor hammers (RFC 3261 §21.5.4). */
export function withRetryAfter(response: ResponseSpec): ResponseSpec {
  const headers = response.headers ?? [];
  const says = headers.filter(([name]) => name.toLowerCase() === 'retry-after');
  // RFC 3261 §20.33: seconds; a caller makes nothing of a date or a minus.
  if (response.status !== 503 || says.some(([, value]) => /^\d/.test(value))) return response;
  const others = headers.filter((line) => !says.includes(line));
  return { ...response, headers: [...others, ['Retry-After', String(UNREACHABLE_RETRY_AFTER_S)]] };
}

/**
 * What the caller hears when no target gave an answer: 430 where the only way was a connection that is closed (RFC 5626
 * §5.3), so that a registrar forgets that binding; else 503.
 */
export function unreachable(
  existingFlow: boolean | undefined,
  attempts: readonly AttemptRecord[],
): ResponseSpec {
  const isGone = existingFlow === true && attempts.every(({ outcome }) => outcome === 'transport_error');
  return isGone ? { status: 430 } : withRetryAfter({ status: 503 });
}

/** Reads a Retry-After (RFC 3261 §20.33): seconds, whatever comment or parameters follow. */
export function retryAfterSeconds(message: SipMessage): number | undefined {
  const digits = /^(\d{1,9})/.exec(message.get('retry-after') ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/**
 * Answers 502 where the answer that came could not be given to the SIP server: it is larger than drachtio-server takes from an
 * application. False: the caller has an answer, or nothing can be said to him.
 */
export async function giveBadGateway(request: InboundRequest): Promise<boolean> {
  if (request.settled || request.cancelled) return false;
  try {
    await request.link.respond(request, { status: 502 });
    return true;
  } catch {
    return false;
  }
}
