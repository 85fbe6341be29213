import type { Socket } from 'node:net';
import type { Leg } from './leg';

/** How long requests that crossed the end of a dialog on the wire may still come: 64 × T1. */
const ENDED_MS = 32_000;

/**
 * The legs that are up, and for a while the names of those that were. drachtio-server names a dialog by Call-ID and From tag: of
 * a call that a proxy forked to us, each branch has a leg of the same name, and they differ in our own tag alone.
 */
export class LegTable {
  private readonly legs = new Map<string, Leg[]>();
  private readonly ended = new Map<string, number>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** The leg of this id; of several the one that has one of these tags, else the one that is there longest. */
  get(id: string, tags: () => readonly string[]): Leg | undefined {
    const forks = this.legs.get(id);
    if (forks === undefined || forks.length < 2) return forks?.[0];
    const wanted = tags();
    return forks.find(({ localTag }) => wanted.includes(localTag)) ?? forks[0];
  }

  /** The leg of this id, made when it is new. */
  leg(id: string, make: () => Leg): Leg {
    return this.legs.get(id)?.[0] ?? this.add(make());
  }

  /** Another leg, whether there is one of its id or not. */
  add(leg: Leg): Leg {
    const forks = this.legs.get(leg.id);
    if (forks === undefined) this.legs.set(leg.id, [leg]);
    else forks.push(leg);
    this.count += 1;
    return leg;
  }

  on(socket: Socket): Leg[] {
    return [...this.legs.values()].flat().filter((leg) => leg.socket === socket);
  }

  end(leg: Leg, now: number): void {
    const forks = this.legs.get(leg.id) ?? [];
    const at = forks.indexOf(leg);
    if (at < 0) return;
    forks.splice(at, 1);
    this.count -= 1;
    if (forks.length > 0) return;
    this.legs.delete(leg.id);
    this.ended.set(leg.id, now + ENDED_MS);
  }

  hasEnded(id: string): boolean {
    return this.ended.has(id);
  }

  sweep(now: number): void {
    // In order of their ends: the first that is to stay ends the sweep.
    for (const [id, until] of this.ended) {
      if (until > now) break;
      this.ended.delete(id);
    }
  }
}
