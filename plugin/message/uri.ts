import { URI } from './scan/layout';
import { isHostIn, isIpv4In, isIpv6In, scanUri, schemeEndIn } from './scan/uri';
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
export const isIpv6 = (text: string): boolean => isIpv6In(text, 0, text.length);

/** Whether the text is a dotted IPv4 address. */
export const isIpv4 = (text: string): boolean => isIpv4In(text, 0, text.length);

/** A host name, IPv4 address or IPv6 address in brackets. Underscores pass, since private zones use them. */
export const isHost = (text: string): boolean => isHostIn(text, 0, text.length);

/** Where the scheme of an absolute URI ends (its colon); -1 when the text does not begin with one. */
export const schemeEnd = (text: string): number => schemeEndIn(text, 0, text.length);

/** `;a;b=c`, known to be well formed. */
function readParams(text: string): Parameter[] {
  if (text === '') return [];
  return text
    .slice(1)
    .split(';')
    .map((part) => {
      const equals = part.indexOf('=');
      return equals < 0 ? [part, undefined] : [part.slice(0, equals), part.slice(equals + 1)];
    });
}

/** A URI out of its scanned block; `from` and `to` are where its text lies. */
export function uriFrom(text: string, from: number, to: number, table: Int32Array, at: number): SipUri {
  const pair = (field: number): string | undefined => {
    const start = table[at + field] ?? -1;
    return start < 0 ? undefined : text.slice(start, table[at + field + 1]);
  };
  const user = pair(URI.USER);
  const password = pair(URI.PASSWORD);
  const port = table[at + URI.PORT] ?? -1;
  const headersAt = table[at + URI.HEADERS] ?? -1;
  return {
    scheme: text.slice(from, table[at + URI.SCHEME_END]).toLowerCase(),
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    host: pair(URI.HOST)?.toLowerCase() ?? '',
    ...(port < 0 ? {} : { port }),
    params: readParams(pair(URI.PARAMS) ?? ''),
    ...(headersAt < 0 ? {} : { headers: text.slice(headersAt, to) }),
  };
}

const block = new Int32Array(URI.SIZE);

/** Splits a URI; undefined when its text breaks the grammar of its scheme. Linear in its length. */
export const parseUri = (text: string): SipUri | undefined =>
  scanUri(text, 0, text.length, block, 0) ? uriFrom(text, 0, text.length, block, 0) : undefined;

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
