/**
 * Smooth weighted round robin as a fixed schedule: which site each turn belongs to. The schedule is made once per
 * configuration; a turn is a number, so the choice stays a pure function and no site gets its turns in a burst.
 */
export interface Schedule {
  /** Site index per turn; its length is the sum of the weights, divided by their common factor. */
  readonly turns: readonly number[];
  /** How often the same site had its turn before, within the schedule. */
  readonly earlier: readonly number[];
  readonly perRound: readonly number[];
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Fixed percentages may have decimals; four are kept. */
const RESOLUTION = 10_000;

export function makeSchedule(shares: readonly number[]): Schedule {
  const raw = shares.map((share) => Math.round(share * RESOLUTION));
  const equal = shares.every((share) => share === shares[0]);
  const factor = raw.reduce(gcd, 0) || 1;
  const weights = equal ? shares.map(() => 1) : raw.map((weight) => weight / factor);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const current = weights.map(() => 0);
  const perRound = weights.map(() => 0);
  const turns: number[] = [];
  const earlier: number[] = [];
  for (let turn = 0; turn < total; turn++) {
    let best = 0;
    for (let i = 0; i < weights.length; i++) {
      current[i] = (current[i] ?? 0) + (weights[i] ?? 0);
      if ((current[i] ?? 0) > (current[best] ?? 0)) best = i;
    }
    current[best] = (current[best] ?? 0) - total;
    turns.push(best);
    earlier.push(perRound[best] ?? 0);
    perRound[best] = (perRound[best] ?? 0) + 1;
  }
  return { turns, earlier, perRound };
}

/** Whose turn it is, and the how-manieth turn of that site it is: the second number deals out its turns when it is out. */
export function turnOf(schedule: Schedule, turn: number): { readonly site: number; readonly nth: number } {
  const length = schedule.turns.length;
  if (length === 0) return { site: -1, nth: turn };
  const at = turn % length;
  const site = schedule.turns[at] ?? -1;
  return {
    site,
    nth: Math.floor(turn / length) * (schedule.perRound[site] ?? 0) + (schedule.earlier[at] ?? 0),
  };
}
