import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { InboundRequest } from '../link/sip-link';
import { buildRequest } from '../message/build';
import type { Logger } from '../telemetry/logger';

/** Milliseconds between two CANCELs: T1, doubled up to T2 (RFC 3261 §17.1.2.1). */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 4000;
/** 64 × T1: what has not ended by then ends by itself. */
const GIVE_UP_MS = 32_000;

/**
 * Repeats a caller's CANCEL to the SIP server. drachtio-server forgets a CANCEL that comes between an INVITE's
 * arrival and the `proxy` command for it: the next site would ring for ever. The same CANCEL again, with the
 * INVITE's own branch, then finds the proxied call.
 * One window stays: between its reading of the command and its proxying the server tells a CANCEL to nobody.
 */
export class CancelInjector {
  private readonly sockets = new Map<'udp4' | 'udp6', Socket>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private closed = false;

  constructor(private readonly log: Logger) {}

  /** Sends CANCEL for an INVITE the server handed over, again and again until `done` says so. */
  inject(request: InboundRequest, done: () => boolean): void {
    const text = cancelText(request);
    const { address, port } = request.receivedOn;
    if (text === undefined || address === '') return;
    this.log.info({ callId: request.message.callId }, 'repeating a CANCEL to the SIP server');
    let pause = FIRST_PAUSE_MS;
    let waited = 0;
    const again = (): void => {
      if (this.closed || done() || waited > GIVE_UP_MS) return;
      this.send(text, address, port);
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        again();
      }, pause);
      this.timers.add(timer);
      waited += pause;
      pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
    };
    again();
  }

  close(): void {
    this.closed = true;
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
    for (const socket of this.sockets.values()) socket.close();
    this.sockets.clear();
  }

  private send(text: string, address: string, port: number): void {
    const type = isIPv6(address) ? 'udp6' : 'udp4';
    let socket = this.sockets.get(type);
    if (socket === undefined) {
      socket = createSocket(type);
      // The server's answers to the CANCEL come here and say nothing.
      socket.on('message', () => undefined);
      socket.on('error', (error) => {
        this.log.warn({ err: error }, 'a CANCEL could not be repeated');
      });
      socket.unref();
      this.sockets.set(type, socket);
    }
    socket.send(Buffer.from(text, 'latin1'), port, address);
  }
}

/** The CANCEL of an INVITE (RFC 3261 §9.1): its Request-URI, top Via, From, To, Call-ID and CSeq number. */
function cancelText({ message }: InboundRequest): string | undefined {
  const { via, cseq } = message;
  if (via?.branch === undefined || cseq === undefined) return undefined;
  const port = via.port === undefined ? '' : `:${via.port}`;
  return buildRequest({
    method: 'CANCEL',
    uri: message.uri,
    headers: [
      ['Via', `SIP/2.0/UDP ${via.host}${port};branch=${via.branch};rport`],
      ['Max-Forwards', '70'],
      ['From', message.get('from') ?? ''],
      ['To', message.get('to') ?? ''],
      ['Call-ID', message.callId ?? ''],
      ['CSeq', `${cseq.number} CANCEL`],
    ],
  });
}
