/** A timer that its owner can end. Cancelling twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

/** The time of the embedded server; a test gives its own. */
export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Calls back once after so many milliseconds. */
  after(milliseconds: number, callback: () => void): Timer;
}

class SystemTimer implements Timer {
  readonly #handle: NodeJS.Timeout;
  constructor(milliseconds: number, callback: () => void) {
    this.#handle = setTimeout(callback, milliseconds);
  }
  cancel(): void {
    clearTimeout(this.#handle);
  }
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => new SystemTimer(milliseconds, callback),
};
