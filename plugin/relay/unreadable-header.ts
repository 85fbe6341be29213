import { splitList } from '../message/name-addr';
import type { Header } from '../message/sip-message';
import { parseUri, schemeEnd } from '../message/uri';
import type { LinkCapabilities } from '../link/sip-link';

/*
 * drachtio-server parses what it is told to answer with. One header that its SIP stack can't read, a `Date` that is not in GMT
 * or a `Warning` without quotes, and the caller gets 500 in place of the answer: a phone never registers, a call that was
 * taken is hung up. So such a header is left out. What it takes and what not was tried on 0.9.10, value by value
 * (test/relay/unreadable-header.test.ts); headers that are not named here it sends as they are.
 */

const TOKEN = "[A-Za-z0-9\\-.!%*_+`'~]+";
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"';
const PARAMS = `(?:\\s*;\\s*${TOKEN}(?:\\s*=\\s*(?:${QUOTED}|[^\\s;,"<>()]+))?)*\\s*`;
const COMMENT = '\\([^()]*(?:\\([^()]*\\)[^()]*)*\\)';
const TIME = '\\d{1,2}:\\d\\d:\\d\\d';
const DAY = '(?:mon|tue|wed|thu|fri|sat|sun)';
const MONTH = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)';

type Reader = (value: string) => boolean;

const whole = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`, 'i');

const matches = (pattern: string): Reader => {
  const regExp = whole(pattern);
  return (value) => regExp.test(value);
};

/** Each element of a list; empty ones don't matter to it. */
const each =
  (reader: Reader): Reader =>
  (value) =>
    splitList(value).filter(Boolean).every(reader);

const some =
  (reader: Reader): Reader =>
  (value) =>
    value !== '' && reader(value);

const tokens = each(matches(TOKEN));
const tokensWithParameters = each(matches(TOKEN + PARAMS));
const info = some(each(matches(`<[^<>]*>${PARAMS}|[^\\s;<>]+${PARAMS}`)));

const NAME_ADDR = whole(`(?:${QUOTED}\\s*|(?:${TOKEN}\\s+)*(?:${TOKEN})?)<([^<>\\s]+)>(${PARAMS})`);
const BARE_URI = whole('[^\\s<>",]+');

/** A name-addr with parameters or without, or a bare URI. */
const address =
  (takesParameters: boolean): Reader =>
  (value) => {
    const [, uri, params = ''] = NAME_ADDR.exec(value) ?? [];
    if (uri === undefined) return BARE_URI.test(value);
    if (!takesParameters && params.trim() !== '') return false;
    return parseUri(uri) !== undefined || (schemeEnd(uri) < 0 && !uri.endsWith(':'));
  };

/** A scheme and something behind it, all quotes closed (RFC 3261 §25.1, challenge). */
const challenge: Reader = (value) => {
  const closed = value.replace(/"(?:[^"\\]|\\.)*"/gs, '');
  return whole(`${TOKEN}\\s+\\S.*`).test(closed) && !closed.includes('"');
};

const date = matches(
  [
    `${DAY},\\s*\\d{1,2}\\s${MONTH}\\s\\d{4}\\s${TIME}(?:\\sGMT)?`,
    `[a-z]+,\\s\\d{1,2}-${MONTH}-\\d\\d\\s${TIME}\\sGMT`,
    `${DAY}\\s${MONTH}\\s+\\d{1,2}\\s${TIME}\\s\\d{4}`,
  ].join('|'),
);

const seconds: Reader = (value) => /^\d{1,10}$/.test(value) && Number(value) < 2 ** 32;

const READERS: ReadonlyMap<string, Reader> = new Map([
  ['accept', each(matches(`[^\\s/;,]+\\s*/\\s*[^\\s/;,]+${PARAMS}`))],
  ['accept-encoding', tokensWithParameters],
  ['accept-language', tokensWithParameters],
  ['alert-info', info],
  ['allow', tokens],
  ['call-info', info],
  ['date', date],
  ['error-info', info],
  ['max-forwards', seconds],
  ['min-expires', seconds],
  ['p-asserted-identity', some(each(address(false)))],
  ['p-preferred-identity', some(each(address(false)))],
  ['priority', matches(TOKEN)],
  ['privacy', matches(`(?:${TOKEN}(?:\\s*;\\s*${TOKEN})*)?`)],
  ['proxy-authenticate', challenge],
  ['proxy-require', tokens],
  ['reason', some(tokensWithParameters)],
  ['refer-sub', matches(`(?:true|false)${PARAMS}`)],
  ['refer-to', address(true)],
  ['referred-by', address(true)],
  ['remote-party-id', some(each(address(true)))],
  ['request-disposition', tokens],
  ['require', tokens],
  ['retry-after', matches(`\\d+\\s*(?:${COMMENT})?${PARAMS}`)],
  ['security-client', tokensWithParameters],
  ['security-server', tokensWithParameters],
  ['security-verify', tokensWithParameters],
  ['supported', tokens],
  ['timestamp', matches('\\d+(?:\\.\\d*)?(?:\\s+\\d.*)?')],
  ['unsupported', tokens],
  ['warning', some(each(matches(`\\d+\\s+[^\\s",]+\\s+${QUOTED}`)))],
  ['www-authenticate', challenge],
]);

/** Longer values are not looked into: the patterns take a time that grows with their square. */
const MAX_LENGTH = 1024;

/** Whether the server would say 500 in place of an answer with this header; of any server one with NUL, which the link gives to none. */
export function isUnreadable({ key, value }: Header, can: LinkCapabilities): boolean {
  if (value.includes('\0')) return true;
  if (can.exactHeaders || value.length > MAX_LENGTH) return false;
  const reads = READERS.get(key);
  return reads !== undefined && !reads(value);
}
