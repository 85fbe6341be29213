import type { ProxyOutcome, TargetAnswer } from '../link/sip-link';
import { bestAnswer } from './best-answer';
import { retryAfterSeconds, type AttemptRecord, type RelayResult, type RelayTarget } from './relay';

/** How a proxied attempt ended, for those who count. */
export function attemptOf(
  answer: TargetAnswer,
  target: RelayTarget,
  server: string,
  milliseconds: number,
): AttemptRecord {
  const base = { target, server, milliseconds };
  if (answer.source.address === '') {
    // The server's own words for what did not happen.
    return { ...base, outcome: answer.status === 408 ? 'silence' : 'transport_error' };
  }
  const retryAfterS = answer.status === 503 ? retryAfterSeconds(answer.message) : undefined;
  return {
    ...base,
    outcome: 'answer',
    status: answer.status,
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  };
}

/** How a proxied request ended for the caller. */
export function resultOf(outcome: ProxyOutcome, attempts: readonly AttemptRecord[]): RelayResult {
  switch (outcome.kind) {
    case 'done': {
      const real = outcome.answers.filter(({ source }) => source.address !== '');
      const best = real.find(({ status }) => status < 300) ?? bestAnswer(real, true);
      if (best === undefined) return { kind: 'answered', answer: { status: 503 }, attempts };
      if (best.status === 487) return { kind: 'cancelled', attempts };
      return { kind: 'answered', answer: { status: best.status, message: best.message }, attempts };
    }
    case 'cancelled':
      return { kind: 'cancelled', attempts };
    case 'refused': {
      // The server has answered these two by itself.
      const status = /\b483\b/.test(outcome.reason) ? 483 : /^error proxying/.test(outcome.reason) ? 500 : 0;
      if (status !== 0) return { kind: 'answered', answer: { status }, attempts };
      return { kind: 'lost', cause: 'server_refused', reason: outcome.reason, attempts };
    }
    case 'deadline':
      return {
        kind: 'lost',
        cause: 'no_outcome',
        reason: 'the SIP server never told how it ended',
        attempts,
      };
    case 'link_lost':
      return { kind: 'lost', cause: 'link_lost', reason: 'the link to the SIP server was lost', attempts };
  }
}
