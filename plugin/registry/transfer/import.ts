import type { RegistryStore } from '../registry';
import { readLines } from './lines';
import type { LinesStart } from './lines';
import { csvHeader, readCsvHeader, readCsvRow, readJsonRow } from './row';
import type { Row, TransferFormat } from './row';
import { ImportWriter } from './import-writer';
import { deleteUnseen } from './replace';
import type { SeenKeys } from './seen-keys';

export interface ImportCounts {
  /** Lines read, header and blank ones included. */
  readonly lines: number;
  /** Rows written (with `dryRun`: that would be written). */
  readonly written: number;
  readonly rejected: number;
}

/** How far an import has come: everything before `offset` is stored. Give it back to go on from there. */
export interface ImportPosition extends ImportCounts {
  /** Byte offset in the file. */
  readonly offset: number;
  /** The header line of CSV. */
  readonly header?: string;
  /** Kinds that occurred. */
  readonly kinds: readonly string[];
}

export interface ImportResult extends ImportCounts {
  /** Ended by the signal; `position` says where to go on. */
  readonly interrupted: boolean;
  readonly position: ImportPosition;
  /** Entries and customers deleted because the file does not have them. */
  readonly deleted: number;
  /** Why `replace` deleted nothing, if it did not. */
  readonly notReplaced?: 'lines were rejected' | 'not confirmed' | 'interrupted';
}

export interface ImportOptions {
  /** The file from `resume.offset` on, in chunks. */
  readonly input: AsyncIterable<Buffer>;
  readonly format: TransferFormat;
  readonly store: Pick<
    RegistryStore,
    'putAll' | 'deleteAll' | 'putCustomer' | 'deleteCustomer' | 'entries' | 'customers'
  >;
  /** Where an interrupted import came to. */
  readonly resume?: ImportPosition;
  /** Reads and checks, writes nothing. */
  readonly dryRun?: boolean;
  /**
   * Afterwards deletes what the file does not have, of the kinds that occur in it; nothing if a line was rejected.
   * `seen` keeps the keys; `confirm` hears how many would go.
   */
  readonly replace?: { readonly seen: SeenKeys; readonly confirm: (count: number) => Promise<boolean> };
  /** Rows per write. Default 500. */
  readonly batchSize?: number;
  /**
   * For so many ms a write is repeated while the registry can't take it (DSBC_REGISTRY_UNAVAILABLE); `onWait` hears why.
   * Default: not at all.
   */
  readonly patience?: { readonly ms: number; readonly onWait: (error: Error) => void };
  /** Writes under way at once. Default 4. */
  readonly concurrency?: number;
  readonly signal?: AbortSignal;
  /** A row that is imported, and the number of its line. */
  readonly onRow?: (line: number, row: Row) => void;
  /** A line that was not imported: its number, why, and how it begins. */
  readonly onRejected?: (line: number, reason: string, text: string) => void;
  /** Called after every write, with what is stored for good. */
  readonly onProgress?: (position: ImportPosition) => void;
}

/**
 * Brings rows of a file into a registry: bounded work in flight, flat memory, the order of rows with the same key kept.
 * Rejects with the store's error when a write fails; what `onProgress` told last can then be resumed from.
 */
export async function importEntries(options: ImportOptions): Promise<ImportResult> {
  const { input, format, resume, signal } = options;
  const start: LinesStart = { offset: resume?.offset ?? 0, line: resume?.lines ?? 0 };
  const writer = new ImportWriter(options);
  const read = rowReader(format, resume?.header);
  let stopped = signal?.aborted === true;
  if (!stopped) {
    for await (const line of readLines(input, start)) {
      const found = line.tooLong ? { reason: 'the line is too long' } : read(line.text);
      if ('fatal' in found) {
        options.onRejected?.(line.number, found.fatal, line.text.slice(0, 120));
        writer.reject(line);
        break;
      }
      if ('reason' in found) {
        options.onRejected?.(line.number, found.reason, line.text.slice(0, 120));
        writer.reject(line);
      } else if ('header' in found) writer.header(line, found.header);
      else if ('row' in found) {
        options.onRow?.(line.number, found.row);
        await writer.add(line, found.row);
      } else writer.skip(line);
      stopped = signal?.aborted === true;
      if (stopped) break;
    }
  }
  const position = await writer.finish();
  const { lines, written } = position;
  const headerless = format === 'csv' && !stopped && position.rejected === 0 && position.header === undefined;
  if (headerless) options.onRejected?.(lines + 1, `the file has no header: ${csvHeader()}`, '');
  const rejected = position.rejected + (headerless ? 1 : 0);
  const result = { lines, written, rejected, interrupted: stopped, position, deleted: 0 };
  if (options.replace === undefined) return result;
  if (stopped) return { ...result, notReplaced: 'interrupted' };
  if (rejected > 0) return { ...result, notReplaced: 'lines were rejected' };
  const { seen, confirm } = options.replace;
  const dryRun = options.dryRun === true;
  const deleted = await deleteUnseen(options.store, { seen, confirm, kinds: position.kinds, dryRun });
  return deleted === undefined ? { ...result, notReplaced: 'not confirmed' } : { ...result, deleted };
}

type Found = { row: Row } | { reason: string } | { header: string } | { fatal: string } | { blank: true };

function rowReader(format: TransferFormat, header: string | undefined): (text: string) => Found {
  if (format === 'jsonl') return (text) => (text.trim() === '' ? { blank: true } : readJsonRow(text));
  let columns: Parameters<typeof readCsvRow>[1] | undefined;
  if (header !== undefined) {
    const known = readCsvHeader(header);
    if ('columns' in known) ({ columns } = known);
  }
  return (text) => {
    if (text.trim() === '') return { blank: true };
    if (columns !== undefined) return readCsvRow(text, columns);
    const first = readCsvHeader(text);
    if ('reason' in first) return { fatal: first.reason };
    ({ columns } = first);
    return { header: text };
  };
}
