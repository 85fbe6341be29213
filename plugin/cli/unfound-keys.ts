import { parseUri } from '../message/uri';
import type { RegistryEntry } from '../registry/registry';
import type { Row } from '../registry/transfer/row';
import { normaliseUser } from '../routing/number';

/** What most keys look like, which need no closer look. */
const PLAIN = /^(?:[A-Za-z0-9_]+|\+[0-9]+)$/;

/**
 * Why no request would find an entry, since requests are looked up by a user part without visual separators and needless escapes;
 * undefined if one can.
 */
export function whyUnfound({ kind, value }: Pick<RegistryEntry, 'kind' | 'value'>): string | undefined {
  if (PLAIN.test(value)) return undefined;
  const isUser = parseUri(`sip:${value}@h`)?.user === value;
  if (isUser && normaliseUser(value, false) === value) return undefined;
  const bare = value.replace(/^(?:sips?|tel):/i, '').replace(/@.*$/s, '');
  const meant = normaliseUser(bare.replace(/ /g, ''), kind === 'did');
  const advice =
    meant === value || meant === '' ? 'it is no user part of a SIP URI' : `it is looked up as ${meant}`;
  return `no request finds the ${kind} "${value}": ${advice}`;
}

/** Counts the entries of an import that no request would find, and tells of the first. */
export class UnfoundKeys {
  rows = 0;
  first: { readonly line: number; readonly why: string } | undefined;

  see(line: number, row: Row): void {
    const why = row.type === 'entry' ? whyUnfound(row.entry) : undefined;
    if (why === undefined) return;
    this.rows += 1;
    this.first ??= { line, why };
  }
}
