import { DISPLAY, FOLD_BLANK, isClass, URI_TEXT, VALUE } from '../chars';
import { ADDRESS, FLAG, VIA } from './layout';
import {
  clear,
  decimal,
  elementEnd,
  find,
  isAt,
  isWord,
  quotedEnd,
  setPair,
  skip,
  skipFoldBlank,
  tokenEnd,
  trimEnd,
} from './text';
import { ipv6ReferenceEnd, isHostIn, schemeEndIn, scanUri } from './uri';

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
    if (isAt(text, here, limit, 0x3d)) {
      valueAt = skipFoldBlank(text, here + 1, limit);
      if (isAt(text, valueAt, limit, 0x22)) {
        valueEnd = quotedEnd(text, valueAt, limit);
        if (valueEnd < 0) return -1;
      } else {
        valueEnd = skip(text, valueAt, limit, VALUE);
      }
      here = skipFoldBlank(text, valueEnd, limit);
    }
    const slot = isVia ? viaSlot(text, nameAt, nameEnd) : addressSlot(text, nameAt, nameEnd);
    if (slot >= 0 && out[at + slot] === -1) setPair(out, at + slot, valueAt, valueEnd);
  }
  return here;
}

/** Where the bare URI at `from` ends; -1 at a char that none may have: `?` and `,` are not allowed there (§20.10). */
function bareUriEnd(text: string, from: number, limit: number, isList: boolean): number {
  for (let at = from; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x3b || isClass(code, FOLD_BLANK) || (code === 0x2c && isList)) return at;
    if (!isClass(code, URI_TEXT) || code === 0x3f || code === 0x2c) return -1;
  }
  return limit;
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
  if (isAt(text, from, limit, 0x22)) {
    const end = quotedEnd(text, from, limit);
    if (end < 0) return -1;
    setPair(out, at + ADDRESS.DISPLAY, from, end);
    open = skipFoldBlank(text, end, limit);
    if (!isAt(text, open, limit, 0x3c)) return -1;
  } else {
    open = skip(text, from, limit, DISPLAY);
    if (open > from && isAt(text, open, limit, 0x3c)) {
      setPair(out, at + ADDRESS.DISPLAY, from, trimEnd(text, from, open));
    }
  }
  const isBracketed = isAt(text, open, limit, 0x3c);
  const uriAt = isBracketed ? open + 1 : from;
  const uriEnd = isBracketed ? find(text, uriAt, limit, 0x3e) : bareUriEnd(text, from, limit, isList);
  if (uriEnd < 0 || (isBracketed && uriEnd === limit)) return -1;
  const block = at + ADDRESS.URI_SPLIT;
  const isUri = scanUri(text, uriAt, uriEnd, out, block);
  // A URI that is well formed has no char that may not stand there.
  if (!isUri && (schemeEndIn(text, uriAt, uriEnd) < 0 || skip(text, uriAt, uriEnd, URI_TEXT) < uriEnd))
    return -1;
  setPair(out, at + ADDRESS.URI, uriAt, uriEnd);
  const paramsAt = isBracketed ? uriEnd + 1 : uriEnd;
  const end = scanParams(text, paramsAt, limit, isList, out, at, false);
  if (end < 0) return -1;
  setPair(out, at + ADDRESS.PARAMS, paramsAt, end);
  out[at + ADDRESS.FLAGS] = isUri ? FLAG.VALID | FLAG.URI_VALID : FLAG.VALID;
  return end;
}

/** Behind `SLASH` (a slash with optional blanks round it); -1 when it is not there. */
function skipSlash(text: string, from: number, limit: number): number {
  const at = skipFoldBlank(text, from, limit);
  return isAt(text, at, limit, 0x2f) ? skipFoldBlank(text, at + 1, limit) : -1;
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
  let hostEnd: number;
  if (isAt(text, hostAt, limit, 0x5b)) {
    hostEnd = ipv6ReferenceEnd(text, hostAt, limit);
    if (hostEnd < 0) return -1;
  } else {
    hostEnd = tokenEnd(text, hostAt, limit);
    if (!isHostIn(text, hostAt, hostEnd)) return -1;
  }
  let paramsAt = hostEnd;
  const colon = skipFoldBlank(text, hostEnd, limit);
  if (isAt(text, colon, limit, 0x3a)) {
    const portAt = skipFoldBlank(text, colon + 1, limit);
    paramsAt = tokenEnd(text, portAt, limit);
    const port = decimal(text, portAt, paramsAt, 65535);
    if (port < 0) return -1;
    out[at + VIA.PORT] = port;
  }
  setPair(out, at + VIA.TRANSPORT, transportAt, transportEnd);
  setPair(out, at + VIA.HOST, hostAt, hostEnd);
  const end = scanParams(text, paramsAt, limit, isList, out, at, true);
  if (end < 0) return -1;
  setPair(out, at + VIA.PARAMS, paramsAt, end);
  const rportAt = out[at + VIA.RPORT] ?? -1;
  const rportEnd = out[at + VIA.RPORT + 1] ?? -1;
  // RFC 3581 §3: digits, or nothing yet.
  if (rportAt >= 0 && rportEnd > rportAt && decimal(text, rportAt, rportEnd, 65535) < 0) return -1;
  out[at + VIA.FLAGS] = FLAG.VALID;
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
  clear(out, at, at + size);
  let end = isVia
    ? scanViaInto(text, from, limit, isList, out, at)
    : scanAddressInto(text, from, limit, isList, out, at);
  const isValid = end >= 0;
  if (!isValid) {
    clear(out, at, at + size);
    out[at + ADDRESS.FLAGS] = 0;
    end = isList ? elementEnd(text, from, limit) : limit;
  }
  const textEnd = trimEnd(text, from, end);
  if (!isVia && !isValid && textEnd === from + 1 && text.charCodeAt(from) === 0x2a)
    out[at + ADDRESS.FLAGS] = FLAG.STAR;
  setPair(out, at + ADDRESS.TEXT, from, textEnd);
  return end;
}
