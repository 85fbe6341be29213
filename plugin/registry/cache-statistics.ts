/** What a cache counts. One look-up is exactly one of the first six. */
export const CACHE_EVENTS = [
  /** Answered from a fresh entry. */
  'hit',
  /** Answered "there is none" from a fresh entry. */
  'negative_hit',
  /** Answered past the TTL, while a new answer is loaded in the background. */
  'stale_while_revalidate',
  /** Answered past the TTL, because the registry can't be asked. Also counted by a miss whose load fails. */
  'stale_if_error',
  /** Nothing to answer with: begins a load and waits. */
  'miss',
  /** Nothing to answer with: waits for a load that somebody else began. */
  'coalesced',
  /** Questions to the registry … */
  'load',
  'load_failed',
  /** … whose answer was not kept, because an invalidation came meanwhile. */
  'load_overtaken',
  /** Changes heard of. */
  'invalidated',
  /** Entries that went because the cache was full. */
  'evicted',
] as const;
export type CacheEvent = (typeof CACHE_EVENTS)[number];

/** Told of every event as it happens; must not throw. */
export interface CacheMetrics {
  count(event: CacheEvent): void;
}

export type CacheStatistics = Readonly<Record<CacheEvent, number>> & {
  /** Entries held now. */
  readonly size: number;
  /** Loads under way now. */
  readonly loading: number;
  /** The last load that ended failed. */
  readonly failing: boolean;
  /** Milliseconds since a load failed; absent: none has. */
  readonly sinceFailure: number | undefined;
};

export class CacheCounters {
  readonly #counts: Record<CacheEvent, number>;
  readonly #metrics: CacheMetrics | undefined;

  constructor(metrics: CacheMetrics | undefined) {
    this.#metrics = metrics;
    this.#counts = {
      hit: 0,
      negative_hit: 0,
      stale_while_revalidate: 0,
      stale_if_error: 0,
      miss: 0,
      coalesced: 0,
      load: 0,
      load_failed: 0,
      load_overtaken: 0,
      invalidated: 0,
      evicted: 0,
    };
  }

  count(event: CacheEvent): void {
    this.#counts[event] += 1;
    this.#metrics?.count(event);
  }

  snapshot(now: Omit<CacheStatistics, CacheEvent>): CacheStatistics {
    return { ...this.#counts, ...now };
  }
}
