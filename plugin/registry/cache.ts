import { LRUCache } from 'lru-cache';
import { monotonicClock } from '../telemetry/clock';
import type { MonotonicClock } from '../telemetry/clock';
import { CacheCounters } from './cache-statistics';
import type { CacheMetrics, CacheStatistics } from './cache-statistics';
import { CustomerIndex } from './customer-index';
import { RecentDrops } from './recent-drops';
import type { RegistryAnswer, RegistryChange, RegistryKey, RegistryLookup } from './registry';

export interface CacheOptions {
  /**
   * Answers kept, the least recently used going first, and first those that say "there is none": a scanner's guesses drive out
   * no account. A tenth of the room is for them. Default 500 000.
   */
  readonly maxEntries?: number;
  /** Age in ms at which an answer is asked for anew; being asked often doesn't lengthen it. Default 60 000. */
  readonly ttlMs?: number;
  /** The same for "there is none". Never served past it, so that a new account is found soon. Default 5000. */
  readonly negativeTtlMs?: number;
  /** Past its TTL an answer is served for so many ms more while it is asked for in the background. Default 30 000. */
  readonly staleWhileRevalidateMs?: number;
  /** Past its TTL an answer is served for so many ms more while the registry can't be asked. Default 4 hours. */
  readonly staleIfErrorMs?: number;
  /** Pause in ms before a key with a stale answer is asked for again after a failure. Default 1000. */
  readonly retryAfterErrorMs?: number;
  /**
   * After an invalidation an answer loaded within so many ms may come from a replica that did not have the change yet:
   * it is kept no longer than that. 0 (default) for stores that are read as they were written (memory, LMDB).
   */
  readonly settleMs?: number;
}

export interface CacheParts {
  /** Where answers come from. Its rejections reach the callers that have no stale answer to live on. */
  readonly load: RegistryLookup;
  readonly options?: CacheOptions;
  readonly clock?: MonotonicClock;
  readonly metrics?: CacheMetrics;
}

/** The registry's answers, remembered. */
export interface LookupCache extends RegistryLookup {
  /** The fresh answer if there is one at hand (`null`: known not to exist), without a promise; `undefined`: use `lookup`. */
  peek(key: RegistryKey): RegistryAnswer | null | undefined;
  /** Drops what a change makes doubtful, at once; a load under way then counts for nothing. Give it to `onChange`. */
  invalidate(change: RegistryChange): void;
  statistics(): CacheStatistics;
}

interface Kept {
  readonly answer: RegistryAnswer | null;
  /** Times of the injected clock. Up to `freshUntil` it is simply the answer … */
  readonly freshUntil: number;
  /** … up to here it is served while a new one is loaded … */
  readonly revalidateUntil: number;
  /** … and up to here only because the registry can't be asked. */
  readonly errorUntil: number;
  /** No load before this, after one failed. */
  retryAt: number;
}

interface Load {
  readonly startedAt: number;
  readonly answer: Promise<RegistryAnswer | null>;
  /** Set when an invalidation came after the load began. */
  dropped: boolean;
  /** Customers that changed after the load began. */
  customers: Set<string> | undefined;
}

/** One of so many answers may be "there is none", whatever else is kept. */
const UNKNOWN_PART = 10;
/** How often callers ask again when the loads they wait for are overtaken by invalidations. */
const MAX_ROUNDS = 4;

const keyText = (key: RegistryKey): string => (key.kind === 'did' ? 'd' : 'a') + key.value;

/**
 * lru-cache keeps and bounds the entries; loads under way are kept beside it. Its own `fetch` keeps a load in the
 * entry's place, so that a drop or an eviction aborts it under its callers, and each of them had to ask again.
 */
class RegistryCache implements LookupCache {
  readonly #kept: LRUCache<string, Kept>;
  /** What does not exist: it has the room that the others leave it. The same as `#kept` where that is too small to be shared out. */
  readonly #unknown: LRUCache<string, Kept>;
  readonly #loads = new Map<string, Load>();
  readonly #customers = new CustomerIndex();
  readonly #recent: RecentDrops;
  readonly #counters: CacheCounters;
  readonly #load: RegistryLookup;
  readonly #now: MonotonicClock;
  readonly #options: Required<CacheOptions>;
  /** The last load that ended failed: stale answers are served without waiting for the next one. */
  #failing = false;
  #failedAt: number | undefined;

  constructor({ load, options = {}, clock = monotonicClock, metrics }: CacheParts) {
    this.#load = load;
    this.#now = clock;
    this.#options = {
      maxEntries: 500_000,
      ttlMs: 60_000,
      negativeTtlMs: 5000,
      staleWhileRevalidateMs: 30_000,
      staleIfErrorMs: 4 * 3600_000,
      retryAfterErrorMs: 1000,
      settleMs: 0,
      ...options,
    };
    this.#counters = new CacheCounters(metrics);
    this.#recent = new RecentDrops(this.#options.settleMs);
    const { maxEntries } = this.#options;
    const reserved = Math.floor(maxEntries / UNKNOWN_PART);
    const dispose = ({ answer }: Kept, text: string, reason: string): void => {
      if (answer?.customer !== undefined) this.#customers.remove(answer.customer, text);
      if (reason === 'evict') this.#counters.count('evicted');
    };
    this.#kept = new LRUCache<string, Kept>({ max: maxEntries - reserved, dispose });
    this.#unknown = reserved === 0 ? this.#kept : new LRUCache<string, Kept>({ max: maxEntries, dispose });
  }

  get #size(): number {
    return this.#kept.size + (this.#unknown === this.#kept ? 0 : this.#unknown.size);
  }

  #get(text: string): Kept | undefined {
    return this.#kept.get(text) ?? this.#unknown.get(text);
  }

  #delete(text: string): void {
    this.#kept.delete(text);
    this.#unknown.delete(text);
  }

  peek(key: RegistryKey): RegistryAnswer | null | undefined {
    const kept = this.#get(keyText(key));
    if (kept === undefined || this.#now() > kept.freshUntil) return undefined;
    this.#counters.count(kept.answer === null ? 'negative_hit' : 'hit');
    return kept.answer;
  }

  lookup(key: RegistryKey): Promise<RegistryAnswer | null> {
    const text = keyText(key);
    const kept = this.#get(text);
    if (kept !== undefined) {
      const now = this.#now();
      if (now <= kept.freshUntil) {
        this.#counters.count(kept.answer === null ? 'negative_hit' : 'hit');
        return Promise.resolve(kept.answer);
      }
      const revalidating = now <= kept.revalidateUntil;
      if (revalidating || (this.#failing && now <= kept.errorUntil)) {
        if (now >= kept.retryAt) this.#refresh(key, text);
        this.#counters.count(revalidating ? 'stale_while_revalidate' : 'stale_if_error');
        return Promise.resolve(kept.answer);
      }
    }
    this.#counters.count(this.#loads.has(text) ? 'coalesced' : 'miss');
    return this.#wait(key, text, 1);
  }

  /** Loads in the background; a failure has been noted and a stale answer was given, so nobody needs to hear of it. */
  #refresh(key: RegistryKey, text: string): void {
    this.#loadOf(key, text).answer.catch(() => undefined);
  }

  async #wait(key: RegistryKey, text: string, round: number): Promise<RegistryAnswer | null> {
    const load = this.#loadOf(key, text);
    let answer: RegistryAnswer | null;
    try {
      answer = await load.answer;
    } catch (error) {
      const kept = this.#get(text);
      if (kept === undefined || this.#now() > kept.errorUntil) throw error;
      this.#counters.count('stale_if_error');
      return kept.answer;
    }
    if (!this.#overtaken(load, answer) || round >= MAX_ROUNDS) return answer;
    const kept = this.#get(text);
    if (kept !== undefined && this.#now() <= kept.freshUntil) return kept.answer;
    return this.#wait(key, text, round + 1);
  }

  #overtaken(load: Load, answer: RegistryAnswer | null): boolean {
    if (load.dropped) return true;
    return answer?.customer !== undefined && load.customers?.has(answer.customer) === true;
  }

  /** The load under way, or a new one. */
  #loadOf(key: RegistryKey, text: string): Load {
    const under = this.#loads.get(text);
    if (under !== undefined) return under;
    this.#counters.count('load');
    const load: Load = {
      startedAt: this.#now(),
      answer: this.#ask(key),
      dropped: false,
      customers: undefined,
    };
    this.#loads.set(text, load);
    load.answer.then(
      (answer) => this.#loaded(text, load, answer),
      () => this.#failed(text, load),
    );
    return load;
  }

  /** A look-up that throws instead of rejecting is a rejection too. */
  async #ask(key: RegistryKey): Promise<RegistryAnswer | null> {
    return this.#load.lookup(key);
  }

  #loaded(text: string, load: Load, answer: RegistryAnswer | null): void {
    if (this.#loads.get(text) === load) this.#loads.delete(text);
    this.#failing = false;
    if (this.#overtaken(load, answer)) {
      this.#counters.count('load_overtaken');
      return;
    }
    this.#keep(text, answer, load.startedAt);
  }

  /** Ages count from when the load began: the answer is at least that old. */
  #keep(text: string, answer: RegistryAnswer | null, startedAt: number): void {
    const { ttlMs, negativeTtlMs, staleWhileRevalidateMs, staleIfErrorMs } = this.#options;
    const unsettledUntil = this.#recent.unsettledUntil(text, answer?.customer, startedAt);
    const fresh = startedAt + (answer === null ? negativeTtlMs : ttlMs);
    const freshUntil = unsettledUntil === undefined ? fresh : Math.min(fresh, unsettledUntil);
    const settled = unsettledUntil === undefined && answer !== null;
    const [home, other] = answer === null ? [this.#unknown, this.#kept] : [this.#kept, this.#unknown];
    if (other !== home) other.delete(text);
    home.set(text, {
      answer,
      freshUntil,
      revalidateUntil: settled ? fresh + staleWhileRevalidateMs : freshUntil,
      errorUntil: answer === null ? freshUntil : fresh + staleIfErrorMs,
      retryAt: 0,
    });
    while (this.#size > this.#options.maxEntries) this.#unknown.pop();
    if (answer?.customer !== undefined) this.#customers.add(answer.customer, text);
  }

  #failed(text: string, load: Load): void {
    if (this.#loads.get(text) === load) this.#loads.delete(text);
    this.#failing = true;
    const now = this.#now();
    this.#failedAt = now;
    this.#counters.count('load_failed');
    const kept = this.#kept.peek(text) ?? this.#unknown.peek(text);
    if (kept !== undefined) kept.retryAt = now + this.#options.retryAfterErrorMs;
  }

  invalidate(change: RegistryChange): void {
    this.#counters.count('invalidated');
    const now = this.#now();
    switch (change.type) {
      case 'entry':
        this.#drop(keyText(change.key));
        this.#recent.key(keyText(change.key), now, this.#oldestLoad());
        return;
      case 'customer':
        for (const text of this.#customers.keysOf(change.id)) this.#kept.delete(text);
        for (const load of this.#loads.values()) (load.customers ??= new Set()).add(change.id);
        this.#recent.customer(change.id, now, this.#oldestLoad());
        return;
      case 'all':
        this.#kept.clear();
        this.#unknown.clear();
        for (const load of this.#loads.values()) load.dropped = true;
        this.#loads.clear();
        this.#recent.all(now);
    }
  }

  /** Loads are in the map in the order in which they began. */
  #oldestLoad(): number {
    for (const load of this.#loads.values()) return load.startedAt;
    return Infinity;
  }

  #drop(text: string): void {
    this.#delete(text);
    const load = this.#loads.get(text);
    if (load === undefined) return;
    load.dropped = true;
    this.#loads.delete(text);
  }

  statistics(): CacheStatistics {
    return this.#counters.snapshot({
      size: this.#size,
      loading: this.#loads.size,
      failing: this.#failing,
      sinceFailure: this.#failedAt === undefined ? undefined : this.#now() - this.#failedAt,
    });
  }
}

/**
 * Remembers what a registry answers: one load per key however many callers, bounded age, stale answers while it is
 * revalidated or the registry is away, and invalidations that win over loads under way. docs/registry.md has the rules.
 */
export function createLookupCache(parts: CacheParts): LookupCache {
  return new RegistryCache(parts);
}
