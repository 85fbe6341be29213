import { DsbcError } from '../../errors';
import type { RegistryEntry } from '../registry';
import type { ImportOptions, ImportPosition } from './import';
import type { Line } from './lines';
import type { Row } from './row';

/** Lines that are written together, and where the import stands once they are. */
interface Batch {
  readonly entries: Map<string, RegistryEntry>;
  readonly customers: Extract<Row, { type: 'customer' }>[];
  /** Of its entries and customers. */
  readonly keys: Set<string>;
  lines: number;
  written: number;
  rejected: number;
  offset: number;
  done: boolean;
}

/** Pause before a write is repeated. */
const RETRY_MS = 1000;

export const seenKey = (kind: string, value: string): string => `${kind}:${value}`;

/**
 * Collects rows into batches and writes several at once. A key that is in a batch under way waits for it, so the last
 * row of a key wins. The position only moves over batches that are stored, in the order of the file.
 */
export class ImportWriter {
  readonly #options: ImportOptions;
  readonly #underWay = new Map<Batch, Promise<void>>();
  readonly #order: Batch[] = [];
  readonly #kinds: Set<string>;
  #batch: Batch;
  #position: ImportPosition;
  #failed: { readonly error: unknown } | undefined;

  constructor(options: ImportOptions) {
    this.#options = options;
    this.#position = options.resume ?? { offset: 0, lines: 0, written: 0, rejected: 0, kinds: [] };
    this.#kinds = new Set(this.#position.kinds);
    this.#batch = this.#newBatch();
  }

  #newBatch(): Batch {
    return {
      entries: new Map(),
      customers: [],
      keys: new Set(),
      lines: 0,
      written: 0,
      rejected: 0,
      offset: 0,
      done: false,
    };
  }

  #note(line: Line): void {
    this.#batch.lines += 1;
    this.#batch.offset = line.next;
  }

  header(line: Line, text: string): void {
    this.#position = { ...this.#position, header: text };
    this.#note(line);
  }

  skip(line: Line): void {
    this.#note(line);
  }

  reject(line: Line): void {
    this.#batch.rejected += 1;
    this.#note(line);
  }

  async add(line: Line, row: Row): Promise<void> {
    const [kind, value] =
      row.type === 'entry' ? [row.entry.kind, row.entry.value] : ['customer', row.customer.id];
    const key = seenKey(kind, value);
    this.#kinds.add(kind);
    await this.#waitFor(key);
    if (row.type === 'entry') this.#batch.entries.set(key, row.entry);
    else this.#batch.customers.push(row);
    this.#batch.keys.add(key);
    this.#batch.written += 1;
    this.#note(line);
    const { batchSize = 500, concurrency = 4 } = this.#options;
    if (this.#batch.lines >= batchSize) {
      while (this.#underWay.size >= concurrency) await this.#one();
      this.#flush();
    }
    this.#throwIfFailed();
  }

  /** Batches under way that hold the key. */
  async #waitFor(key: string): Promise<void> {
    for (const [batch, end] of this.#underWay) if (batch.keys.has(key)) await end;
  }

  #one(): Promise<unknown> {
    return Promise.race(this.#underWay.values());
  }

  #flush(): void {
    const batch = this.#batch;
    if (batch.lines === 0) return;
    this.#batch = this.#newBatch();
    this.#order.push(batch);
    const end = this.#write(batch).then(
      () => {
        batch.done = true;
        this.#underWay.delete(batch);
        this.#advance();
      },
      (error: unknown) => {
        this.#underWay.delete(batch);
        this.#failed ??= { error };
      },
    );
    this.#underWay.set(batch, end);
  }

  async #write(batch: Batch): Promise<void> {
    const { store, dryRun, replace } = this.#options;
    await replace?.seen.add([...batch.keys]);
    if (dryRun === true) return;
    for (const { customer } of batch.customers) await this.#patiently(() => store.putCustomer(customer));
    const entries = [...batch.entries.values()];
    if (entries.length > 0) await this.#patiently(() => store.putAll(entries));
  }

  /** A write may be repeated: it says what is to be there. */
  async #patiently(write: () => Promise<void>): Promise<void> {
    const { patience, signal } = this.#options;
    for (const begun = performance.now(); ;) {
      try {
        await write();
        return;
      } catch (error) {
        const isAway = error instanceof DsbcError && error.code === 'DSBC_REGISTRY_UNAVAILABLE';
        if (!isAway || patience === undefined || signal?.aborted === true) throw error;
        if (performance.now() - begun > patience.ms) throw error;
        patience.onWait(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  #advance(): void {
    for (let first = this.#order[0]; first?.done === true; first = this.#order[0]) {
      this.#order.shift();
      const { lines, written, rejected } = this.#position;
      this.#position = {
        ...this.#position,
        lines: lines + first.lines,
        written: written + first.written,
        rejected: rejected + first.rejected,
        offset: first.offset,
        kinds: [...this.#kinds],
      };
      this.#options.onProgress?.(this.#position);
    }
  }

  #throwIfFailed(): void {
    if (this.#failed !== undefined) throw this.#failed.error;
  }

  /** Writes what is left and waits for all; throws the first failure. */
  async finish(): Promise<ImportPosition> {
    this.#flush();
    await Promise.all(this.#underWay.values());
    this.#throwIfFailed();
    return this.#position;
  }
}
