/** Within the 4xx class these help the caller most (RFC 3261 §16.7 step 6). */
const HELPFUL = [401, 407, 415, 420, 484];

/** An answer that may be the one the caller hears. */
interface Candidate {
  readonly status: number;
}

/**
 * The best final answer of those the targets gave (RFC 3261 §16.7 step 6): a 6xx, else the lowest class, in
 * it those that say what to do; among equals the first. 408 counts for non-INVITE only when nothing else came,
 * and then not at all (RFC 4320 §4.2): the caller must not hear it.
 */
export function bestAnswer<T extends Candidate>(answers: readonly T[], isInvite: boolean): T | undefined {
  const eligible = isInvite ? answers : answers.filter(({ status }) => status !== 408);
  let best: T | undefined;
  for (const answer of eligible) {
    if (best === undefined || rank(answer.status) < rank(best.status)) best = answer;
  }
  return best;
}

function rank(status: number): number {
  if (status >= 600) return 0;
  const statusClass = Math.floor(status / 100) * 10;
  if (HELPFUL.includes(status)) return statusClass;
  // 503 says "this node now", of all the 5xx the least to the point (§16.7 step 6); 408 likewise among the 4xx.
  return statusClass + (status === 503 || status === 408 ? 2 : 1);
}
