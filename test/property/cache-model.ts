import type { RegistryAnswer, RegistryChange, RegistryKey } from '../../plugin/registry/registry';

export interface ModelOptions {
  readonly ttlMs: number;
  readonly negativeTtlMs: number;
  readonly staleWhileRevalidateMs: number;
  readonly staleIfErrorMs: number;
  readonly retryAfterErrorMs: number;
  readonly settleMs: number;
}

/** What the rules say must happen to a look-up at this moment. */
export type Expected =
  | { readonly kind: 'answer'; readonly answer: RegistryAnswer | null; readonly refresh: boolean }
  | { readonly kind: 'wait' };

interface Stored {
  readonly seq: number;
  readonly key: string;
  readonly answer: RegistryAnswer | null;
  readonly startedAt: number;
  retryAt: number;
}

interface Dropped {
  readonly seq: number;
  readonly at: number;
  readonly change: RegistryChange;
}

export const textOf = (key: RegistryKey): string => `${key.kind}/${key.value}`;

/**
 * The rules of the cache, told as a log: every answer kept and every change heard, nothing ever removed. What holds
 * now is found by reading the log from the beginning, so that it shares no bookkeeping with the cache.
 */
export class CacheModel {
  readonly #options: ModelOptions;
  readonly #stored: Stored[] = [];
  readonly #drops: Dropped[] = [];
  #seq = 0;
  failing = false;

  constructor(options: ModelOptions) {
    this.#options = options;
  }

  /** A number that orders everything that happens. */
  next(): number {
    return (this.#seq += 1);
  }

  #concerns(change: RegistryChange, key: string, answer: RegistryAnswer | null): boolean {
    if (change.type === 'all') return true;
    if (change.type === 'entry') return textOf(change.key) === key;
    return answer?.customer === change.id;
  }

  drop(change: RegistryChange, at: number): void {
    this.#drops.push({ seq: this.next(), at, change });
  }

  /** Whether a change that came after `seq` makes this answer doubtful. */
  overtaken(key: string, answer: RegistryAnswer | null, seq: number): boolean {
    return this.#drops.some((drop) => drop.seq > seq && this.#concerns(drop.change, key, answer));
  }

  loaded(key: string, answer: RegistryAnswer | null, startedAt: number, startSeq: number): void {
    this.failing = false;
    if (!this.overtaken(key, answer, startSeq)) {
      this.#stored.push({ seq: this.next(), key, answer, startedAt, retryAt: 0 });
    }
  }

  loadFailed(key: string, now: number): void {
    this.failing = true;
    const entry = this.#entry(key);
    if (entry !== undefined) entry.retryAt = now + this.#options.retryAfterErrorMs;
  }

  #entry(key: string): Stored | undefined {
    const last = this.#stored.filter((stored) => stored.key === key).at(-1);
    return last === undefined || this.overtaken(key, last.answer, last.seq) ? undefined : last;
  }

  #limits(entry: Stored): { fresh: number; revalidate: number; error: number } {
    const { ttlMs, negativeTtlMs, staleWhileRevalidateMs, staleIfErrorMs, settleMs } = this.#options;
    const unsettled = this.#drops
      .filter(({ seq, change }) => seq < entry.seq && this.#concerns(change, entry.key, entry.answer))
      .map(({ at }) => at + settleMs)
      .filter((until) => settleMs > 0 && entry.startedAt < until);
    const whole = entry.startedAt + (entry.answer === null ? negativeTtlMs : ttlMs);
    const fresh = Math.min(whole, ...(unsettled.length === 0 ? [] : [Math.max(...unsettled)]));
    if (entry.answer === null) return { fresh, revalidate: fresh, error: fresh };
    return {
      fresh,
      revalidate: unsettled.length > 0 ? fresh : whole + staleWhileRevalidateMs,
      error: whole + staleIfErrorMs,
    };
  }

  expected(key: string, now: number): Expected {
    const entry = this.#entry(key);
    if (entry === undefined) return { kind: 'wait' };
    const { fresh, revalidate, error } = this.#limits(entry);
    if (now <= fresh) return { kind: 'answer', answer: entry.answer, refresh: false };
    if (now <= revalidate || (this.failing && now <= error)) {
      return { kind: 'answer', answer: entry.answer, refresh: now >= entry.retryAt };
    }
    return { kind: 'wait' };
  }

  /** What a caller gets whose load failed; `undefined`: the failure itself. */
  afterFailure(key: string, now: number): RegistryAnswer | null | undefined {
    const entry = this.#entry(key);
    return entry !== undefined && now <= this.#limits(entry).error ? entry.answer : undefined;
  }

  /** The answer that is simply right now, for a caller whose load was overtaken. */
  freshNow(key: string, now: number): RegistryAnswer | null | undefined {
    const entry = this.#entry(key);
    return entry !== undefined && now <= this.#limits(entry).fresh ? entry.answer : undefined;
  }
}
