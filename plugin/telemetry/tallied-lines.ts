import type { MonotonicClock } from './clock';
import type { Logger } from './logger';

export interface TalliedLinesParts {
  readonly log: Logger;
  readonly now: MonotonicClock;
  /** Milliseconds between two lines of one key. Default 30 000. */
  readonly intervalMs?: number;
  /** Keys that have lines of their own; what is beyond them shares one. Default 200. */
  readonly maxKeys?: number;
}

interface Tally {
  fields: object;
  level: 'info' | 'warn';
  readonly message: string;
  /** Since the last line. */
  count: number;
  nextAt: number;
}

const SWEEP_MS = 1000;

/**
 * Log lines for what a stranger may cause as often as he likes. The first of a key is told at once; those that follow are
 * counted, and told with their `count` each interval, also if no more come. So no flood makes more than
 * `maxKeys` + 1 lines an interval, and none goes uncounted.
 */
export class TalliedLines {
  readonly #log: Logger;
  readonly #now: MonotonicClock;
  readonly #intervalMs: number;
  readonly #maxKeys: number;
  readonly #tallies = new Map<string, Tally>();
  #others: Tally | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ log, now, intervalMs = 30_000, maxKeys = 200 }: TalliedLinesParts) {
    this.#log = log;
    this.#now = now;
    this.#intervalMs = intervalMs;
    this.#maxKeys = maxKeys;
  }

  /** Counts one event of a key; the line has the fields of the latest. */
  note(key: string, fields: object, message: string, level: 'info' | 'warn' = 'warn'): void {
    const tally = this.#tallyOf(key, message, level);
    tally.count += 1;
    if (tally !== this.#others) tally.fields = fields;
    if (this.#now() >= tally.nextAt) this.#tell(tally);
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** Tells what is counted and not told yet, and ends. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const tally of this.#all()) if (tally.count > 0) this.#tell(tally);
    this.#tallies.clear();
    this.#others = undefined;
  }

  #tallyOf(key: string, message: string, level: Tally['level']): Tally {
    const known = this.#tallies.get(key);
    if (known !== undefined) return known;
    const fresh: Tally = { fields: {}, level, message, count: 0, nextAt: -Infinity };
    if (this.#tallies.size < this.#maxKeys) {
      this.#tallies.set(key, fresh);
      return fresh;
    }
    this.#others ??= { ...fresh, level: 'warn', message: 'the same and the like, of more sources' };
    return this.#others;
  }

  #all(): readonly Tally[] {
    return [...this.#tallies.values(), ...(this.#others === undefined ? [] : [this.#others])];
  }

  #tell(tally: Tally): void {
    this.#log[tally.level]({ ...tally.fields, count: tally.count }, tally.message);
    tally.count = 0;
    tally.nextAt = this.#now() + this.#intervalMs;
  }

  /** Tells what has come since the last line; a key of which nothing came is forgotten. */
  #sweep(): void {
    const now = this.#now();
    const due = (tally: Tally): boolean => now >= tally.nextAt;
    for (const [key, tally] of this.#tallies) {
      if (!due(tally)) continue;
      if (tally.count > 0) this.#tell(tally);
      else this.#tallies.delete(key);
    }
    if (this.#others !== undefined && due(this.#others)) {
      if (this.#others.count > 0) this.#tell(this.#others);
      else this.#others = undefined;
    }
    if (this.#tallies.size > 0 || this.#others !== undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
