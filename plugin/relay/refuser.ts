import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6, type AddressInfo } from 'node:net';
import type { InboundRequest, ResponseSpec } from '../link/sip-link';
import { buildResponse } from '../message/build';
import { parseMessage } from '../message/parse';
import type { SipMessage } from '../message/sip-message';
import type { Logger } from '../telemetry/logger';
import { answerKills } from './server-traps';

const DEFAULT_ANSWER: ResponseSpec = { status: 400, reason: 'Contact Without Host' };
const EXPECTED_MS = 32_000;

/**
 * A UDP socket of our own, on loopback, that refuses what it gets. The SIP server can't answer an INVITE or
 * SUBSCRIBE whose Contact has no host without ending; it can proxy it here, and pass the refusal on.
 */
export class Refuser {
  private readonly expected = new Map<string, { spec: ResponseSpec; timer: NodeJS.Timeout }>();

  private constructor(
    private readonly socket: Socket,
    private readonly log: Logger,
  ) {
    socket.on('message', (bytes, from) => {
      this.refuse(bytes, from);
    });
    socket.on('error', (error) => {
      this.log.warn({ err: error }, 'the refuser has a socket error');
    });
    socket.unref();
  }

  /** Rejects with the system's error when no port of the address can be had. */
  static async open(log: Logger, address = '127.0.0.1'): Promise<Refuser> {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(0, address, resolve);
    });
    socket.removeAllListeners('error');
    return new Refuser(socket, log);
  }

  /** Where to proxy a request that is to be refused. */
  get uri(): string {
    const { address, port } = this.socket.address() satisfies AddressInfo;
    return `sip:${isIPv6(address) ? `[${address}]` : address}:${port}`;
  }

  /**
   * Answers a request, by way of this socket where an answer of the application's would end the server.
   * Only refusals (300 and more) can go that way.
   * @throws DsbcError as `SipLink.respond` does.
   */
  async answer(request: InboundRequest, spec: ResponseSpec): Promise<void> {
    const { link, message } = request;
    if (spec.status < 300 || !answerKills(message, link.capabilities)) {
      await link.respond(request, spec);
      return;
    }
    this.expect(message, spec);
    const outcome = await link.proxy(request, {
      targets: [{ uri: this.uri }],
      recordRoute: false,
      deadlineMs: EXPECTED_MS,
    });
    this.log.info({ callId: message.callId, status: spec.status, outcome: outcome.kind }, 'refused');
  }

  async close(): Promise<void> {
    for (const { timer } of this.expected.values()) clearTimeout(timer);
    this.expected.clear();
    await new Promise<void>((resolve) => this.socket.close(resolve));
  }

  private expect(message: SipMessage, spec: ResponseSpec): void {
    const key = keyOf(message);
    const timer = setTimeout(() => this.expected.delete(key), EXPECTED_MS);
    timer.unref();
    this.expected.set(key, { spec, timer });
  }

  private refuse(bytes: Buffer, from: RemoteInfo): void {
    const { message } = parseMessage(bytes);
    if (message?.kind !== 'request' || message.method === 'ACK') return;
    const isCancel = message.method === 'CANCEL';
    const spec = isCancel ? { status: 200 } : (this.expected.get(keyOf(message))?.spec ?? DEFAULT_ANSWER);
    try {
      const text = buildResponse(message, { ...spec, toTag: 'refused' });
      this.socket.send(Buffer.from(text, 'latin1'), from.port, from.address);
    } catch (error) {
      this.log.warn({ err: error, callId: message.callId }, 'a refusal could not be written');
    }
  }
}

const keyOf = (message: SipMessage): string =>
  `${message.callId ?? ''}\n${message.cseq?.number ?? ''} ${message.method}`;
