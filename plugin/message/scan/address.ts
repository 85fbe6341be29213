import { ADDRESS, FLAG, VIA } from './layout';
import {
  decimal,
  elementEnd,
  isFoldBlank,
  isWord,
  quotedEnd,
  skipFoldBlank,
  tokenEnd,
  trimEnd,
} from './text';
import { isHostIn, schemeEndIn, scanUri } from './uri';

/** Characters of an unquoted display name: liberal (bytes over 127, brackets), but none that could start a URI or another element. */
const isDisplayChar = (code: number): boolean =>
  isFoldBlank(code) ||
  (code > 0x20 &&
    code !== 0x7f &&
    code !== 0x22 &&
    code !== 0x2c &&
    code !== 0x3a &&
    code !== 0x3b &&
    code !== 0x3c &&
    code !== 0x3e &&
    code !== 0x40 &&
    code !== 0x5c);

/** A char that can stand in a URI: no blank, control, quote or angle bracket. */
const isUriText = (code: number): boolean =>
  code > 0x20 && code !== 0x7f && code !== 0x22 && code !== 0x3c && code !== 0x3e;

/** Ends an unquoted value: blank, quote, comma, semicolon, angle brackets and controls never stand in one. */
const isValueChar = (code: number): boolean =>
  code > 0x20 &&
  code !== 0x7f &&
  code !== 0x22 &&
  code !== 0x2c &&
  code !== 0x3b &&
  code !== 0x3c &&
  code !== 0x3e;

/** Where an address's parameter is noted; -1 for one that is not. */
function addressSlot(text: string, from: number, to: number): number {
  switch (to - from) {
    case 1:
      return isWord(text, from, to, 'q') ? ADDRESS.Q : -1;
    case 3:
      return isWord(text, from, to, 'tag') ? ADDRESS.TAG : -1;
    case 6:
      return isWord(text, from, to, 'reg-id') ? ADDRESS.REG_ID : -1;
    case 7:
      return isWord(text, from, to, 'expires') ? ADDRESS.EXPIRES : -1;
    case 13:
      return isWord(text, from, to, '+sip.instance') ? ADDRESS.INSTANCE : -1;
    default:
      return -1;
  }
}

/** The same for Via. */
function viaSlot(text: string, from: number, to: number): number {
  switch (to - from) {
    case 5:
      return isWord(text, from, to, 'rport') ? VIA.RPORT : -1;
    case 6:
      return isWord(text, from, to, 'branch') ? VIA.BRANCH : -1;
    case 8:
      return isWord(text, from, to, 'received') ? VIA.RECEIVED : -1;
    default:
      return -1;
  }
}

/**
 * Scans `*( SEMI generic-param )` (RFC 3261 §25.1) up to `limit`, or up to a comma when `isList`; known parameters are
 * noted in the record at `at`, the first of a name. Returns where it ended, -1 when it is malformed.
 */
function scanParams(
  text: string,
  from: number,
  limit: number,
  isList: boolean,
  out: Int32Array,
  at: number,
  isVia: boolean,
): number {
  let here = skipFoldBlank(text, from, limit);
  while (here < limit) {
    const code = text.charCodeAt(here);
    if (code === 0x2c && isList) return here;
    if (code !== 0x3b) return -1;
    const nameAt = skipFoldBlank(text, here + 1, limit);
    const nameEnd = tokenEnd(text, nameAt, limit);
    if (nameEnd === nameAt) return -1;
    let valueAt = -2;
    let valueEnd = -2;
    here = skipFoldBlank(text, nameEnd, limit);
    if (here < limit && text.charCodeAt(here) === 0x3d) {
      valueAt = skipFoldBlank(text, here + 1, limit);
      if (valueAt < limit && text.charCodeAt(valueAt) === 0x22) {
        valueEnd = quotedEnd(text, valueAt, limit);
        if (valueEnd < 0) return -1;
      } else {
        valueEnd = valueAt;
        while (valueEnd < limit && isValueChar(text.charCodeAt(valueEnd))) valueEnd++;
      }
      here = skipFoldBlank(text, valueEnd, limit);
    }
    const slot = isVia ? viaSlot(text, nameAt, nameEnd) : addressSlot(text, nameAt, nameEnd);
    if (slot >= 0 && out[at + slot] === -1) {
      out[at + slot] = valueAt;
      out[at + slot + 1] = valueEnd;
    }
  }
  return here;
}

/** Scans one name-addr or addr-spec with its parameters into the record; returns where it ended, -1 when it is malformed. */
function scanAddressInto(
  text: string,
  from: number,
  limit: number,
  isList: boolean,
  out: Int32Array,
  at: number,
): number {
  let open = from;
  if (text.charCodeAt(from) === 0x22) {
    const end = quotedEnd(text, from, limit);
    if (end < 0) return -1;
    out[at + ADDRESS.DISPLAY] = from;
    out[at + ADDRESS.DISPLAY + 1] = end;
    open = skipFoldBlank(text, end, limit);
    if (open >= limit || text.charCodeAt(open) !== 0x3c) return -1;
  } else {
    while (open < limit && isDisplayChar(text.charCodeAt(open))) open++;
  }
  let uriAt = from;
  let uriEnd = from;
  let paramsAt = from;
  if (open < limit && text.charCodeAt(open) === 0x3c) {
    if (out[at + ADDRESS.DISPLAY] === -1 && open > from) {
      out[at + ADDRESS.DISPLAY] = from;
      out[at + ADDRESS.DISPLAY + 1] = trimEnd(text, from, open);
    }
    uriAt = open + 1;
    uriEnd = uriAt;
    while (uriEnd < limit && isUriText(text.charCodeAt(uriEnd))) uriEnd++;
    if (uriEnd >= limit || text.charCodeAt(uriEnd) !== 0x3e) return -1;
    paramsAt = uriEnd + 1;
  } else {
    // Without brackets `?` and `,` are not allowed, and all behind the first semicolon is the header's (§20.10).
    for (; uriEnd < limit; uriEnd++) {
      const code = text.charCodeAt(uriEnd);
      if (code === 0x3b || isFoldBlank(code) || (code === 0x2c && isList)) break;
      if (!isUriText(code) || code === 0x3f || code === 0x2c) return -1;
    }
    paramsAt = uriEnd;
  }
  if (schemeEndIn(text, uriAt, uriEnd) < 0) return -1;
  out[at + ADDRESS.URI] = uriAt;
  out[at + ADDRESS.URI + 1] = uriEnd;
  const end = scanParams(text, paramsAt, limit, isList, out, at, false);
  out[at + ADDRESS.PARAMS] = paramsAt;
  out[at + ADDRESS.PARAMS + 1] = end;
  return end;
}

/** Behind `SLASH` (a slash with optional blanks round it); -1 when it is not there. */
function skipSlash(text: string, from: number, limit: number): number {
  const at = skipFoldBlank(text, from, limit);
  return at < limit && text.charCodeAt(at) === 0x2f ? skipFoldBlank(text, at + 1, limit) : -1;
}

/** Scans one Via value into the record; returns where it ended, -1 when it is malformed or not SIP/2.0. */
function scanViaInto(
  text: string,
  from: number,
  limit: number,
  isList: boolean,
  out: Int32Array,
  at: number,
): number {
  if (from + 3 > limit || !isWord(text, from, from + 3, 'sip')) return -1;
  const versionAt = skipSlash(text, from + 3, limit);
  if (versionAt < 0 || versionAt + 3 > limit || !isWord(text, versionAt, versionAt + 3, '2.0')) return -1;
  const transportAt = skipSlash(text, versionAt + 3, limit);
  if (transportAt < 0) return -1;
  const transportEnd = tokenEnd(text, transportAt, limit);
  const hostAt = skipFoldBlank(text, transportEnd, limit);
  if (transportEnd === transportAt || hostAt === transportEnd) return -1;
  let hostEnd = hostAt;
  if (hostAt < limit && text.charCodeAt(hostAt) === 0x5b) {
    while (hostEnd < limit && text.charCodeAt(hostEnd) !== 0x5d) hostEnd++;
    if (hostEnd >= limit) return -1;
    hostEnd++;
  } else hostEnd = tokenEnd(text, hostAt, limit);
  if (!isHostIn(text, hostAt, hostEnd)) return -1;
  let paramsAt = hostEnd;
  const colon = skipFoldBlank(text, hostEnd, limit);
  if (colon < limit && text.charCodeAt(colon) === 0x3a) {
    const portAt = skipFoldBlank(text, colon + 1, limit);
    paramsAt = tokenEnd(text, portAt, limit);
    const port = decimal(text, portAt, paramsAt, 65535);
    if (port < 0) return -1;
    out[at + VIA.PORT] = port;
  }
  out[at + VIA.TRANSPORT] = transportAt;
  out[at + VIA.TRANSPORT + 1] = transportEnd;
  out[at + VIA.HOST] = hostAt;
  out[at + VIA.HOST + 1] = hostEnd;
  const end = scanParams(text, paramsAt, limit, isList, out, at, true);
  out[at + VIA.PARAMS] = paramsAt;
  out[at + VIA.PARAMS + 1] = end;
  const rportAt = out[at + VIA.RPORT] ?? -1;
  const rportEnd = out[at + VIA.RPORT + 1] ?? -1;
  // RFC 3581 §3: digits, or nothing yet.
  if (end >= 0 && rportAt >= 0 && rportEnd > rportAt && decimal(text, rportAt, rportEnd, 65535) < 0)
    return -1;
  return end;
}

/**
 * Scans one element into the record at `at`: `from` must be no blank. Returns where it ended: at a comma (when `isList`) or at `limit`.
 * A malformed one has its text only, up to where the list's next comma is.
 */
export function scanElement(
  text: string,
  from: number,
  limit: number,
  isList: boolean,
  out: Int32Array,
  at: number,
  isVia: boolean,
): number {
  const size = isVia ? VIA.SIZE : ADDRESS.SIZE;
  out.fill(-1, at, at + size);
  let end = isVia
    ? scanViaInto(text, from, limit, isList, out, at)
    : scanAddressInto(text, from, limit, isList, out, at);
  let flags = 0;
  if (end >= 0) {
    flags = FLAG.VALID;
    const uriAt = at + ADDRESS.URI;
    if (!isVia && scanUri(text, out[uriAt] ?? 0, out[uriAt + 1] ?? 0, out, at + ADDRESS.URI_SPLIT))
      flags |= FLAG.URI_VALID;
  } else {
    out.fill(-1, at, at + size);
    end = isList ? elementEnd(text, from, limit) : limit;
  }
  const textEnd = trimEnd(text, from, end);
  if (!isVia && flags === 0 && textEnd === from + 1 && text.charCodeAt(from) === 0x2a) flags = FLAG.STAR;
  out[at + ADDRESS.FLAGS] = flags;
  out[at + ADDRESS.TEXT] = from;
  out[at + ADDRESS.TEXT + 1] = textEnd;
  return end;
}
