import { skipBlank, trimBlank, isBlank } from './chars';
import { parseParameters, quotedStringEnd, unquote, type Parameter } from './parameters';
import { schemeEnd } from './uri';

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

/** Characters of an unquoted display name: liberal (bytes over 127, brackets), but nothing that could start a URI or another element. */
function isDisplayChar(code: number): boolean {
  if (isBlank(code)) return true;
  if (code < 0x20 || code === 0x7f) return false;
  // " , : ; < > @ \
  return (
    code !== 0x22 &&
    code !== 0x2c &&
    code !== 0x3a &&
    code !== 0x3b &&
    code !== 0x3c &&
    code !== 0x3e &&
    code !== 0x40 &&
    code !== 0x5c
  );
}

/** A char that can't stand in any URI between angle brackets: blank, control, quote, bracket. */
const isUriText = (code: number): boolean =>
  code > 0x20 && code !== 0x7f && code !== 0x22 && code !== 0x3c && code !== 0x3e;

const build = (text: string, uri: string, params: Parameter[], displayName?: string): NameAddr =>
  displayName === undefined ? { uri, params, text } : { displayName, uri, params, text };

function parseBracketed(text: string, open: number, displayName?: string): NameAddr | undefined {
  let at = open + 1;
  while (at < text.length && isUriText(text.charCodeAt(at))) at++;
  if (text.charCodeAt(at) !== 0x3e) return undefined;
  const uri = text.slice(open + 1, at);
  if (schemeEnd(uri) < 0) return undefined;
  const params = parseParameters(text, at + 1);
  return params === undefined ? undefined : build(text, uri, params, displayName);
}

/** Without brackets: `?` and `,` are not allowed, and everything behind the first semicolon belongs to the header. */
function parseBare(text: string): NameAddr | undefined {
  let at = 0;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x3b || isBlank(code)) break;
    if (!isUriText(code) || code === 0x3f || code === 0x2c) return undefined;
  }
  const uri = text.slice(0, at);
  if (schemeEnd(uri) < 0) return undefined;
  const params = parseParameters(text, at);
  return params === undefined ? undefined : build(text, uri, params);
}

/**
 * Reads one element; undefined when it breaks the grammar. The URI must have a scheme; whether the rest of
 * it is right is parseUri's to say. Linear in its length.
 */
export function parseNameAddr(value: string): NameAddr | undefined {
  const text = trimBlank(value);
  if (text.charCodeAt(0) === 0x22) {
    const end = quotedStringEnd(text, 0);
    if (end < 0) return undefined;
    const open = skipBlank(text, end);
    return text.charCodeAt(open) === 0x3c ? parseBracketed(text, open, unquote(text, 0, end)) : undefined;
  }
  let at = 0;
  while (at < text.length && isDisplayChar(text.charCodeAt(at))) at++;
  if (text.charCodeAt(at) !== 0x3c) return parseBare(text);
  const displayName = trimBlank(text.slice(0, at));
  return parseBracketed(text, at, displayName === '' ? undefined : displayName);
}
