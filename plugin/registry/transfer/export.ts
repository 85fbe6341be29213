import type { RegistryStore } from '../registry';
import { csvHeader, formatRow } from './row';
import type { Row, TransferFormat } from './row';

export interface ExportOptions {
  readonly store: Pick<RegistryStore, 'entries' | 'customers'>;
  readonly format: TransferFormat;
  /** Writes text; resolves when more may follow (back pressure). */
  readonly write: (text: string) => Promise<void>;
  readonly signal?: AbortSignal;
  /** Rows written so far; called every thousand rows and at the end. */
  readonly onProgress?: (rows: number) => void;
}

/** Rows per write. */
const BATCH = 1000;

async function* allRows(store: ExportOptions['store']): AsyncIterable<Row> {
  // Customers first: an import that is interrupted then knows where its customers are active.
  for await (const customer of store.customers()) yield { type: 'customer', customer };
  for await (const entry of store.entries()) yield { type: 'entry', entry };
}

/** Writes everything a registry holds, in a form that `importEntries` reads; resolves to the number of rows. */
export async function exportEntries(options: ExportOptions): Promise<{ rows: number; interrupted: boolean }> {
  const { store, format, write, signal, onProgress } = options;
  let rows = 0;
  let text = format === 'csv' ? `${csvHeader()}\n` : '';
  for await (const row of allRows(store)) {
    if (signal?.aborted === true) return { rows, interrupted: true };
    text += `${formatRow(row, format)}\n`;
    rows += 1;
    if (rows % BATCH !== 0) continue;
    await write(text);
    text = '';
    onProgress?.(rows);
  }
  if (text !== '') await write(text);
  onProgress?.(rows);
  return { rows, interrupted: false };
}
