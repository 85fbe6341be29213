import { types } from 'node:util';
import { DsbcError } from '../../errors';
import { checkCustomer, checkEntry, plainEntry } from '../entry';
import { KEY_KINDS } from '../registry';
import type { Customer, RegistryEntry } from '../registry';
import { csvField, splitCsvLine } from './csv';

export const TRANSFER_FORMATS = ['csv', 'jsonl'] as const;
export type TransferFormat = (typeof TRANSFER_FORMATS)[number];

/** One line of an exported file. */
export type Row =
  | { readonly type: 'entry'; readonly entry: RegistryEntry }
  | { readonly type: 'customer'; readonly customer: Customer };

/** A line's row, or why it is not one. */
export type ReadRow = { readonly row: Row } | { readonly reason: string };

/** Columns of CSV. A customer has kind `customer`, its id in `value`, and the last three. */
export const CSV_COLUMNS = [
  'kind',
  'value',
  'system',
  'account',
  'site',
  'customer',
  'blocked',
  'source',
  'target',
  'exported',
] as const;
type Column = (typeof CSV_COLUMNS)[number];
type Fields = Partial<Record<Column, unknown>>;

const isColumn = (name: string): name is Column => (CSV_COLUMNS as readonly string[]).includes(name);

/** The header of a CSV file: columns in any order; `kind`, `value` and `system` must be among them. */
export function readCsvHeader(line: string): { columns: readonly Column[] } | { reason: string } {
  const names = splitCsvLine(line)?.map((name) => name.trim().toLowerCase()) ?? [];
  const separator = names.length === 1 ? /[;\t]/.exec(line)?.[0] : undefined;
  if (separator !== undefined)
    return {
      reason: `the header's columns must be separated by commas, not by ${JSON.stringify(separator)}`,
    };
  const columns = names.filter(isColumn);
  const unknown = names.find((name) => !isColumn(name));
  if (unknown !== undefined) {
    return {
      reason: `the header names an unknown column "${unknown.slice(0, 40)}"; known: ${CSV_COLUMNS.join(', ')}`,
    };
  }
  const missing = (['kind', 'value', 'system'] as const).find((name) => !columns.includes(name));
  if (missing !== undefined)
    return { reason: `the header lacks the column "${missing}"; known: ${CSV_COLUMNS.join(', ')}` };
  if (new Set(columns).size < columns.length) return { reason: 'the header names a column twice' };
  return { columns };
}

export function readCsvRow(line: string, columns: readonly Column[]): ReadRow {
  const fields = splitCsvLine(line);
  if (fields === undefined) return { reason: 'quotes do not match' };
  if (fields.length !== columns.length) {
    return { reason: `${fields.length} fields instead of ${columns.length}` };
  }
  const named: Fields = {};
  for (const [n, column] of columns.entries()) {
    const text = fields[n] ?? '';
    if (text === '') continue;
    if (column !== 'blocked' && column !== 'exported') named[column] = text;
    else {
      const flag = readFlag(text);
      if (flag === undefined)
        return { reason: `${column} must be true or false, not "${text.slice(0, 40)}"` };
      named[column] = flag;
    }
  }
  return rowOf(named);
}

function readFlag(text: string): boolean | undefined {
  if (/^(true|1|yes|y)$/i.test(text)) return true;
  return /^(false|0|no|n)$/i.test(text) ? false : undefined;
}

export function readJsonRow(line: string): ReadRow {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return { reason: `not JSON: ${types.isNativeError(error) ? error.message : String(error)}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { reason: 'not a JSON object' };
  }
  const unknown = Object.keys(value).find((name) => !isColumn(name));
  if (unknown !== undefined) return { reason: `unknown field "${unknown.slice(0, 40)}"` };
  return rowOf(value);
}

/** What a row may be of: a key, or a customer. */
const ROW_KINDS = [...KEY_KINDS, 'customer'] as const;

const isRowKind = (kind: unknown): boolean => ROW_KINDS.some((each) => each === kind);

/** The checks of the store say what is wrong with a field, whatever type it has. */
function rowOf(fields: Fields): ReadRow {
  try {
    if (!isRowKind(fields.kind)) return { reason: `kind must be one of ${ROW_KINDS.join(', ')}` };
    if (fields.kind === 'customer') {
      const { value: id, source, target, exported = false } = fields;
      const customer = { id, source, target, exported } as Customer;
      checkCustomer(customer);
      return { row: { type: 'customer', customer } };
    }
    const entry = fields as unknown as RegistryEntry;
    checkEntry(entry);
    return { row: { type: 'entry', entry: plainEntry(entry) } };
  } catch (error) {
    if (error instanceof DsbcError) return { reason: error.message };
    throw error;
  }
}

export const csvHeader = (): string => CSV_COLUMNS.join(',');

/** One line, without its end. */
export function formatRow(row: Row, format: TransferFormat): string {
  const fields: Fields =
    row.type === 'entry'
      ? { ...row.entry }
      : {
          kind: 'customer',
          value: row.customer.id,
          source: row.customer.source,
          target: row.customer.target,
          exported: row.customer.exported,
        };
  if (format === 'jsonl') return JSON.stringify(fields);
  return CSV_COLUMNS.map((column) => {
    const value = fields[column];
    return value === undefined ? '' : csvField(typeof value === 'string' ? value : JSON.stringify(value));
  }).join(',');
}
