import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** The file that tells which lines were not imported, and why: `line 17: reason: how it begins`. */
export class RejectionReport {
  readonly #stream: WriteStream;

  private constructor(stream: WriteStream) {
    this.#stream = stream;
  }

  /**
   * Begins a report, or goes on with one.
   * @param after lines of the imported file that are done with; what is reported of later ones is forgotten, because an
   * import that was killed has read further than it had stored, and reads those again. 0: a new report.
   */
  static async open(path: string, after: number): Promise<RejectionReport> {
    const part = `${path}.part`;
    const stream = createWriteStream(part);
    await once(stream, 'open');
    if (after > 0) for await (const line of earlier(path, after)) await written(stream, `${line}\n`);
    await rename(part, path);
    return new RejectionReport(stream);
  }

  add(line: number, reason: string, text: string): void {
    this.#stream.write(`line ${line}: ${reason}: ${text}\n`);
  }

  /** Resolves when everything so far is in the file: only then may the import's position go past it. */
  flushed(): Promise<void> {
    return written(this.#stream, '');
  }

  async close(): Promise<void> {
    this.#stream.end();
    await once(this.#stream, 'close');
  }
}

const written = (stream: WriteStream, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });

async function* earlier(path: string, after: number): AsyncIterable<string> {
  // Somebody may have removed it.
  if (!existsSync(path)) return;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const number = Number(/^line (\d+): /.exec(line)?.[1] ?? NaN);
    if (number <= after) yield line;
  }
}
