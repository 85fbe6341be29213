import { bestAnswer } from '../../plugin/relay/best-answer';

const best = (statuses: readonly number[], isInvite = true): number | undefined =>
  bestAnswer(
    statuses.map((status) => ({ status })),
    isInvite,
  )?.status;

describe('the best of several answers (RFC 3261 §16.7)', () => {
  it.each([
    [[503, 404], 404],
    [[404, 603, 486], 603],
    [[503, 302], 302],
    [[486, 401], 401],
    [[503, 500], 500],
    [[408, 486], 486],
    [[486, 404], 486],
    [[503, 503], 503],
  ])('of %j is %i', (statuses, expected) => {
    expect(best(statuses)).toBe(expected);
  });

  it('is none when none came', () => {
    expect(best([])).toBeUndefined();
  });

  it('is never 408 for other methods than INVITE (RFC 4320)', () => {
    expect(best([408], false)).toBeUndefined();
    expect(best([408, 503], false)).toBe(503);
    expect(best([408], true)).toBe(408);
  });
});
