import { createSocket, type Socket } from 'node:dgram';
import type { Logger } from '../telemetry/logger';

/** A CANCEL that the SIP server got or sent, as its copy shows it. */
export interface CapturedCancel {
  readonly callId: string;
  /** Branch of its top Via, which is its INVITE's. */
  readonly branch: string;
}

/** The chunk of a HEP version 3 packet that holds the SIP message. */
const PAYLOAD = 15;
const CANCEL = Buffer.from('CANCEL ');

/**
 * Listens for the copies of all its SIP messages that drachtio-server sends to a capture agent (`--homer`, HEP version
 * 3), and tells of CANCELs: some of them the server tells nobody.
 */
export class CancelCapture {
  private readonly socket: Socket;

  /** @param port UDP port on loopback; one that can't be had is logged, and nothing is heard. */
  constructor(port: number, heard: (cancel: CapturedCancel) => void, log: Logger) {
    this.socket = createSocket('udp4');
    this.socket.on('error', (error) => {
      log.error({ err: error, port }, 'copies of SIP messages cannot be heard');
    });
    this.socket.on('message', (packet) => {
      const cancel = capturedCancel(packet);
      if (cancel !== undefined) heard(cancel);
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

/** The CANCEL in a HEP packet, if it holds one. */
export function capturedCancel(packet: Buffer): CapturedCancel | undefined {
  const payload = payloadOf(packet);
  if (payload === undefined || !payload.subarray(0, CANCEL.length).equals(CANCEL)) return undefined;
  const text = payload.toString('latin1');
  const callId = /\r\n(?:call-id|i)[ \t]*:[ \t]*(\S+)/i.exec(text)?.[1];
  const branch = /\r\n(?:via|v)[ \t]*:[^\r]*?;[ \t]*branch=([^;,\s]+)/i.exec(text)?.[1];
  return callId === undefined || branch === undefined ? undefined : { callId, branch };
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
