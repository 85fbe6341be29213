import {
  DIGIT,
  HEX,
  HOST,
  isMadeOf,
  parseDigits,
  PASSWORD,
  URI,
  URI_HEADER,
  URI_PARAMETER,
  USER,
  isClass,
} from './chars';
import { param, type Parameter } from './parameters';

/**
 * A SIP, SIPS or tel URI, split (RFC 3261 §19.1, RFC 3966). A URI of another scheme (`urn:`, `mailto:`) is
 * kept whole in `user`, with an empty host. Escapes stay as they were sent: `%40` in a user is not an `@`.
 */
export interface SipUri {
  /** Lower case. */
  readonly scheme: string;
  /** The user part with its escapes; for `tel:` the number with its separators; for other schemes all behind the colon. */
  readonly user?: string;
  readonly password?: string;
  /** Lower case; an IPv6 address has its brackets; empty for `tel:` and other schemes. */
  readonly host: string;
  readonly port?: number;
  /** Names and values as sent, with their escapes. */
  readonly params: readonly Parameter[];
  /** What stands behind `?`, unparsed. */
  readonly headers?: string;
}

/** Whether the text is an IPv6 address (RFC 4291 §2.2) without brackets or zone. */
export function isIpv6(text: string): boolean {
  if (text.length < 2 || text.length > 45) return false;
  const halves = text.split('::');
  if (halves.length > 2) return false;
  let groups = 0;
  for (const [half, part] of halves.entries()) {
    if (part === '') continue;
    const pieces = part.split(':');
    for (const [index, piece] of pieces.entries()) {
      const isLast = half === halves.length - 1 && index === pieces.length - 1;
      if (isLast && piece.includes('.')) {
        if (!isIpv4(piece)) return false;
        groups += 2;
      } else {
        if (piece.length < 1 || piece.length > 4 || !isMadeOf(piece, 0, piece.length, HEX, false))
          return false;
        groups++;
      }
    }
  }
  return halves.length === 2 ? groups <= 7 : groups === 8;
}

/** Whether the text is a dotted IPv4 address. */
export function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return (
    parts.length === 4 && parts.every((part) => part.length <= 3 && parseDigits(part, 255) !== undefined)
  );
}

/** A host name, IPv4 address or IPv6 address in brackets. Underscores pass, since private zones use them. */
export const isHost = (text: string): boolean =>
  text.startsWith('[')
    ? text.endsWith(']') && isIpv6(text.slice(1, -1))
    : text.length > 0 && isMadeOf(text, 0, text.length, HOST, false);

/** Splits `host[:port]`; undefined when either is malformed. */
export function parseHostPort(text: string): { host: string; port?: number } | undefined {
  const bracket = text.startsWith('[') ? text.indexOf(']') : 0;
  if (bracket < 0) return undefined;
  const colon = text.indexOf(':', bracket);
  const host = (colon < 0 ? text : text.slice(0, colon)).toLowerCase();
  if (!isHost(host)) return undefined;
  if (colon < 0) return { host };
  const port = parseDigits(text.slice(colon + 1), 65535);
  return port === undefined ? undefined : { host, port };
}

/** `;a;b=c` or nothing; undefined when malformed. */
function parseUriParams(text: string): Parameter[] | undefined {
  const params: Parameter[] = [];
  if (text === '') return params;
  for (const part of text.slice(1).split(';')) {
    const equals = part.indexOf('=');
    const nameEnd = equals < 0 ? part.length : equals;
    if (nameEnd === 0 || !isMadeOf(part, 0, nameEnd, URI_PARAMETER, true)) return undefined;
    if (!isMadeOf(part, nameEnd + 1, part.length, URI_PARAMETER, true)) return undefined;
    params.push(equals < 0 ? [part, undefined] : [part.slice(0, equals), part.slice(equals + 1)]);
  }
  return params;
}

/** `hname=hvalue&…` of RFC 3261 §25.1: at least one char, escapes well formed. */
const isUriHeaders = (text: string): boolean =>
  text.length > 0 && isMadeOf(text, 0, text.length, URI_HEADER, true);

function parseSip(scheme: string, rest: string): SipUri | undefined {
  // '@' is legal nowhere but behind the userinfo, so the first one decides; a second fails the host's check.
  const at = rest.indexOf('@');
  let user: string | undefined;
  let password: string | undefined;
  if (at >= 0) {
    const colon = rest.indexOf(':');
    const userEnd = colon >= 0 && colon < at ? colon : at;
    if (userEnd === 0 || !isMadeOf(rest, 0, userEnd, USER, true)) return undefined;
    user = rest.slice(0, userEnd);
    if (userEnd < at) {
      if (!isMadeOf(rest, userEnd + 1, at, PASSWORD, true)) return undefined;
      password = rest.slice(userEnd + 1, at);
    }
  }
  const hostAt = at + 1;
  const question = rest.indexOf('?', hostAt);
  const paramsEnd = question < 0 ? rest.length : question;
  const semicolon = rest.indexOf(';', hostAt);
  const hostEnd = semicolon < 0 || semicolon > paramsEnd ? paramsEnd : semicolon;
  const where = parseHostPort(rest.slice(hostAt, hostEnd));
  const params = parseUriParams(rest.slice(hostEnd, paramsEnd));
  if (where === undefined || params === undefined) return undefined;
  if (question >= 0 && !isUriHeaders(rest.slice(question + 1))) return undefined;
  return {
    scheme,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...where,
    params,
    ...(question < 0 ? {} : { headers: rest.slice(question + 1) }),
  };
}

/** Digits, hex digits, `*`, `#`, a leading `+`, and the visual separators of RFC 3966 §3. */
const TEL_NUMBER = /^\+?[0-9A-Fa-f*#().-]+$/;
const TEL_DIGIT = /[0-9A-Fa-f*#]/;

function parseTel(scheme: string, rest: string): SipUri | undefined {
  const semicolon = rest.indexOf(';');
  const user = semicolon < 0 ? rest : rest.slice(0, semicolon);
  if (!TEL_NUMBER.test(user) || !TEL_DIGIT.test(user)) return undefined;
  const params = parseUriParams(semicolon < 0 ? '' : rest.slice(semicolon));
  return params === undefined ? undefined : { scheme, user, host: '', params };
}

/** Where the scheme of an absolute URI ends (its colon); -1 when the text does not begin with one. */
export function schemeEnd(text: string): number {
  let at = 0;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x3a) return at === 0 || at === text.length - 1 ? -1 : at;
    const isLetter = (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
    if (isLetter) continue;
    const follows = isClass(code, DIGIT) || code === 0x2b || code === 0x2d || code === 0x2e;
    if (at === 0 || !follows) return -1;
  }
  return -1;
}

/** Splits a URI; undefined when its text breaks the grammar of its scheme. Linear in its length. */
export function parseUri(text: string): SipUri | undefined {
  const colon = schemeEnd(text);
  if (colon < 0) return undefined;
  const scheme = text.slice(0, colon).toLowerCase();
  const rest = text.slice(colon + 1);
  if (scheme === 'sip' || scheme === 'sips') return parseSip(scheme, rest);
  if (scheme === 'tel') return parseTel(scheme, rest);
  return isMadeOf(rest, 0, rest.length, URI, false)
    ? { scheme, user: rest, host: '', params: [] }
    : undefined;
}

const formatParam = ([name, value]: Parameter): string =>
  value === undefined ? `;${name}` : `;${name}=${value}`;

/** The text of a URI. Parts are taken as they are: what needs an escape must have it already. */
export function formatUri(uri: SipUri): string {
  const params = uri.params.map(formatParam).join('');
  if (uri.host === '') return `${uri.scheme}:${uri.user ?? ''}${params}`;
  const password = uri.password === undefined ? '' : `:${uri.password}`;
  const user = uri.user === undefined ? '' : `${uri.user}${password}@`;
  const port = uri.port === undefined ? '' : `:${uri.port}`;
  const headers = uri.headers === undefined ? '' : `?${uri.headers}`;
  return `${uri.scheme}:${user}${uri.host}${port}${params}${headers}`;
}

/** A URI parameter's value, `true` when it has none, undefined when it is not there. */
export const uriParam = (uri: SipUri, name: string): string | true | undefined => param(uri.params, name);
