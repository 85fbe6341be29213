import type { Logger } from '../telemetry/logger';

/** The listeners of one event. One that throws is logged and does not keep the others from hearing of it. */
export class Listeners<T> {
  readonly #all = new Set<(event: T) => void>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Returns a function that ends it; adding the same function twice gives two subscriptions. */
  add(listener: (event: T) => void): () => void {
    const own = (event: T): void => listener(event);
    this.#all.add(own);
    return () => this.#all.delete(own);
  }

  get size(): number {
    return this.#all.size;
  }

  emit(event: T): void {
    for (const listener of this.#all) {
      try {
        listener(event);
      } catch (error) {
        this.#log.error({ err: error }, 'a registry listener threw');
      }
    }
  }
}
