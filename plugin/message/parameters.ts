import { isClass, skipBlank, TOKEN } from './chars';

/** One `;name` or `;name=value` of a header: the name as sent, the value without quotes and escapes. */
export type Parameter = readonly [name: string, value: string | undefined];

/** The first value of a parameter (names compare without case); `true` when it has none; undefined when it is not there. */
export function param(list: readonly Parameter[], name: string): string | true | undefined {
  const wanted = name.toLowerCase();
  for (const [key, value] of list) {
    if (key.length === wanted.length && key.toLowerCase() === wanted) return value ?? true;
  }
  return undefined;
}

/** Where the quoted string that opens at `open` ends (behind its closing quote); -1 when it is never closed. */
export function quotedStringEnd(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at++;
    else if (code === 0x22) return at + 1;
  }
  return -1;
}

/** The content of text[open, end), a quoted string with its quotes: escapes are resolved. */
export function unquote(text: string, open: number, end: number): string {
  const inner = text.slice(open + 1, end - 1);
  return inner.includes('\\') ? inner.replace(/\\([\s\S])/g, '$1') : inner;
}

/** Ends an unquoted value: blank, quote, comma, semicolon, angle brackets and controls never stand in one. */
const isValueChar = (code: number): boolean =>
  code > 0x20 &&
  code !== 0x7f &&
  code !== 0x22 &&
  code !== 0x2c &&
  code !== 0x3b &&
  code !== 0x3c &&
  code !== 0x3e;

/**
 * Reads `*( SEMI generic-param )` (RFC 3261 §25.1) from `from` to the end of the text; undefined when it is
 * malformed. A value may be a token, a host (also a bare IPv6 address), a quoted string, or empty: `;tag=`
 * gives the empty string, and whoever needs a token there refuses it.
 */
export function parseParameters(text: string, from: number): Parameter[] | undefined {
  const list: Parameter[] = [];
  let at = skipBlank(text, from);
  while (at < text.length) {
    if (text.charCodeAt(at) !== 0x3b) return undefined;
    const nameAt = skipBlank(text, at + 1);
    at = nameAt;
    while (at < text.length && isClass(text.charCodeAt(at), TOKEN)) at++;
    if (at === nameAt) return undefined;
    const name = text.slice(nameAt, at);
    at = skipBlank(text, at);
    if (text.charCodeAt(at) !== 0x3d) {
      list.push([name, undefined]);
      continue;
    }
    const valueAt = skipBlank(text, at + 1);
    if (text.charCodeAt(valueAt) === 0x22) {
      at = quotedStringEnd(text, valueAt);
      if (at < 0) return undefined;
      list.push([name, unquote(text, valueAt, at)]);
    } else {
      at = valueAt;
      while (at < text.length && isValueChar(text.charCodeAt(at))) at++;
      list.push([name, text.slice(valueAt, at)]);
    }
    at = skipBlank(text, at);
  }
  return list;
}

/** `;name=value` for a header: a value that is no token or host is quoted. */
export function formatParameter([name, value]: Parameter): string {
  if (value === undefined) return `;${name}`;
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    // '[', ']' and ':' stand in hosts
    if (!isClass(code, TOKEN) && code !== 0x5b && code !== 0x5d && code !== 0x3a) {
      return `;${name}="${value.replace(/[\\"]/g, '\\$&')}"`;
    }
  }
  return `;${name}=${value}`;
}
