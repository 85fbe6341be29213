import type { MonotonicClock } from '../telemetry/clock';

/** How many requests a second each outbound destination takes: a token bucket per rule, one second deep. */
export class RuleLimits {
  readonly #buckets = new Map<string, { tokens: number; at: number }>();
  readonly #now: MonotonicClock;

  constructor(now: MonotonicClock) {
    this.#now = now;
  }

  /** Counts one request for a rule; false if it is one too many. There are as many buckets as rules. */
  take(rule: string, perSecond: number): boolean {
    const now = this.#now();
    const bucket = this.#buckets.get(rule) ?? { tokens: perSecond, at: now };
    this.#buckets.set(rule, bucket);
    bucket.tokens = Math.min(perSecond, bucket.tokens + ((now - bucket.at) * perSecond) / 1000);
    bucket.at = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}
