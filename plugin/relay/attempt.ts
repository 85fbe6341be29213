import type { OpeningOutcome } from '../link/sip-dialog';
import { retryAfterSeconds, type AttemptRecord } from './relay';

/**
 * How an attempt ended, for those who count.
 * @param silent it was given up because nothing came, whatever the outcome says
 */
export function attemptOf(
  outcome: OpeningOutcome,
  base: Pick<AttemptRecord, 'target' | 'server' | 'milliseconds'>,
  silent = false,
): AttemptRecord {
  switch (outcome.kind) {
    case 'opened':
      return { ...base, outcome: 'answer', status: outcome.answer.status };
    case 'answer': {
      const retryAfterS = outcome.status === 503 ? retryAfterSeconds(outcome.message) : undefined;
      const wait = retryAfterS === undefined ? {} : { retryAfterS };
      return { ...base, outcome: 'answer', status: outcome.status, ...wait };
    }
    case 'timeout':
      return { ...base, outcome: 'silence' };
    case 'aborted':
      return { ...base, outcome: silent ? 'silence' : 'aborted' };
    case 'transport_error':
      return { ...base, outcome: 'transport_error' };
    case 'link_lost':
      return { ...base, outcome: 'link_lost' };
  }
}
