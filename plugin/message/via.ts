import { isClass, parseDigits, skipBlank, TOKEN, trimBlank } from './chars';
import { formatParameter, param, parseParameters, type Parameter } from './parameters';
import { isHost } from './uri';

/** One Via value (RFC 3261 §20.42, RFC 3581). */
export interface Via {
  /** Upper case: UDP, TCP, TLS, WS, WSS, or whatever was sent. */
  readonly transport: string;
  /** The host of sent-by, lower case; an IPv6 address has its brackets. */
  readonly host: string;
  readonly port?: number;
  readonly params: readonly Parameter[];
  readonly branch?: string;
  /** An address without brackets, however it was sent (RFC 5118 §4.5). */
  readonly received?: string;
  /** `true` when asked for and not filled in yet. */
  readonly rport?: number | true;
  /** The whole value as sent (trimmed, unfolded). */
  readonly text: string;
}

/** Behind `word`, in any case, at `at`; -1 when it is not there. */
function skipWord(text: string, at: number, word: string): number {
  const end = at + word.length;
  return text.slice(at, end).toUpperCase() === word ? end : -1;
}

/** Behind `SLASH` (a slash with optional blanks round it); -1 when it is not there. */
function skipSlash(text: string, from: number): number {
  const at = skipBlank(text, from);
  return text.charCodeAt(at) === 0x2f ? skipBlank(text, at + 1) : -1;
}

/** Where the sent-protocol `SIP/2.0/` ends and the transport begins; -1 when it is another protocol. */
function skipProtocol(text: string): number {
  let at = skipWord(text, 0, 'SIP');
  if (at >= 0) at = skipSlash(text, at);
  if (at >= 0) at = skipWord(text, at, '2.0');
  return at < 0 ? -1 : skipSlash(text, at);
}

function tokenEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && isClass(text.charCodeAt(at), TOKEN)) at++;
  return at;
}

interface SentBy {
  host: string;
  port?: number;
  end: number;
}

function parseSentBy(text: string, from: number): SentBy | undefined {
  let end = from;
  if (text.charCodeAt(from) === 0x5b) {
    const close = text.indexOf(']', from);
    if (close < 0) return undefined;
    end = close + 1;
  } else end = tokenEnd(text, from);
  const host = text.slice(from, end).toLowerCase();
  if (!isHost(host)) return undefined;
  const colon = skipBlank(text, end);
  if (text.charCodeAt(colon) !== 0x3a) return { host, end };
  const portAt = skipBlank(text, colon + 1);
  const portEnd = tokenEnd(text, portAt);
  const port = parseDigits(text.slice(portAt, portEnd), 65535);
  return port === undefined ? undefined : { host, port, end: portEnd };
}

const withoutBrackets = (address: string): string =>
  address.startsWith('[') && address.endsWith(']') ? address.slice(1, -1) : address;

/** Reads one Via value; undefined when it is malformed or not SIP/2.0. Unknown transports are fine. */
export function parseVia(value: string): Via | undefined {
  const text = trimBlank(value);
  const transportAt = skipProtocol(text);
  if (transportAt < 0) return undefined;
  const transportEnd = tokenEnd(text, transportAt);
  const hostAt = skipBlank(text, transportEnd);
  if (transportEnd === transportAt || hostAt === transportEnd) return undefined;
  const sentBy = parseSentBy(text, hostAt);
  const params = sentBy && parseParameters(text, sentBy.end);
  if (sentBy === undefined || params === undefined) return undefined;
  const branch = param(params, 'branch');
  const received = param(params, 'received');
  const rport = param(params, 'rport');
  const rportNumber = typeof rport === 'string' && rport !== '' ? parseDigits(rport, 65535) : true;
  if (rportNumber === undefined) return undefined;
  return {
    transport: text.slice(transportAt, transportEnd).toUpperCase(),
    host: sentBy.host,
    ...(sentBy.port === undefined ? {} : { port: sentBy.port }),
    params,
    ...(typeof branch === 'string' ? { branch } : {}),
    ...(typeof received === 'string' ? { received: withoutBrackets(received) } : {}),
    ...(rport === undefined ? {} : { rport: rportNumber }),
    text,
  };
}

/** The text of a Via, made of its transport, host, port and `params` (not of the fields taken out of them). */
export function formatVia(via: Pick<Via, 'transport' | 'host' | 'port' | 'params'>): string {
  const port = via.port === undefined ? '' : `:${via.port}`;
  return `SIP/2.0/${via.transport} ${via.host}${port}${via.params.map(formatParameter).join('')}`;
}
