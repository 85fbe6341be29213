import { FOLD_BLANK, HEX, isClass, TOKEN } from '../chars';

/** The first position in [from, limit) that is in none of the classes; `limit` when there is none. */
export function skip(text: string, from: number, limit: number, flags: number): number {
  let at = from;
  while (at < limit && isClass(text.charCodeAt(at), flags)) at++;
  return at;
}

/** The same, where `%` and two hex digits count as one of the class. */
export function skipEscaped(text: string, from: number, limit: number, flags: number): number {
  let at = from;
  while (at < limit) {
    const code = text.charCodeAt(at);
    if (isClass(code, flags)) at++;
    else if (
      code === 0x25 &&
      at + 2 < limit &&
      isClass(text.charCodeAt(at + 1), HEX) &&
      isClass(text.charCodeAt(at + 2), HEX)
    )
      at += 3;
    else break;
  }
  return at;
}

/** Whether text[at] is `code` and lies before `limit`. */
export const isAt = (text: string, at: number, limit: number, code: number): boolean =>
  at < limit && text.charCodeAt(at) === code;

export const skipFoldBlank = (text: string, from: number, limit: number): number =>
  skip(text, from, limit, FOLD_BLANK);

/** The first `code` in [from, limit); `limit` when there is none. */
export function find(text: string, from: number, limit: number, code: number): number {
  let at = from;
  while (at < limit && text.charCodeAt(at) !== code) at++;
  return at;
}

/** Sets the numbers [from, to) to -1: what is not there. */
export function clear(out: Int32Array, from: number, to: number): void {
  for (let at = from; at < to; at++) out[at] = -1;
}

export function setPair(out: Int32Array, at: number, from: number, to: number): void {
  out[at] = from;
  out[at + 1] = to;
}

/** The end of text[from, limit) without the blanks at its end. */
export function trimEnd(text: string, from: number, limit: number): number {
  let end = limit;
  while (end > from && isClass(text.charCodeAt(end - 1), FOLD_BLANK)) end--;
  return end;
}

export const tokenEnd = (text: string, from: number, limit: number): number => skip(text, from, limit, TOKEN);

/** Behind the closing quote of the quoted string that opens at `open`; -1 when it is never closed. */
export function quotedEnd(text: string, open: number, limit: number): number {
  for (let at = open + 1; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at++;
    else if (code === 0x22) return at + 1;
  }
  return -1;
}

/** Whether text[from, to) is `word` (lower case) in any case. */
export function isWord(text: string, from: number, to: number, word: string): boolean {
  if (to - from !== word.length) return false;
  for (let i = 0; i < word.length; i++) {
    const code = text.charCodeAt(from + i);
    const lower = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    if (lower !== word.charCodeAt(i)) return false;
  }
  return true;
}

/** The decimal number of text[from, to); -1 when it is none, is empty, or is above `max` (at most 10 digits count). */
export function decimal(text: string, from: number, to: number, max: number): number {
  if (from >= to) return -1;
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
    if (value > max) return -1;
  }
  return value;
}

/** Where a list's element that begins at `from` ends: at the next comma outside quotes and angle brackets, or at `limit`. */
export function elementEnd(text: string, from: number, limit: number): number {
  let at = from;
  while (at < limit) {
    const code = text.charCodeAt(at);
    if (code === 0x2c) return at;
    if (code === 0x22) {
      const end = quotedEnd(text, at, limit);
      at = end < 0 ? limit : end;
    } else if (code === 0x3c) {
      at = find(text, at, limit, 0x3e) + 1;
    } else at++;
  }
  return limit;
}
