import type { Clock, Timer } from '../clock';
import { T1, T2, TRANSACTION_MS } from '../transaction/timers';

interface Repetition {
  again: Timer | undefined;
  end: Timer;
}

/** Repeats the 2xx of an application to an INVITE until its ACK comes (RFC 3261 §13.3.1.4). */
export class SuccessRepeater<Key> {
  readonly #clock: Clock;
  readonly #running = new Map<Key, Repetition>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#running.size;
  }

  /** `send` repeats it (not over a stream); `lost` is told when no ACK came in 64 × T1. */
  start(key: Key, isStream: boolean, send: () => void, lost: () => void): void {
    this.stop(key);
    const end = this.#clock.after(TRANSACTION_MS, () => {
      this.stop(key);
      lost();
    });
    const repetition: Repetition = { again: undefined, end };
    this.#running.set(key, repetition);
    if (!isStream) this.#arm(repetition, T1, send);
  }

  /** The ACK came, or nobody waits for it any more. False when nobody did. */
  stop(key: Key): boolean {
    const repetition = this.#running.get(key);
    repetition?.again?.cancel();
    repetition?.end.cancel();
    return this.#running.delete(key);
  }

  close(): void {
    for (const key of [...this.#running.keys()]) this.stop(key);
  }

  #arm(repetition: Repetition, interval: number, send: () => void): void {
    repetition.again = this.#clock.after(interval, () => {
      send();
      this.#arm(repetition, Math.min(interval * 2, T2), send);
    });
  }
}
