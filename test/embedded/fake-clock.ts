import type { Clock, Timer } from '../../plugin/embedded/clock';

interface Due {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Time that moves only when the test says so. */
export class FakeClock implements Clock {
  #now = 0;
  #order = 0;
  readonly #timers = new Set<Due>();

  now(): number {
    return this.#now;
  }

  get armed(): number {
    return this.#timers.size;
  }

  after(milliseconds: number, callback: () => void): Timer {
    this.#order += 1;
    const due = { at: this.#now + milliseconds, order: this.#order, callback };
    this.#timers.add(due);
    return { cancel: () => void this.#timers.delete(due) };
  }

  /** Moves on, firing what falls due in order. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      let next: Due | undefined;
      for (const due of this.#timers) {
        if (due.at <= end && (!next || due.at < next.at || (due.at === next.at && due.order < next.order)))
          next = due;
      }
      if (!next) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.callback();
    }
    this.#now = end;
  }
}
