import type { LookupKey } from '../routing/decision';
import type { MonotonicClock } from '../telemetry/clock';
import type { Logger } from '../telemetry/logger';

/** Pause in ms between two lines about the same trouble. */
const QUIET_MS = 10_000;

/**
 * Tells of look-ups that failed, without a flood: while the registry is away there may be thousands a second. The first is
 * logged at once, then one every ten seconds with how many there were since. Metrics count each.
 */
export class RegistryTrouble {
  readonly #log: Logger;
  readonly #now: MonotonicClock;
  #toldAt = -Infinity;
  #failures = 0;

  constructor(log: Logger, now: MonotonicClock) {
    this.#log = log;
    this.#now = now;
  }

  /** @param id of the request */
  note(id: string, key: LookupKey, error: unknown): void {
    this.#failures += 1;
    const now = this.#now();
    if (now - this.#toldAt < QUIET_MS) return;
    this.#log.warn({ id, key, failures: this.#failures, err: error }, 'the registry cannot be asked');
    this.#toldAt = now;
    this.#failures = 0;
  }
}
