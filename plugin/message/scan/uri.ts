import {
  DIGIT,
  HEX,
  HOST,
  isClass,
  isMadeOf,
  PASSWORD,
  URI as URI_CHAR,
  URI_HEADER,
  URI_PARAMETER,
  USER,
} from '../chars';
import { URI } from './layout';
import { decimal, isWord } from './text';

/** Where the scheme of the absolute URI in text[from, to) ends (its colon); -1 when it does not begin with one. */
export function schemeEndIn(text: string, from: number, to: number): number {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x3a) return at === from || at === to - 1 ? -1 : at;
    if ((code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a)) continue;
    const follows = isClass(code, DIGIT) || code === 0x2b || code === 0x2d || code === 0x2e;
    if (at === from || !follows) return -1;
  }
  return -1;
}

/** Whether text[from, to) is a dotted IPv4 address. */
export function isIpv4In(text: string, from: number, to: number): boolean {
  let parts = 0;
  let start = from;
  for (let at = from; at <= to; at++) {
    if (at < to && text.charCodeAt(at) !== 0x2e) continue;
    if (at - start > 3 || decimal(text, start, at, 255) < 0) return false;
    parts++;
    start = at + 1;
  }
  return parts === 4;
}

/** Whether text[from, to) is an IPv6 address (RFC 4291 §2.2), without brackets or zone. */
export function isIpv6In(text: string, from: number, to: number): boolean {
  if (to - from < 2 || to - from > 45) return false;
  let groups = 0;
  let compressed = false;
  let at = from;
  if (text.charCodeAt(at) === 0x3a) {
    if (text.charCodeAt(at + 1) !== 0x3a) return false;
    compressed = true;
    at += 2;
  }
  while (at < to) {
    const start = at;
    while (at < to && isClass(text.charCodeAt(at), HEX)) at++;
    if (at < to && text.charCodeAt(at) === 0x2e) {
      if (!isIpv4In(text, start, to)) return false;
      groups += 2;
      break;
    }
    if (at === start || at - start > 4) return false;
    groups++;
    if (at === to) break;
    if (text.charCodeAt(at) !== 0x3a) return false;
    at++;
    if (at === to) return false;
    if (text.charCodeAt(at) === 0x3a) {
      if (compressed) return false;
      compressed = true;
      at++;
    }
  }
  return compressed ? groups <= 7 : groups === 8;
}

/** A host name, IPv4 address or IPv6 address in brackets. */
export function isHostIn(text: string, from: number, to: number): boolean {
  if (from >= to) return false;
  if (text.charCodeAt(from) !== 0x5b) return isMadeOf(text, from, to, HOST, false);
  return text.charCodeAt(to - 1) === 0x5d && isIpv6In(text, from + 1, to - 1);
}

/** `;a;b=c` in text[from, to). */
function areParams(text: string, from: number, to: number): boolean {
  let at = from;
  while (at < to) {
    let end = at + 1;
    while (end < to && text.charCodeAt(end) !== 0x3b) end++;
    let equals = at + 1;
    while (equals < end && text.charCodeAt(equals) !== 0x3d) equals++;
    if (equals === at + 1 || !isMadeOf(text, at + 1, equals, URI_PARAMETER, true)) return false;
    if (equals < end && !isMadeOf(text, equals + 1, end, URI_PARAMETER, true)) return false;
    at = end;
  }
  return true;
}

function scanSip(text: string, from: number, to: number, out: Int32Array, at: number): boolean {
  // '@' is legal nowhere but behind the userinfo, so the first one decides; a second fails the host's check.
  let hostAt = from;
  let colon = -1;
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x3a && colon < 0) colon = i;
    if (code !== 0x40) continue;
    const userEnd = colon < 0 ? i : colon;
    if (userEnd === from || !isMadeOf(text, from, userEnd, USER, true)) return false;
    out[at + URI.USER] = from;
    out[at + URI.USER + 1] = userEnd;
    if (colon >= 0) {
      if (!isMadeOf(text, colon + 1, i, PASSWORD, true)) return false;
      out[at + URI.PASSWORD] = colon + 1;
      out[at + URI.PASSWORD + 1] = i;
    }
    hostAt = i + 1;
    break;
  }
  let hostEnd = hostAt;
  if (text.charCodeAt(hostAt) === 0x5b && hostAt < to)
    while (hostEnd < to && text.charCodeAt(hostEnd) !== 0x5d) hostEnd++;
  while (hostEnd < to) {
    const code = text.charCodeAt(hostEnd);
    if (code === 0x3a || code === 0x3b || code === 0x3f) break;
    hostEnd++;
  }
  if (!isHostIn(text, hostAt, hostEnd)) return false;
  out[at + URI.HOST] = hostAt;
  out[at + URI.HOST + 1] = hostEnd;
  let paramsAt = hostEnd;
  if (hostEnd < to && text.charCodeAt(hostEnd) === 0x3a) {
    paramsAt++;
    while (paramsAt < to && text.charCodeAt(paramsAt) !== 0x3b && text.charCodeAt(paramsAt) !== 0x3f)
      paramsAt++;
    const port = decimal(text, hostEnd + 1, paramsAt, 65535);
    if (port < 0) return false;
    out[at + URI.PORT] = port;
  }
  let paramsEnd = paramsAt;
  while (paramsEnd < to && text.charCodeAt(paramsEnd) !== 0x3f) paramsEnd++;
  if (!areParams(text, paramsAt, paramsEnd)) return false;
  out[at + URI.PARAMS] = paramsAt;
  out[at + URI.PARAMS + 1] = paramsEnd;
  if (paramsEnd === to) return true;
  out[at + URI.HEADERS] = paramsEnd + 1;
  return paramsEnd + 1 < to && isMadeOf(text, paramsEnd + 1, to, URI_HEADER, true);
}

/** Digits, hex digits, `*`, `#`, a leading `+`, and the visual separators of RFC 3966 §3. */
function scanTel(text: string, from: number, to: number, out: Int32Array, at: number): boolean {
  let end = from;
  let digits = 0;
  if (end < to && text.charCodeAt(end) === 0x2b) end++;
  for (; end < to; end++) {
    const code = text.charCodeAt(end);
    if (code === 0x3b) break;
    if (isClass(code, HEX) || code === 0x2a || code === 0x23) digits++;
    else if (code !== 0x28 && code !== 0x29 && code !== 0x2d && code !== 0x2e) return false;
  }
  if (digits === 0 || !areParams(text, end, to)) return false;
  out[at + URI.USER] = from;
  out[at + URI.USER + 1] = end;
  out[at + URI.PARAMS] = end;
  out[at + URI.PARAMS + 1] = to;
  return true;
}

/** Splits the URI in text[from, to) into the block at `at`; false when it breaks the grammar of its scheme. */
export function scanUri(text: string, from: number, to: number, out: Int32Array, at: number): boolean {
  const colon = schemeEndIn(text, from, to);
  out.fill(-1, at, at + URI.SIZE);
  out[at + URI.HOST] = to;
  out[at + URI.HOST + 1] = to;
  out[at + URI.PARAMS] = to;
  out[at + URI.PARAMS + 1] = to;
  if (colon < 0) return false;
  out[at + URI.SCHEME_END] = colon;
  if (isWord(text, from, colon, 'sip') || isWord(text, from, colon, 'sips')) {
    return scanSip(text, colon + 1, to, out, at);
  }
  if (isWord(text, from, colon, 'tel')) return scanTel(text, colon + 1, to, out, at);
  out[at + URI.USER] = colon + 1;
  out[at + URI.USER + 1] = to;
  return isMadeOf(text, colon + 1, to, URI_CHAR, false);
}
