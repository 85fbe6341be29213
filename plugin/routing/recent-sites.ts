import type { MonotonicClock } from '../telemetry/clock';
import { forgetOldest } from './forget-oldest';

/**
 * Where each account was served lately, so that a site that drains can keep what it has and take nothing new.
 * Bounded; the oldest are forgotten first, which only means that they move a little early.
 */
export class RecentSites {
  readonly #seen = new Map<string, { readonly site: string; readonly at: number }>();
  readonly #now: MonotonicClock;
  readonly #lifeMs: number;
  readonly #max: number;

  /**
   * @param options lifeMs: how long an account counts as served, by default an hour, the usual registration interval;
   *   max: accounts kept
   */
  constructor(now: MonotonicClock, options: { readonly lifeMs?: number; readonly max?: number } = {}) {
    this.#now = now;
    this.#lifeMs = options.lifeMs ?? 3_600_000;
    this.#max = options.max ?? 500_000;
  }

  get size(): number {
    return this.#seen.size;
  }

  saw(system: string, account: string, site: string): void {
    const key = `${system}/${account}`;
    this.#seen.delete(key);
    this.#seen.set(key, { site, at: this.#now() });
    forgetOldest(this.#seen, this.#max);
  }

  siteOf(system: string, account: string): string | undefined {
    const entry = this.#seen.get(`${system}/${account}`);
    return entry === undefined || this.#now() - entry.at > this.#lifeMs ? undefined : entry.site;
  }
}
