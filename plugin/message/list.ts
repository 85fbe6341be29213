import { trimBlank } from './chars';
import { quotedStringEnd } from './parameters';

/**
 * Splits a list header's value at its top-level commas (RFC 3261 §7.3.1): those inside a quoted string or
 * between angle brackets belong to the element. Elements are trimmed; an empty one (`a,,b`) is kept as the
 * empty string, so that the reader can refuse it. A blank value has no elements. A quote that is never closed
 * runs to the end.
 */
export function splitList(value: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let at = 0;
  while (at < value.length) {
    const code = value.charCodeAt(at);
    if (code === 0x22) {
      const end = quotedStringEnd(value, at);
      at = end < 0 ? value.length : end;
    } else if (code === 0x3c) {
      const close = value.indexOf('>', at);
      at = close < 0 ? value.length : close + 1;
    } else if (code === 0x2c) {
      parts.push(trimBlank(value.slice(from, at)));
      from = ++at;
    } else at++;
  }
  const last = trimBlank(value.slice(from));
  if (parts.length > 0 || last.length > 0) parts.push(last);
  return parts;
}
