// What a call is to do, at random.

const between = (random, low, high) => Math.round(low + random() * (high - low));

/** Sides that hang up; both at once more often than life would have it. */
const ENDS = ['caller', 'callee', 'both'];

export function randomPlan(random, id) {
  const late = random() < 0.2 ? { late: 1 } : {};
  const dice = random();
  if (dice < 0.1) return { id, ...late, ring: between(random, 0, 500), answer: 486 };
  if (dice < 0.18) return { id, ...late, cancel: between(random, 0, 1500) };
  if (dice < 0.3) {
    // The CANCEL meets the 200.
    const cancel = between(random, 0, 400);
    return {
      id,
      ...late,
      cancel,
      ring: Math.max(0, cancel + between(random, -3, 3)),
      answer: 200,
      hold: 200,
    };
  }
  const hold = random() < 0.05 ? between(random, 5000, 20_000) : between(random, 0, 3000);
  return {
    id,
    ...late,
    ring: between(random, 0, 800),
    answer: 200,
    hold,
    by: ENDS[Math.floor(random() * ENDS.length)],
    acts: between(random, 0, 2),
  };
}
