/**
 * Character classes of RFC 3261 §25.1 for text that holds one byte per char (latin1). One table of bit
 * flags, so that a check is one array access.
 */
export const TOKEN = 1;
/** `unreserved` and `user-unreserved`, plus `#`, which dialled feature codes carry unescaped in practice. */
export const USER = 2;
/** `unreserved` and what a password adds. */
export const PASSWORD = 4;
/** Letters, digits, `-`, `.` and, because private zones use it, `_`. */
export const HOST = 8;
/** `paramchar` without the escape. */
export const URI_PARAMETER = 16;
export const DIGIT = 32;
export const HEX = 64;
/** Every visible US-ASCII character that may stand in some URI: no space, quote, angle bracket, control or byte over 127. */
export const URI = 128;
/** What may stand behind `?` in a URI, `=` and `&` included. */
export const URI_HEADER = 256;
/** May stand in an unquoted display name: liberal (bytes over 127, brackets), but nothing that could start a URI or another element. */
export const DISPLAY = 512;
/** May stand in a URI between angle brackets: no blank, control, quote or angle bracket. */
export const URI_TEXT = 1024;
/** May stand in an unquoted parameter value: as URI_TEXT, without comma and semicolon. */
export const VALUE = 2048;
/** Space and tab, and CR and LF, which inside a header only stand in folds once bare ones are refused. */
export const FOLD_BLANK = 4096;

const ALPHANUM = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const MARK = "-_.!~*'()";

const classes = new Uint16Array(256);
const mark = (flag: number, chars: string): void => {
  for (let i = 0; i < chars.length; i++) {
    const code = chars.charCodeAt(i);
    classes[code] = (classes[code] ?? 0) | flag;
  }
};
mark(TOKEN, ALPHANUM + "-.!%*_+`'~");
mark(USER, ALPHANUM + MARK + '&=+$,;?/#');
mark(PASSWORD, ALPHANUM + MARK + '&=+$,');
mark(HOST, ALPHANUM + '-._');
mark(URI_PARAMETER, ALPHANUM + MARK + '[]/:&+$');
mark(DIGIT, '0123456789');
mark(HEX, '0123456789ABCDEFabcdef');
mark(URI_HEADER, ALPHANUM + MARK + '[]/?:+$=&');
mark(URI, ALPHANUM + MARK + '&=+$,;?/#%:@[]^`{}|\\');
mark(FOLD_BLANK | DISPLAY, ' \t\r\n');
for (let code = 0x21; code < 256; code++) {
  const char = String.fromCharCode(code);
  if (code === 0x7f || '"<>'.includes(char)) continue;
  mark(URI_TEXT, char);
  if (',;'.includes(char)) continue;
  mark(VALUE, char);
  if (!':@\\'.includes(char)) mark(DISPLAY, char);
}

/** Whether the char code belongs to one of the classes in `flags`. */
export const isClass = (code: number, flags: number): boolean => ((classes[code] ?? 0) & flags) !== 0;

/** Whether text[from, to) is made of the classes only; with `escapes`, `%` must be followed by two hex digits. */
export function isMadeOf(text: string, from: number, to: number, flags: number, escapes: boolean): boolean {
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    if (isClass(code, flags)) continue;
    if (!escapes || code !== 0x25 || i + 2 >= to) return false;
    if (!isClass(text.charCodeAt(i + 1), HEX) || !isClass(text.charCodeAt(i + 2), HEX)) return false;
    i += 2;
  }
  return true;
}

/** Whether the text is a `token` (RFC 3261 §25.1): at least one char, none but token chars. */
export const isToken = (text: string): boolean =>
  text.length > 0 && isMadeOf(text, 0, text.length, TOKEN, false);

export const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

/** The first position at or after `from` that is no space or tab. */
export function skipBlank(text: string, from: number): number {
  let at = from;
  while (at < text.length && isBlank(text.charCodeAt(at))) at++;
  return at;
}

/** Takes spaces and tabs off both ends: only those, since 0xA0 is a byte of UTF-8 here and no space. */
export function trimBlank(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

/** A decimal number of digits only, at most `max`; anything else is undefined. */
export function parseDigits(text: string, max: number): number | undefined {
  if (text.length === 0 || !isMadeOf(text, 0, text.length, DIGIT, false)) return undefined;
  const value = Number(text);
  return value <= max ? value : undefined;
}
