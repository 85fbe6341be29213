import type { Socket } from 'node:net';
import type { Leg } from './leg';

/** How long requests that crossed the end of a dialog on the wire may still come: 64 × T1. */
const ENDED_MS = 32_000;

/** The legs that are up, and for a while the names of those that were. */
export class LegTable {
  private readonly legs = new Map<string, Leg>();
  private readonly ended = new Map<string, number>();

  get size(): number {
    return this.legs.size;
  }

  get(id: string): Leg | undefined {
    return this.legs.get(id);
  }

  /** The leg of this id, made when it is new. */
  leg(id: string, make: () => Leg): Leg {
    let leg = this.legs.get(id);
    if (leg === undefined) {
      leg = make();
      this.legs.set(id, leg);
    }
    return leg;
  }

  on(socket: Socket): Leg[] {
    return [...this.legs.values()].filter((leg) => leg.socket === socket);
  }

  end(leg: Leg, now: number): void {
    if (this.legs.get(leg.id) !== leg) return;
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
