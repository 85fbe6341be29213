import { createSocket, type Socket } from 'node:dgram';
import type { Logger } from '../telemetry/logger';

/** A CANCEL that the SIP server got or sent, as its copy shows it. */
export interface CapturedCancel {
  readonly callId: string;
  /** Branch of its top Via, which is its INVITE's. */
  readonly branch: string;
}

/** What a copy tells. */
export type Captured =
  | ({ readonly kind: 'cancel' } & CapturedCancel)
  /** An INVITE with two Vias: the one with this branch, which a proxy got, was sent on. */
  | { readonly kind: 'relayed'; readonly branch: string };

/** The chunk of a HEP version 3 packet that holds the SIP message. */
const PAYLOAD = 15;
const CANCEL = Buffer.from('CANCEL ');
const INVITE = Buffer.from('INVITE ');

/**
 * Listens for the copies of all its SIP messages that drachtio-server sends to a capture agent (`--homer`, HEP version
 * 3), and tells of CANCELs, some of which the server tells nobody, and of INVITEs that it has sent on: one thread of it
 * sends and copies, so that a CANCEL which it gets after that finds a proxied call.
 */
export class SipCapture {
  private readonly socket: Socket;

  /** @param port UDP port on loopback; one that can't be had is logged, and nothing is heard. */
  constructor(port: number, heard: (message: Captured) => void, log: Logger) {
    this.socket = createSocket('udp4');
    this.socket.on('error', (error) => {
      log.error({ err: error, port }, 'copies of SIP messages cannot be heard');
    });
    this.socket.on('message', (packet) => {
      const message = captured(packet);
      if (message !== undefined) heard(message);
    });
    this.socket.bind(port, '127.0.0.1', () => {
      try {
        // A burst of copies must not be lost; what the kernel allows will do.
        this.socket.setRecvBufferSize(4 * 1024 * 1024);
      } catch {
        // It stays as it is.
      }
    });
    this.socket.unref();
  }

  close(): void {
    this.socket.close();
  }
}

/** What the copy in a HEP packet tells; undefined: nothing of interest. */
export function captured(packet: Buffer): Captured | undefined {
  const payload = payloadOf(packet);
  if (payload === undefined) return undefined;
  if (payload.subarray(0, INVITE.length).equals(INVITE)) {
    const branch = branches(payload.toString('latin1'))[1];
    return branch === undefined ? undefined : { kind: 'relayed', branch };
  }
  if (!payload.subarray(0, CANCEL.length).equals(CANCEL)) return undefined;
  const text = payload.toString('latin1');
  const callId = /\r\n(?:call-id|i)[ \t]*:[ \t]*(\S+)/i.exec(text)?.[1];
  const branch = branches(text)[0];
  return callId === undefined || branch === undefined ? undefined : { kind: 'cancel', callId, branch };
}

/** The branches of the Vias, topmost first; `''` where a Via has none. */
function branches(text: string): string[] {
  const end = text.indexOf('\r\n\r\n');
  const vias = (end < 0 ? text : text.slice(0, end)).matchAll(/\r\n(?:via|v)[ \t]*:([^\r]*)/gi);
  return [...vias]
    .flatMap(([, line = '']) => line.split(','))
    .map((via) => /;[ \t]*branch=([^;,\s]+)/i.exec(via)?.[1] ?? '');
}

/** HEP3: 4 bytes of magic, the whole length, then chunks of vendor, type, length (with its 6 bytes) and data. */
function payloadOf(packet: Buffer): Buffer | undefined {
  if (packet.length < 6 || packet.toString('latin1', 0, 4) !== 'HEP3') return undefined;
  let at = 6;
  while (at + 6 <= packet.length) {
    const size = packet.readUInt16BE(at + 4);
    if (size < 6 || at + size > packet.length) return undefined;
    if (packet.readUInt16BE(at) === 0 && packet.readUInt16BE(at + 2) === PAYLOAD)
      return packet.subarray(at + 6, at + size);
    at += size;
  }
  return undefined;
}
