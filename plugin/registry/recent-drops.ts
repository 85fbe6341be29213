/** Drops remembered one by one; with more of them in `settleMs`, everything loaded meanwhile counts as unsettled. */
const MAX_REMEMBERED = 50_000;

/**
 * The invalidations of the last `settleMs`: an answer whose load began so soon after one may have been read from a
 * replica that lagged.
 */
export class RecentDrops {
  readonly #settleMs: number;
  readonly #at = new Map<string, number>();
  #everythingAt: number | undefined;

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** @param oldestLoad when the oldest load under way began; drops that it may have to be judged by are kept */
  key(text: string, now: number, oldestLoad: number): void {
    this.#note(`k${text}`, now, oldestLoad);
  }

  customer(id: string, now: number, oldestLoad: number): void {
    this.#note(`c${id}`, now, oldestLoad);
  }

  all(now: number): void {
    this.#everythingAt = now;
    this.#at.clear();
  }

  #note(what: string, now: number, oldestLoad: number): void {
    if (this.#settleMs === 0) return;
    // Deleted first, so that the map stays in the order of time.
    this.#at.delete(what);
    this.#at.set(what, now);
    for (const [old, at] of this.#at) {
      if (at + this.#settleMs >= Math.min(now, oldestLoad)) break;
      this.#at.delete(old);
    }
    if (this.#at.size > MAX_REMEMBERED) this.all(now);
  }

  /** Until when an answer loaded from `startedAt` on is to be trusted; `undefined`: as long as any. */
  unsettledUntil(text: string, customer: string | undefined, startedAt: number): number | undefined {
    if (this.#settleMs === 0) return undefined;
    const at = Math.max(
      this.#at.get(`k${text}`) ?? -Infinity,
      customer === undefined ? -Infinity : (this.#at.get(`c${customer}`) ?? -Infinity),
      this.#everythingAt ?? -Infinity,
    );
    const until = at + this.#settleMs;
    return startedAt < until ? until : undefined;
  }
}
