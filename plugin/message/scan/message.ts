import { DIGIT, isClass, isBlank } from '../chars';
import { scanElement } from './address';
import { headerId } from './header-id';
import { ADDRESS, CREDENTIALS, FAULT, HEAD, ID, KIND, LINE, MAX_ELEMENTS, VIA } from './layout';
import { clear, isAt, isWord, quotedEnd, setPair, skip, skipFoldBlank, tokenEnd, trimEnd } from './text';
import { scanUri } from './uri';

/** Whether text[from, to) holds a CR or LF. */
function hasLineEnd(text: string, from: number, to: number): boolean {
  const cr = text.indexOf('\r', from);
  if (cr >= 0 && cr < to) return true;
  // Looking for LF stops at the one behind `to`, which every caller has there.
  const lf = text.indexOf('\n', from);
  return lf >= 0 && lf < to;
}

/** `SIP/1*DIGIT.1*DIGIT` in any case is all of text[from, to). */
function isVersion(text: string, from: number, to: number): boolean {
  if (from + 4 > to || !isWord(text, from, from + 4, 'sip/')) return false;
  const dot = skip(text, from + 4, to, DIGIT);
  return dot > from + 4 && isAt(text, dot, to, 0x2e) && dot + 1 < to && skip(text, dot + 1, to, DIGIT) === to;
}

/** SIP-Version SP 3DIGIT SP Reason-Phrase; the reason may be empty, and the space before it missing then, as some write it. */
function scanStatusLine(text: string, from: number, to: number, out: Int32Array): number {
  let at = from;
  while (at < to && text.charCodeAt(at) !== 0x20) at++;
  if (!isVersion(text, from, at) || at + 4 > to) return FAULT.STATUS_LINE;
  if (at + 4 < to && text.charCodeAt(at + 4) !== 0x20) return FAULT.STATUS_LINE;
  let status = 0;
  for (let i = at + 1; i < at + 4; i++) {
    if (!isClass(text.charCodeAt(i), DIGIT)) return FAULT.STATUS_LINE;
    status = status * 10 + text.charCodeAt(i) - 0x30;
  }
  out[HEAD.KIND] = KIND.RESPONSE;
  out[HEAD.STATUS] = status;
  setPair(out, HEAD.METHOD, Math.min(at + 5, to), to);
  setPair(out, HEAD.VERSION, from, at);
  return FAULT.NONE;
}

function scanRequestLine(text: string, from: number, to: number, out: Int32Array): number {
  const methodEnd = tokenEnd(text, from, to);
  const isMethod = methodEnd > from && (methodEnd === to || isBlank(text.charCodeAt(methodEnd)));
  if (!isMethod) return FAULT.REQUEST_LINE;
  // Enough to answer, whatever comes.
  out[HEAD.KIND] = KIND.REQUEST;
  setPair(out, HEAD.METHOD, from, methodEnd);
  if (methodEnd === to || text.charCodeAt(methodEnd) !== 0x20) return FAULT.REQUEST_LINE;
  const uriAt = methodEnd + 1;
  let uriEnd = uriAt;
  while (uriEnd < to && !isBlank(text.charCodeAt(uriEnd))) uriEnd++;
  if (uriEnd === uriAt || uriEnd === to || text.charCodeAt(uriEnd) !== 0x20) return FAULT.REQUEST_LINE;
  if (!isVersion(text, uriEnd + 1, to)) return FAULT.REQUEST_LINE;
  setPair(out, HEAD.URI, uriAt, uriEnd);
  setPair(out, HEAD.VERSION, uriEnd + 1, to);
  out[HEAD.URI_VALID] = scanUri(text, uriAt, uriEnd, out, HEAD.URI_SPLIT) ? 1 : 0;
  return FAULT.NONE;
}

function scanStartLine(text: string, from: number, to: number, out: Int32Array): number {
  const isStatus = from + 4 <= to && isWord(text, from, from + 4, 'sip/');
  if (!hasLineEnd(text, from, to)) {
    return isStatus ? scanStatusLine(text, from, to, out) : scanRequestLine(text, from, to, out);
  }
  if (!isStatus) {
    const methodEnd = tokenEnd(text, from, to);
    if (methodEnd > from && (methodEnd === to || isBlank(text.charCodeAt(methodEnd)))) {
      out[HEAD.KIND] = KIND.REQUEST;
      setPair(out, HEAD.METHOD, from, methodEnd);
    }
  }
  return FAULT.BARE_LINE_END_IN_START;
}

/** The digest username among `auth-param`s (RFC 3261 §25.1, credentials); what is malformed ends the search. */
function scanCredentials(text: string, from: number, limit: number, out: Int32Array, at: number): void {
  setPair(out, at, -1, -1);
  let here = tokenEnd(text, from, limit);
  for (;;) {
    here = skipFoldBlank(text, here, limit);
    const nameEnd = tokenEnd(text, here, limit);
    if (nameEnd === here) return;
    const equals = skipFoldBlank(text, nameEnd, limit);
    if (equals >= limit || text.charCodeAt(equals) !== 0x3d) return;
    const valueAt = skipFoldBlank(text, equals + 1, limit);
    const isQuoted = valueAt < limit && text.charCodeAt(valueAt) === 0x22;
    const valueEnd = isQuoted ? quotedEnd(text, valueAt, limit) : tokenEnd(text, valueAt, limit);
    if (valueEnd <= valueAt) return;
    if (isWord(text, here, nameEnd, 'username')) {
      setPair(out, at, valueAt, valueEnd);
      return;
    }
    here = skipFoldBlank(text, valueEnd, limit);
    if (here >= limit || text.charCodeAt(here) !== 0x2c) return;
    here++;
  }
}

/** Scans a value's elements behind its line's record; returns where the next record begins. */
function scanElements(
  text: string,
  from: number,
  limit: number,
  id: number,
  out: Int32Array,
  at: number,
): number {
  const isVia = id === ID.VIA;
  const isList = id !== ID.FROM && id !== ID.TO;
  const size = isVia ? VIA.SIZE : ADDRESS.SIZE;
  let record = at;
  let here = from;
  if (from >= limit) return record;
  for (;;) {
    const count = (out[HEAD.ELEMENTS] ?? 0) + 1;
    if (count > MAX_ELEMENTS) {
      if (out[HEAD.FAULT] === FAULT.NONE) out[HEAD.FAULT] = FAULT.TOO_MANY_ELEMENTS;
      return record;
    }
    out[HEAD.ELEMENTS] = count;
    here = skipFoldBlank(text, here, limit);
    here = scanElement(text, here, limit, isList, out, record, isVia);
    record += size;
    if (here >= limit) return record;
    here++; // the comma
  }
}

/** Scans one logical line [from, end) into the record at `at`; returns where the next record begins. */
function scanLine(text: string, from: number, end: number, out: Int32Array, at: number): number {
  const nameEnd = tokenEnd(text, from, end);
  const colon = skipFoldBlank(text, nameEnd, end);
  if (nameEnd === from || colon >= end || text.charCodeAt(colon) !== 0x3a) {
    if (out[HEAD.FAULT] === FAULT.NONE) out[HEAD.FAULT] = FAULT.NO_NAME;
    return at;
  }
  const valueAt = skipFoldBlank(text, colon + 1, end);
  const valueEnd = trimEnd(text, valueAt, end);
  const id = headerId(text, from, nameEnd);
  out[at + LINE.ID] = id;
  setPair(out, at + LINE.NAME, from, nameEnd);
  setPair(out, at + LINE.VALUE, valueAt, valueEnd);
  if (id > 0 && out[HEAD.FIRST + id] === 0) out[HEAD.FIRST + id] = at;
  let next = at + LINE.SIZE;
  if (id >= ID.VIA && id <= ID.PATH) next = scanElements(text, valueAt, valueEnd, id, out, next);
  else if (id === ID.AUTHORIZATION || id === ID.AUTHORIZATION + 1) {
    scanCredentials(text, valueAt, valueEnd, out, next);
    next += CREDENTIALS.SIZE;
  }
  out[at + LINE.NEXT] = next;
  out[HEAD.LINES] = (out[HEAD.LINES] ?? 0) + 1;
  return next;
}

/** Scans the header lines from `from` on; returns how much of `out` is, or would be, used. */
function scanHeaders(text: string, from: number, out: Int32Array): number {
  const length = text.length;
  let record: number = HEAD.SIZE;
  let at = from;
  while (at < length) {
    if (text.charCodeAt(at) === 0x0d && text.charCodeAt(at + 1) === 0x0a) break;
    let segment = at;
    let isBare = false;
    let end: number;
    for (;;) {
      end = text.indexOf('\r', segment);
      if (end >= 0 && text.charCodeAt(end + 1) !== 0x0a) {
        isBare = true;
        end = text.indexOf('\r\n', end);
      }
      if (end < 0) break;
      if (text.indexOf('\n', segment) !== end + 1) isBare = true;
      if (!isBlank(text.charCodeAt(end + 2))) break;
      segment = end + 2;
    }
    if (end < 0) {
      if (out[HEAD.FAULT] === FAULT.NONE) out[HEAD.FAULT] = FAULT.CUT;
      out[HEAD.BODY] = length;
      return record;
    }
    if (!isBare) record = scanLine(text, at, end, out, record);
    else if (out[HEAD.FAULT] === FAULT.NONE) out[HEAD.FAULT] = FAULT.BARE_LINE_END;
    at = end + 2;
  }
  out[HEAD.BODY] = Math.min(at + 2, length);
  return record;
}

/**
 * The TypeScript twin of native/sip_header: one pass over a message, offsets written to `out` as layout.ts says.
 * Returns how many numbers of `out` are used. When that is more than `out` has, what is written is not complete:
 * call again with a larger one. `out` has at least HEAD.SIZE numbers; text is latin1.
 */
export function scanMessage(text: string, out: Int32Array): number {
  clear(out, 0, HEAD.FIRST);
  out.fill(0, HEAD.FIRST, HEAD.SIZE);
  out[HEAD.FAULT] = FAULT.NONE;
  out[HEAD.KIND] = KIND.NONE;
  out[HEAD.STATUS] = 0;
  out[HEAD.BODY] = text.length;
  out[HEAD.LINES] = 0;
  out[HEAD.ELEMENTS] = 0;
  out[HEAD.URI_VALID] = 0;
  let from = 0;
  while (text.charCodeAt(from) === 0x0d && text.charCodeAt(from + 1) === 0x0a) from += 2;
  const end = text.indexOf('\r\n', from);
  if (end < 0) {
    out[HEAD.FAULT] = FAULT.NO_START_LINE;
    out[HEAD.USED] = HEAD.SIZE;
    return HEAD.SIZE;
  }
  const startFault = scanStartLine(text, from, end, out);
  const used = scanHeaders(text, end + 2, out);
  out[HEAD.USED] = used;
  // A start line's fault comes first in the text.
  if (startFault !== FAULT.NONE) out[HEAD.FAULT] = startFault;
  return used;
}
