import { monotonicMs } from './suspend-watch';

/*
 * Memory that the main thread and the group's worker share, so that neither has to wait for the other's event loop:
 *
 *   0  main thread alive at (CLOCK_MONOTONIC, microseconds), written by main
 *   1  the addresses are held until (same clock), written by the worker
 *   2  term in which they are held, written by the worker
 *   3  counts the writes of 1, so that main can tell an old permission from a new one
 *   4  counts the beats of the worker, once it is ready
 */
const CELLS = 5;
const MAIN_BEAT = 0;
const SERVING_UNTIL = 1;
const TERM = 2;
const GRANTS = 3;
const WORKER_BEATS = 4;

const micros = (ms: number): bigint => BigInt(Math.round(ms * 1000));

export class SharedClockwork {
  private readonly cells: BigInt64Array;

  constructor(readonly buffer: SharedArrayBuffer = new SharedArrayBuffer(CELLS * 8)) {
    this.cells = new BigInt64Array(buffer);
  }

  /** Main thread: alive now. */
  beat(): void {
    Atomics.store(this.cells, MAIN_BEAT, micros(monotonicMs()));
  }

  /** Worker: milliseconds since the main thread was alive. */
  mainAge(): number {
    return Math.max(0, monotonicMs() - Number(Atomics.load(this.cells, MAIN_BEAT)) / 1000);
  }

  /** Worker: the addresses are ours for so long from now. */
  grant(forMs: number, term: number): void {
    Atomics.store(this.cells, TERM, BigInt(term));
    Atomics.store(this.cells, SERVING_UNTIL, micros(monotonicMs() + forMs));
    Atomics.add(this.cells, GRANTS, 1n);
  }

  /** Worker: not any more. */
  revoke(): void {
    Atomics.store(this.cells, SERVING_UNTIL, 0n);
    Atomics.add(this.cells, GRANTS, 1n);
  }

  /** Main thread: the term in which SIP may be sent at this moment; 0: none. */
  servingTerm(): number {
    const until = Number(Atomics.load(this.cells, SERVING_UNTIL)) / 1000;
    return until > monotonicMs() ? Number(Atomics.load(this.cells, TERM)) : 0;
  }

  /** Worker: alive now. */
  beatOfWorker(): void {
    Atomics.add(this.cells, WORKER_BEATS, 1n);
  }

  /** Main thread: grows as long as the worker lives; 0: it has not begun. */
  workerBeats(): bigint {
    return Atomics.load(this.cells, WORKER_BEATS);
  }

  grants(): bigint {
    return Atomics.load(this.cells, GRANTS);
  }
}
