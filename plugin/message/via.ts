import { formatParameter, parseParameters, unquote, type Parameter } from './parameters';
import { scanElement } from './scan/address';
import { FLAG, VIA } from './scan/layout';
import { skipFoldBlank, trimEnd } from './scan/text';
import { unfold } from './unfold';

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

const withoutBrackets = (address: string): string =>
  address.startsWith('[') && address.endsWith(']') ? address.slice(1, -1) : address;

/** A Via out of its scanned record, which must be a valid one. */
export function viaFrom(text: string, table: Int32Array, at: number): Via {
  const pair = (field: number): string => text.slice(table[at + field], table[at + field + 1]);
  /** A parameter's value; undefined also for one without a value. */
  const value = (field: number): string | undefined => {
    if ((table[at + field] ?? -1) < 0) return undefined;
    const found = unfold(pair(field));
    return found.startsWith('"') ? unquote(found, 0, found.length) : found;
  };
  const port = table[at + VIA.PORT] ?? -1;
  const branch = value(VIA.BRANCH);
  const received = value(VIA.RECEIVED);
  const rport = value(VIA.RPORT);
  return {
    transport: pair(VIA.TRANSPORT).toUpperCase(),
    host: pair(VIA.HOST).toLowerCase(),
    ...(port < 0 ? {} : { port }),
    params: parseParameters(unfold(pair(VIA.PARAMS)), 0) ?? [],
    ...(branch === undefined ? {} : { branch }),
    ...(received === undefined ? {} : { received: withoutBrackets(received) }),
    ...(table[at + VIA.RPORT] === -1
      ? {}
      : { rport: rport === undefined || rport === '' ? true : Number(rport) }),
    text: unfold(pair(VIA.TEXT)),
  };
}

const record = new Int32Array(VIA.SIZE);

/** Reads one Via value; undefined when it is malformed or not SIP/2.0. Unknown transports are fine. */
export function parseVia(value: string): Via | undefined {
  if (value.includes('\r') || value.includes('\n')) return undefined;
  const from = skipFoldBlank(value, 0, value.length);
  scanElement(value, from, trimEnd(value, from, value.length), false, record, 0, true);
  return ((record[VIA.FLAGS] ?? 0) & FLAG.VALID) === 0 ? undefined : viaFrom(value, record, 0);
}

/** The text of a Via, made of its transport, host, port and `params` (not of the fields taken out of them). */
export function formatVia(via: Pick<Via, 'transport' | 'host' | 'port' | 'params'>): string {
  const port = via.port === undefined ? '' : `:${via.port}`;
  return `SIP/2.0/${via.transport} ${via.host}${port}${via.params.map(formatParameter).join('')}`;
}
