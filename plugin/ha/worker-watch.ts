/** A worker is not given up before, however short the heartbeat: giving up ends the program. */
const LEAST_MS = 2000;
const FENCES = 4;

/**
 * Tells that the worker hangs: it has not beaten for four times `fence` (2 s at least) while this thread ran. One that does
 * not run itself, as all of a stopped process, knows nothing of the worker, so a look counts for two intervals at most.
 */
export class WorkerWatch {
  private beat = 0n;
  private lookedAt = -Infinity;
  private silentMs = 0;

  /** @param everyMs between two looks */
  constructor(
    private readonly everyMs: number,
    private readonly fenceMs: number,
  ) {}

  /** @param beat changes as long as the worker lives; 0: it has not begun */
  hangs(beat: bigint, now: number): boolean {
    const passed = Math.min(now - this.lookedAt, 2 * this.everyMs);
    this.lookedAt = now;
    this.silentMs = beat === this.beat && beat !== 0n ? this.silentMs + passed : 0;
    this.beat = beat;
    return this.silentMs > Math.max(LEAST_MS, FENCES * this.fenceMs);
  }
}
