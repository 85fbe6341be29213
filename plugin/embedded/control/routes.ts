import type { Application } from './application';

/** Asks for every method nobody asked for by name. */
export const ANY_METHOD = '*';

interface Share {
  readonly applications: Application[];
  next: number;
}

/** Which applications asked for which requests; they are shared out in turn. */
export class Routes {
  readonly #shares = new Map<string, Share>();

  add(verb: string, application: Application): void {
    const key = verb.toUpperCase();
    const share = this.#shares.get(key) ?? { applications: [], next: 0 };
    if (!share.applications.includes(application)) share.applications.push(application);
    this.#shares.set(key, share);
  }

  remove(verb: string, application: Application): void {
    const key = verb.toUpperCase();
    const share = this.#shares.get(key);
    const at = share ? share.applications.indexOf(application) : -1;
    if (share && at >= 0) share.applications.splice(at, 1);
    if (share?.applications.length === 0) this.#shares.delete(key);
  }

  removeAll(application: Application): void {
    for (const verb of [...this.#shares.keys()]) this.remove(verb, application);
  }

  /** All that asked for an event. */
  all(verb: string): readonly Application[] {
    return this.#shares.get(verb.toUpperCase())?.applications ?? [];
  }

  /** The application whose turn it is for a method; methods are told apart by case (RFC 3261 §7.1), what is asked for is not. */
  pick(method: string): Application | undefined {
    const share = this.#shares.get(method) ?? this.#shares.get(ANY_METHOD);
    if (!share) return undefined;
    share.next = (share.next + 1) % share.applications.length;
    return share.applications[share.next];
  }
}
