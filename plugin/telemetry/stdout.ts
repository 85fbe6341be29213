import pino from 'pino';

/**
 * Lines are gathered before they are written: a system call for each request's line costs more than making the line.
 * What a SIGKILL can lose is the last 50 ms. A reader that is stuck, or a disk that is full, must not cost the memory that
 * calls need: what is over 8 MiB is dropped.
 */
const STDOUT = { fd: 1, sync: false, minLength: 8192, periodicFlush: 50, maxLength: 8_388_608 } as const;

/** How long the end waits for a reader, in ms. */
const FLUSH_MS = 1000;

/** The standard output as a place for log lines. Never blocks, never throws for what happens to its reader. */
export class Stdout {
  readonly #stream = pino.destination(STDOUT);
  #dropped = 0;

  constructor() {
    this.#stream.on('drop', () => (this.#dropped += 1));
    // The lines stay in memory and are tried again with the next one.
    this.#stream.on('error', () => undefined);
  }

  /** Lines that were dropped because nobody took them. */
  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    this.#stream.write(line);
  }

  /** Writes out what waits, for a second at most; what is left then is lost. */
  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      new Promise<void>((resolve) => this.#stream.flush(() => resolve())),
      new Promise<void>((resolve) => (timer = setTimeout(resolve, FLUSH_MS))),
    ]);
    clearTimeout(timer);
    // Else it would write at the exit of the process, and wait for its reader there.
    this.#stream.destroy();
  }
}
