/** Milliseconds that never go back, for time-outs and ages (never the wall clock). */
export type MonotonicClock = () => number;

export const monotonicClock: MonotonicClock = () => performance.now();
