import { uptime } from 'node:os';

/** What `uptime` (10 ms steps) and scheduling between two readings may differ by without a suspend. */
const TOLERANCE_MS = 50;

/**
 * Tells that the machine slept: CLOCK_BOOTTIME (`os.uptime`) ran on while CLOCK_MONOTONIC (`performance`, `hrtime`)
 * stood still.
 */
export class SuspendWatch {
  private offset: number;

  constructor(private readonly readings: { bootMs: () => number; monotonicMs: () => number } = SYSTEM) {
    this.offset = readings.bootMs() - readings.monotonicMs();
  }

  /** Milliseconds slept since the last call; 0: did not sleep. */
  slept(): number {
    const offset = this.readings.bootMs() - this.readings.monotonicMs();
    const slept = offset - this.offset;
    if (slept <= TOLERANCE_MS) return 0;
    this.offset = offset;
    return slept;
  }
}

/** CLOCK_MONOTONIC in milliseconds: the same in every thread and process, unlike `performance.now()`. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

const SYSTEM = { bootMs: () => uptime() * 1000, monotonicMs };
