import { isBlank, isToken, trimBlank } from './chars';
import { headerKey } from './header-name';
import { SipMessage, type Header, type StartLine } from './sip-message';

export type ParseResult =
  | { readonly ok: true; readonly message: SipMessage }
  | {
      readonly ok: false;
      /** What is wrong, fit for a 400's reason or a log. */
      readonly reason: string;
      /** Enough to answer: there when Via, From, To, Call-ID and CSeq could be read. */
      readonly message?: SipMessage;
    };

const NO_START: StartLine = { kind: 'request', method: '', uri: '', status: 0, reason: '', version: '' };
const VERSION = /^SIP\/\d+\.\d+$/i;

function parseStatusLine(line: string): StartLine | string {
  // SIP-Version SP 3DIGIT SP Reason-Phrase; the reason may be empty, the space before it may not be missing.
  const match = /^(SIP\/\d+\.\d+) (\d{3}) ([\s\S]*)$/i.exec(line);
  if (match === null) return 'malformed status line';
  const [, version = '', digits = '', reason = ''] = match;
  return { ...NO_START, kind: 'response', version, status: Number(digits), reason };
}

function parseRequestLine(line: string): StartLine | string {
  const first = line.indexOf(' ');
  const last = line.lastIndexOf(' ');
  const method = line.slice(0, Math.max(first, 0));
  if (!isToken(method)) return 'malformed request line';
  const uri = line.slice(first + 1, last);
  const version = line.slice(last + 1);
  if (first === last || uri === '' || /[ \t]/.test(uri) || !VERSION.test(version))
    return 'malformed request line';
  return { ...NO_START, method, uri, version };
}

const parseStartLine = (line: string): StartLine | string =>
  /^SIP\//i.test(line) ? parseStatusLine(line) : parseRequestLine(line);

/** For a start line that is malformed: what can be said of a request all the same, so that it can be answered. */
const salvageStart = (line: string): StartLine | undefined => {
  const method = /^[^ \t]*/.exec(line)?.[0] ?? '';
  return /^SIP\//i.test(line) || !isToken(method) ? undefined : { ...NO_START, method, version: 'SIP/2.0' };
};

/** A fold (a line end followed by blanks) is one space (RFC 3261 §7.3.1). */
const unfold = (text: string): string => text.replace(/\r\n[ \t]+/g, ' ');

/** A CR or LF left after unfolding is a bare one. */
const hasBareLineEnd = (text: string): boolean => /[\r\n]/.test(text);

/** Where the line that begins at `from` ends (at its CRLF), its folded continuations included; -1 without CRLF. */
function logicalLineEnd(raw: string, from: number): number {
  let end = raw.indexOf('\r\n', from);
  while (end >= 0 && isBlank(raw.charCodeAt(end + 2))) end = raw.indexOf('\r\n', end + 2);
  return end;
}

interface HeaderSection {
  readonly headers: Header[];
  readonly bodyStart: number;
  readonly fault: string | undefined;
}

function parseHeaders(raw: string, from: number): HeaderSection {
  const headers: Header[] = [];
  let fault: string | undefined;
  let at = from;
  while (at < raw.length && !raw.startsWith('\r\n', at)) {
    const end = logicalLineEnd(raw, at);
    if (end < 0)
      return { headers, bodyStart: raw.length, fault: fault ?? 'the message ends inside a header' };
    const line = unfold(raw.slice(at, end));
    const colon = line.indexOf(':');
    const name = trimBlank(line.slice(0, Math.max(colon, 0)));
    if (hasBareLineEnd(line)) fault ??= 'a bare CR or LF inside the headers';
    else if (!isToken(name) || isBlank(line.charCodeAt(0))) fault ??= 'a header line without a name';
    else headers.push({ name, key: headerKey(name), value: trimBlank(line.slice(colon + 1)) });
    at = end + 2;
  }
  return { headers, bodyStart: Math.min(at + 2, raw.length), fault };
}

const ANSWER_NEEDS = ['via', 'from', 'to', 'call-id', 'cseq'];

/**
 * Takes a message apart. Never throws; time is linear in its length. Text must be latin1, one char per byte.
 *
 * Decided by RFC 3261: lines end with CRLF and nothing else (§7), so a bare CR or LF in the start line or the
 * headers is malformed rather than a line end that another parser might see; a header line has a token before
 * its colon; empty lines before the start line are skipped (§7.5). Liberal in one thing: a message that ends right
 * behind a header line, without the empty line, has no body.
 */
export function parseMessage(raw: string | Buffer): ParseResult {
  const text = typeof raw === 'string' ? raw : raw.toString('latin1');
  let startAt = 0;
  while (text.startsWith('\r\n', startAt)) startAt += 2;
  const startEnd = text.indexOf('\r\n', startAt);
  if (startEnd < 0) return { ok: false, reason: 'no start line' };
  const line = text.slice(startAt, startEnd);
  const start = hasBareLineEnd(line) ? 'a bare CR or LF inside the start line' : parseStartLine(line);
  const { headers, bodyStart, fault } = parseHeaders(text, startEnd + 2);
  if (typeof start !== 'string' && fault === undefined) {
    return { ok: true, message: new SipMessage(text, start, headers, bodyStart) };
  }
  const reason = typeof start === 'string' ? start : (fault ?? '');
  const usable = typeof start === 'string' ? salvageStart(line) : start;
  const answerable = ANSWER_NEEDS.every((key) =>
    headers.some((header) => header.key === key && header.value !== ''),
  );
  return usable !== undefined && answerable
    ? { ok: false, reason, message: new SipMessage(text, usable, headers, bodyStart) }
    : { ok: false, reason };
}
