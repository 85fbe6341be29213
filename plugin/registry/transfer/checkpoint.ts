import { createHash } from 'node:crypto';
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { ImportPosition } from './import';

const stored = z.object({
  fingerprint: z.string(),
  position: z.object({
    offset: z.number().int().nonnegative(),
    lines: z.number().int().nonnegative(),
    written: z.number().int().nonnegative(),
    rejected: z.number().int().nonnegative(),
    header: z.string().optional(),
    kinds: z.array(z.string()),
  }),
});

/** How much of the file's beginning is part of its fingerprint. */
const HEAD_BYTES = 65_536;

/** Tells a file from another one: its size and the beginning of its content, plus where the rows go (`target`). */
export async function fingerprintOf(file: string, target: string): Promise<string> {
  const { size } = await stat(file);
  const handle = await open(file, 'r');
  try {
    const head = Buffer.alloc(Math.min(HEAD_BYTES, size));
    await handle.read(head, 0, head.length, 0);
    return createHash('sha256').update(`${size}\n${target}\n`).update(head).digest('hex');
  } finally {
    await handle.close();
  }
}

/** Where an import stands, in a small file beside the imported one, written whole or not at all. */
export class Checkpoint {
  readonly #path: string;
  readonly #fingerprint: string;

  constructor(path: string, fingerprint: string) {
    this.#path = path;
    this.#fingerprint = fingerprint;
  }

  /** The position, if there is one of this very file; `other`: there is one, but of another file or target. */
  async read(): Promise<ImportPosition | 'none' | 'other'> {
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch {
      return 'none';
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return 'other';
    }
    const parsed = stored.safeParse(value);
    if (!parsed.success || parsed.data.fingerprint !== this.#fingerprint) return 'other';
    const { header, ...position } = parsed.data.position;
    return header === undefined ? position : { ...position, header };
  }

  async write(position: ImportPosition): Promise<void> {
    const part = `${this.#path}.part`;
    await writeFile(part, JSON.stringify({ fingerprint: this.#fingerprint, position }));
    await rename(part, this.#path);
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}
