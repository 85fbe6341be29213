import { parseParameters, unquote, type Parameter } from './parameters';
import { scanElement } from './scan/address';
import { ADDRESS, FLAG } from './scan/layout';
import { skipFoldBlank, trimEnd } from './scan/text';
import { unfold } from './unfold';

export { splitList } from './list';
export { param } from './parameters';

/** A value of From, To, Contact, Route, Path and the like (RFC 3261 §20.10). */
export interface NameAddr {
  /** Without quotes and escapes; absent when there is none. */
  readonly displayName?: string;
  /** As sent, without angle brackets; `*` for the Contact that stands for all. */
  readonly uri: string;
  /** Header parameters: values without quotes and escapes. Without brackets all parameters are the header's. */
  readonly params: readonly Parameter[];
  /** The whole element as sent (trimmed, unfolded): copy this, not the parts. */
  readonly text: string;
}

/** An address out of its scanned record, which must be a valid one. */
export function nameAddrFrom(text: string, table: Int32Array, at: number): NameAddr {
  const pair = (field: number): string => text.slice(table[at + field], table[at + field + 1]);
  const whole = {
    uri: pair(ADDRESS.URI),
    params: parseParameters(unfold(pair(ADDRESS.PARAMS)), 0) ?? [],
    text: unfold(pair(ADDRESS.TEXT)),
  };
  if ((table[at + ADDRESS.DISPLAY] ?? -1) < 0) return whole;
  const display = unfold(pair(ADDRESS.DISPLAY));
  return { displayName: display.startsWith('"') ? unquote(display, 0, display.length) : display, ...whole };
}

/** What stands in the first angle brackets, of a malformed element too; undefined when none are closed. Linear in its length. */
export function bracketed(text: string): string | undefined {
  const open = text.indexOf('<');
  const close = open < 0 ? -1 : text.indexOf('>', open);
  return close < 0 ? undefined : text.slice(open + 1, close);
}

const record = new Int32Array(ADDRESS.SIZE);

/**
 * Reads one element; undefined when it breaks the grammar. The URI must have a scheme; whether the rest of
 * it is right is parseUri's to say. Linear in its length.
 */
export function parseNameAddr(value: string): NameAddr | undefined {
  if (value.includes('\r') || value.includes('\n')) return undefined;
  const from = skipFoldBlank(value, 0, value.length);
  scanElement(value, from, trimEnd(value, from, value.length), false, record, 0, false);
  return ((record[ADDRESS.FLAGS] ?? 0) & FLAG.VALID) === 0 ? undefined : nameAddrFrom(value, record, 0);
}
