import { isClass, TOKEN } from '../chars';

/** CR and LF count as blanks here: inside a header they only stand in folds, everything else was refused before. */
export const isFoldBlank = (code: number): boolean =>
  code === 0x20 || code === 0x09 || code === 0x0d || code === 0x0a;

export function skipFoldBlank(text: string, from: number, limit: number): number {
  let at = from;
  while (at < limit && isFoldBlank(text.charCodeAt(at))) at++;
  return at;
}

/** The end of text[from, limit) without the blanks at its end. */
export function trimEnd(text: string, from: number, limit: number): number {
  let end = limit;
  while (end > from && isFoldBlank(text.charCodeAt(end - 1))) end--;
  return end;
}

export function tokenEnd(text: string, from: number, limit: number): number {
  let at = from;
  while (at < limit && isClass(text.charCodeAt(at), TOKEN)) at++;
  return at;
}

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
      while (at < limit && text.charCodeAt(at) !== 0x3e) at++;
      at++;
    } else at++;
  }
  return limit;
}
