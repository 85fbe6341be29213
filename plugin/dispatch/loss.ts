import type { AttemptRecord } from '../relay/relay';
import type { RequestRecord } from './request-record';

/** What a failing site did to a request, and how the failure showed. */
export interface Loss {
  readonly effect: 'delayed' | 'lost';
  readonly reason: string;
}

/** How an attempt failed; undefined: the node gave an answer of its own that ends the request. */
function failureOf({ outcome, status }: AttemptRecord): string | undefined {
  switch (outcome) {
    case 'silence':
      return 'timeout';
    case 'transport_error':
    case 'link_lost':
      return outcome;
    case 'answer':
      return status === 503 ? 'unavailable' : status === 408 ? 'timeout' : undefined;
    case 'aborted':
      return undefined;
  }
}

/**
 * Whether a request that was to be carried was lost (no node answered it) or delayed (another node did, after the
 * first had failed); undefined: neither. What its caller cancelled is neither.
 */
export function lossOf({ ending, attempts, status, cause, decision }: RequestRecord): Loss | undefined {
  if (ending === 'lost') return { effect: 'lost', reason: cause ?? 'no_outcome' };
  if (ending !== 'answered') return undefined;
  const failures = attempts.map(failureOf);
  if (failures.length > 0) {
    const last = failures.at(-1);
    if (failures.every((failure) => failure !== undefined))
      return { effect: 'lost', reason: last ?? 'timeout' };
    const first = failures[0];
    return first === undefined ? undefined : { effect: 'delayed', reason: first };
  }
  // Decided so: every node is in maintenance, or the registry cannot be asked.
  return decision === 'answer' && status === 503 ? { effect: 'lost', reason: 'no_node' } : undefined;
}
