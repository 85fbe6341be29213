import {
  DIGIT,
  HEX,
  HOST,
  isClass,
  PASSWORD,
  URI as URI_CHAR,
  URI_HEADER,
  URI_PARAMETER,
  USER,
} from '../chars';
import { URI } from './layout';
import { clear, decimal, find, isAt, isWord, setPair, skip, skipEscaped } from './text';

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

/** The longest IPv6 address, without brackets. */
const MAX_IPV6 = 45;

/** Whether text[from, to) is an IPv6 address (RFC 4291 §2.2), without brackets or zone. */
export function isIpv6In(text: string, from: number, to: number): boolean {
  if (to - from < 2 || to - from > MAX_IPV6) return false;
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
  if (text.charCodeAt(from) !== 0x5b) return skip(text, from, to, HOST) === to;
  return text.charCodeAt(to - 1) === 0x5d && isIpv6In(text, from + 1, to - 1);
}

/** Behind the closing bracket of the IPv6 address that opens at `from`; -1 when there is none. */
export function ipv6ReferenceEnd(text: string, from: number, to: number): number {
  // Looked for close by only: a list of thousands that are never closed would be searched to its end for each.
  const closeBy = Math.min(to, from + MAX_IPV6 + 2);
  const close = find(text, from, closeBy, 0x5d);
  return close < closeBy && isIpv6In(text, from + 1, close) ? close + 1 : -1;
}

/** The end of `;a;b=c` in [from, to): where something else begins; -1 when a name is empty. */
function paramsEnd(text: string, from: number, to: number): number {
  let at = from;
  while (isAt(text, at, to, 0x3b)) {
    const nameEnd = skipEscaped(text, at + 1, to, URI_PARAMETER);
    if (nameEnd === at + 1) return -1;
    at = isAt(text, nameEnd, to, 0x3d) ? skipEscaped(text, nameEnd + 1, to, URI_PARAMETER) : nameEnd;
  }
  return at;
}

/** Notes `user[:password]@` and returns where the host begins: at `from` when there is no userinfo. */
function scanUserinfo(text: string, from: number, to: number, out: Int32Array, at: number): number {
  const userEnd = skipEscaped(text, from, to, USER);
  const isPassword = isAt(text, userEnd, to, 0x3a);
  const end = isPassword ? skipEscaped(text, userEnd + 1, to, PASSWORD) : userEnd;
  // '@' is legal nowhere but behind the userinfo: one that is not right here makes the host's check fail.
  if (!isAt(text, end, to, 0x40) || userEnd === from) return from;
  setPair(out, at + URI.USER, from, userEnd);
  if (isPassword) setPair(out, at + URI.PASSWORD, userEnd + 1, end);
  return end + 1;
}

function scanSip(text: string, from: number, to: number, out: Int32Array, at: number): boolean {
  const hostAt = scanUserinfo(text, from, to, out, at);
  let hostEnd: number;
  if (isAt(text, hostAt, to, 0x5b)) {
    hostEnd = ipv6ReferenceEnd(text, hostAt, to);
    if (hostEnd < 0) return false;
  } else {
    hostEnd = skip(text, hostAt, to, HOST);
    if (hostEnd === hostAt) return false;
  }
  setPair(out, at + URI.HOST, hostAt, hostEnd);
  let paramsAt = hostEnd;
  if (isAt(text, hostEnd, to, 0x3a)) {
    paramsAt = skip(text, hostEnd + 1, to, DIGIT);
    const port = decimal(text, hostEnd + 1, paramsAt, 65535);
    if (port < 0) return false;
    out[at + URI.PORT] = port;
  }
  const end = paramsEnd(text, paramsAt, to);
  if (end < 0) return false;
  setPair(out, at + URI.PARAMS, paramsAt, end);
  if (end === to) return true;
  out[at + URI.HEADERS] = end + 1;
  return isAt(text, end, to, 0x3f) && end + 1 < to && skipEscaped(text, end + 1, to, URI_HEADER) === to;
}

/** Digits, hex digits, `*`, `#`, a leading `+`, and the visual separators of RFC 3966 §3. */
function scanTel(text: string, from: number, to: number, out: Int32Array, at: number): boolean {
  let end = isAt(text, from, to, 0x2b) ? from + 1 : from;
  let digits = 0;
  for (; end < to; end++) {
    const code = text.charCodeAt(end);
    if (code === 0x3b) break;
    if (isClass(code, HEX) || code === 0x2a || code === 0x23) digits++;
    else if (code !== 0x28 && code !== 0x29 && code !== 0x2d && code !== 0x2e) return false;
  }
  if (digits === 0 || paramsEnd(text, end, to) !== to) return false;
  setPair(out, at + URI.USER, from, end);
  setPair(out, at + URI.PARAMS, end, to);
  return true;
}

/** Splits the URI in text[from, to) into the block at `at`; false when it breaks the grammar of its scheme. */
export function scanUri(text: string, from: number, to: number, out: Int32Array, at: number): boolean {
  const colon = schemeEndIn(text, from, to);
  clear(out, at, at + URI.SIZE);
  setPair(out, at + URI.HOST, to, to);
  setPair(out, at + URI.PARAMS, to, to);
  if (colon < 0) return false;
  out[at + URI.SCHEME_END] = colon;
  if (isWord(text, from, colon, 'sip') || isWord(text, from, colon, 'sips')) {
    return scanSip(text, colon + 1, to, out, at);
  }
  if (isWord(text, from, colon, 'tel')) return scanTel(text, colon + 1, to, out, at);
  setPair(out, at + URI.USER, colon + 1, to);
  return skip(text, colon + 1, to, URI_CHAR) === to;
}
