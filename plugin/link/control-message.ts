import type { Transport, TransportAddress } from './sip-link';
import { TRANSPORTS } from './sip-link';

/** A SIP message the server passes on: `<id>|sip|<source>|<bytes>|<protocol>|<address>|<port>|<time>|<txn>|<dialog>|<local>…`. */
export interface SipFrame {
  readonly kind: 'sip';
  /** `network`, or `application` for what the server made by itself. */
  readonly origin: string;
  readonly from: TransportAddress;
  readonly transactionId: string;
  readonly dialogId: string;
  readonly receivedOn: { readonly address: string; readonly port: number } | undefined;
  /** The SIP message, byte for byte. */
  readonly bytes: Buffer;
}

/** The answer to a command of ours: `<id>|response|<for>|OK|…`. */
export interface ReplyFrame {
  readonly kind: 'response';
  readonly forId: string;
  readonly ok: boolean;
  /** What follows OK or NOK. */
  readonly tokens: readonly string[];
  /** More replies to the same command will come. */
  readonly more: boolean;
  /** The SIP message behind the first line, if there is one. */
  readonly bytes: Buffer | undefined;
}

export type ControlFrame =
  | SipFrame
  | ReplyFrame
  | { readonly kind: 'cdr' }
  /** Only a server with capabilities of its own sends these. */
  | { readonly kind: 'event'; readonly name: string; readonly tokens: readonly string[] }
  | { readonly kind: 'unknown'; readonly type: string };

const CR = 0x0d;

/** Reads one frame; never throws, whatever the bytes are. */
export function readFrame(frame: Buffer): ControlFrame {
  const end = frame.indexOf(CR);
  const tokens = frame.toString('latin1', 0, end === -1 ? frame.length : end).split('|');
  const bytes = end === -1 ? undefined : frame.subarray(end + 2);
  const type = tokens[1] ?? '';
  const at = (index: number): string => tokens[index] ?? '';
  if (type === 'sip') {
    return {
      kind: 'sip',
      origin: at(2),
      from: transportAddress(at(4), at(5), at(6)),
      transactionId: at(8),
      dialogId: at(9),
      receivedOn: at(10) === '' ? undefined : { address: unbracket(at(10)), port: portNumber(at(11)) },
      bytes: bytes ?? Buffer.alloc(0),
    };
  }
  if (type === 'response') {
    return {
      kind: 'response',
      forId: at(2),
      ok: at(3) === 'OK',
      tokens: tokens.slice(4),
      more: tokens.indexOf('continue', 4) !== -1,
      bytes,
    };
  }
  if (type.startsWith('cdr:')) return { kind: 'cdr' };
  if (type === 'event') return { kind: 'event', name: at(2), tokens: tokens.slice(3) };
  return { kind: 'unknown', type };
}

/** The sender of the message in a reply; empty when the server made the message up by itself. */
export function replySource(tokens: readonly string[]): TransportAddress {
  return transportAddress(tokens[2] ?? '', tokens[3] ?? '', tokens[4] ?? '');
}

export function transportAddress(protocol: string, address: string, port: string): TransportAddress {
  const transport = TRANSPORTS.find((known) => known === protocol.toLowerCase());
  return { transport: transport ?? 'udp', address: unbracket(address), port: portNumber(port) };
}

/** Reads what the server says it listens on: `udp/192.0.2.1:5060,tcp/[2001:db8::1]:5060`. */
export function readHostports(text: string): TransportAddress[] {
  const found: TransportAddress[] = [];
  for (const part of text.split(',')) {
    const match = /^(\w+)\/(.+):(\d+)$/.exec(part.trim());
    if (match?.[1] === undefined || match[2] === undefined || match[3] === undefined) continue;
    const transport: Transport | undefined = TRANSPORTS.find((known) => known === match[1]?.toLowerCase());
    if (transport) found.push({ transport, address: unbracket(match[2]), port: Number(match[3]) });
  }
  return found;
}

function unbracket(address: string): string {
  const bare = address.startsWith('[') && address.endsWith(']') ? address.slice(1, -1) : address;
  return bare.toLowerCase().startsWith('::ffff:') && bare.includes('.') ? bare.slice(7) : bare;
}

function portNumber(text: string): number {
  const port = Number(text);
  return Number.isInteger(port) && port > 0 && port < 65536 ? port : 5060;
}
