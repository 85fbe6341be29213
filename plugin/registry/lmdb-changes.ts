import type { Database } from 'lmdb';
import type { RegistryChange, RegistryKey } from './registry';

/** What one write changed, as kept in the table of changes. */
export interface ChangeRecord {
  readonly writer: string;
  readonly entries?: readonly RegistryKey[];
  readonly customers?: readonly string[];
  readonly decisions?: true;
}

/** Records kept: a process that was away for more hears "all" instead. */
const KEPT = 20_000;
const SEQUENCE = 'sequence';

/**
 * The changes of an LMDB file, numbered in commit order, so that a process learns what another one wrote. No clock
 * is involved: what is kept is bounded by count.
 */
export class LmdbChanges {
  readonly #log: Database<ChangeRecord, number>;
  readonly #meta: Database<number, string>;
  readonly #writer: string;
  #seen: number;

  constructor(log: Database<ChangeRecord, number>, meta: Database<number, string>, writer: string) {
    this.#log = log;
    this.#meta = meta;
    this.#writer = writer;
    this.#seen = this.#last();
  }

  #last(): number {
    return this.#meta.get(SEQUENCE) ?? 0;
  }

  /** Adds a record; to be called inside the write transaction that makes the change. */
  append(record: Omit<ChangeRecord, 'writer'>): void {
    const sequence = this.#last() + 1;
    this.#log.putSync(sequence, { writer: this.#writer, ...record });
    this.#meta.putSync(SEQUENCE, sequence);
    if (sequence > KEPT) this.#log.removeSync(sequence - KEPT);
  }

  /** What other processes changed since the last call; `decisions`: operator states among them. */
  poll(): { changes: RegistryChange[]; decisions: boolean } {
    const last = this.#last();
    const from = this.#seen + 1;
    if (last < from) return { changes: [], decisions: false };
    this.#seen = last;
    if (last - from >= KEPT) return { changes: [{ type: 'all' }], decisions: true };
    const changes: RegistryChange[] = [];
    let decisions = false;
    let expected = from;
    for (const { key, value } of this.#log.getRange({ start: from, end: last + 1 })) {
      // A gap: records were removed between reading the number and the range.
      if (key !== expected) return { changes: [{ type: 'all' }], decisions: true };
      expected += 1;
      if (value.writer === this.#writer) continue;
      for (const entry of value.entries ?? []) changes.push({ type: 'entry', key: entry });
      for (const id of value.customers ?? []) changes.push({ type: 'customer', id });
      decisions ||= value.decisions === true;
    }
    return { changes, decisions };
  }
}
