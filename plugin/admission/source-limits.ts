import type { SourceLimitsConfig } from '../config/types';
import { forgetOldest } from '../routing/forget-oldest';
import type { MonotonicClock } from '../telemetry/clock';

interface Source {
  /** Requests it may still send at once. */
  tokens: number;
  refilledAt: number;
  /** What it failed with, each thing once. */
  failed: Set<string>;
  windowEndsAt: number;
  blockedUntil: number;
}

/** What a source may do now. */
export type SourceVerdict = 'free' | 'too_fast' | 'blocked';

/**
 * What each source address has done lately: a token bucket for its rate, and how many different things it failed with
 * without a single success between them, which is what scanners do. An office of phones behind one address succeeds
 * now and then, and a phone with a wrong account fails with the same one for ever: neither is blocked.
 * Bounded: the source that was quiet longest is forgotten.
 */
export class SourceLimits {
  readonly #sources = new Map<string, Source>();
  readonly #now: MonotonicClock;
  #limits: SourceLimitsConfig;

  constructor(limits: SourceLimitsConfig, now: MonotonicClock) {
    this.#limits = limits;
    this.#now = now;
  }

  get size(): number {
    return this.#sources.size;
  }

  configure(limits: SourceLimitsConfig): void {
    this.#limits = limits;
  }

  /** Counts one request of this address. */
  take(address: string): SourceVerdict {
    const now = this.#now();
    const source = this.#source(address, now);
    if (source.blockedUntil > now) return 'blocked';
    const { requests_per_s: rate, burst } = this.#limits;
    source.tokens = Math.min(burst, source.tokens + ((now - source.refilledAt) * rate) / 1000);
    source.refilledAt = now;
    if (source.tokens < 1) return 'too_fast';
    source.tokens -= 1;
    return 'free';
  }

  /** A request of this address was served: whoever is behind it is no scanner. */
  succeeded(address: string): void {
    const source = this.#sources.get(address);
    source?.failed.clear();
  }

  /**
   * A request of this address ended unknown, malformed or refused.
   * @param what it asked for; the same thing counts once
   * @returns true if that blocks the source from now on
   */
  failed(address: string, what: string): boolean {
    const now = this.#now();
    const source = this.#source(address, now);
    if (now >= source.windowEndsAt) {
      source.failed.clear();
      source.windowEndsAt = now + this.#limits.failed_window_s * 1000;
    }
    source.failed.add(what);
    if (source.failed.size < this.#limits.failed_requests || source.blockedUntil > now) return false;
    source.failed.clear();
    source.blockedUntil = now + this.#limits.block_s * 1000;
    return true;
  }

  #source(address: string, now: number): Source {
    let source = this.#sources.get(address);
    if (source === undefined) {
      source = {
        tokens: this.#limits.burst,
        refilledAt: now,
        failed: new Set(),
        windowEndsAt: 0,
        blockedUntil: 0,
      };
    } else {
      this.#sources.delete(address);
    }
    this.#sources.set(address, source);
    forgetOldest(this.#sources, this.#limits.max_sources);
    return source;
  }
}
