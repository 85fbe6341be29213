import { Presets, SingleBar } from 'cli-progress';
import type { ImportPosition } from '../registry/transfer/import';
import type { Io } from './command';

/** Rate is that of the last so many ms. */
const WINDOW_MS = 5000;

/** A progress bar over the bytes of a file, with rows, rows per second and time left; silent if there is no terminal. */
export class ProgressBar {
  readonly #bar: SingleBar | undefined;
  readonly #points: { at: number; rows: number }[] = [];
  #running = false;
  readonly #total: number;

  constructor(io: Io, total: number) {
    this.#total = total;
    if (!io.isTerminal) return;
    this.#bar = new SingleBar(
      {
        format: '{bar} {percentage}% | {rows} rows, {rate}/s, {rejected} rejected | {eta_formatted} left',
        etaBuffer: 100,
        hideCursor: true,
        stream: process.stderr,
      },
      Presets.shades_classic,
    );
  }

  show({ offset, written, rejected }: ImportPosition): void {
    const bar = this.#bar;
    if (bar === undefined) return;
    const now = performance.now();
    this.#points.push({ at: now, rows: written });
    while ((this.#points[0]?.at ?? now) < now - WINDOW_MS) this.#points.shift();
    const first = this.#points[0] ?? { at: now, rows: written };
    const rate = now > first.at ? Math.round(((written - first.rows) / (now - first.at)) * 1000) : 0;
    const shown = { rows: written, rejected, rate };
    if (this.#running) bar.update(offset, shown);
    else {
      bar.start(this.#total, offset, shown);
      this.#running = true;
    }
  }

  /** May be called twice. */
  stop(): void {
    if (this.#running) this.#bar?.stop();
    this.#running = false;
  }
}
