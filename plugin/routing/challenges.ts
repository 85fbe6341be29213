import type { MonotonicClock } from '../telemetry/clock';
import { forgetOldest } from './forget-oldest';
import type { NodeName } from './plan';

/**
 * Who sent which challenge. A retry with credentials must reach the node that challenged, since no other knows the
 * nonce (RFC 7616 §3.3). One owner per process; the interface is narrow so that several processes could share one.
 */
export interface Challenges {
  remember(nonce: string, node: NodeName): void;
  challengerOf(nonce: string): NodeName | undefined;
  /** True the first time it is asked about a challenge: that request is its retry; later ones use its nonce again. */
  firstAnswer(nonce: string): boolean;
}

/** Nonces longer than this are not remembered: affinity alone must do. */
const MAX_NONCE = 1024;
/** How often those that are over are looked for. */
const CLEAR_MS = 500;

/** Keeps challenges in this process for about a minute, at most so many, the oldest dropped first. */
export class ChallengeMemory implements Challenges {
  readonly #nodes = new Map<string, { readonly node: NodeName; readonly until: number; answered: boolean }>();
  readonly #now: MonotonicClock;
  readonly #lifeMs: number;
  readonly #max: number;
  #clearAt = 0;

  constructor(now: MonotonicClock, options: { readonly lifeMs?: number; readonly max?: number } = {}) {
    this.#now = now;
    this.#lifeMs = options.lifeMs ?? 60_000;
    this.#max = options.max ?? 100_000;
  }

  get size(): number {
    return this.#nodes.size;
  }

  remember(nonce: string, node: NodeName): void {
    if (nonce.length > MAX_NONCE) return;
    const now = this.#now();
    this.#nodes.delete(nonce);
    this.#nodes.set(nonce, { node, until: now + this.#lifeMs, answered: false });
    forgetOldest(this.#nodes, this.#max);
    if (now >= this.#clearAt) this.#clearDue(now);
  }

  /** The map is in order of time, so what is due stands in front; now and then, for the way there leads past what was deleted. */
  #clearDue(now: number): void {
    this.#clearAt = now + CLEAR_MS;
    for (const [oldest, { until }] of this.#nodes) {
      if (until > now) break;
      this.#nodes.delete(oldest);
    }
  }

  challengerOf(nonce: string): NodeName | undefined {
    const entry = this.#nodes.get(nonce);
    if (entry === undefined) return undefined;
    if (entry.until > this.#now()) return entry.node;
    this.#nodes.delete(nonce);
    return undefined;
  }

  firstAnswer(nonce: string): boolean {
    const entry = this.#nodes.get(nonce);
    if (entry === undefined || entry.answered) return false;
    entry.answered = true;
    return true;
  }
}
