import { createSocket, type Socket } from 'node:dgram';
import { connect, type Socket as TcpSocket } from 'node:net';
import { isIPv6 } from 'node:net';
import { parseMessage } from '../../plugin/message/parse';
import type { SipMessage } from '../../plugin/message/sip-message';
import { responseText } from '../../plugin/embedded/wire/text';

/** Something that talks SIP over UDP, for tests: it keeps what it receives and answers by script. */
export class UdpPeer {
  readonly received: SipMessage[] = [];
  readonly from: { address: string; port: number }[] = [];
  readonly raw: Buffer[] = [];
  onMessage: ((message: SipMessage, from: { address: string; port: number }) => void) | undefined;
  readonly #socket: Socket;
  readonly #address: string;

  private constructor(socket: Socket, address: string) {
    this.#socket = socket;
    this.#address = address;
    socket.on('message', (data, from) => {
      const parsed = parseMessage(data);
      if (!parsed.message) return;
      this.raw.push(data);
      this.received.push(parsed.message);
      this.from.push({ address: from.address, port: from.port });
      this.onMessage?.(parsed.message, from);
    });
  }

  static open(address = '127.0.0.1', port = 0): Promise<UdpPeer> {
    return new Promise((resolve) => {
      const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
      socket.bind(port, address, () => resolve(new UdpPeer(socket, address)));
    });
  }

  get port(): number {
    return this.#socket.address().port;
  }

  get address(): string {
    return this.#address;
  }

  get host(): string {
    return `${isIPv6(this.#address) ? `[${this.#address}]` : this.#address}:${this.port}`;
  }

  send(text: string | Buffer, to: { address: string; port: number }): void {
    const bytes = typeof text === 'string' ? Buffer.from(text, 'latin1') : text;
    this.#socket.send(bytes, to.port, to.address);
  }

  /** Answers every request with one status (and a 100 or 180 first, if asked). */
  answerWith(status: number, extra: string[] = [], body = ''): void {
    this.onMessage = (message, from) => {
      if (message.kind === 'request' && message.method !== 'ACK')
        this.send(answerTo(message, status, extra, body), from);
    };
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(resolve));
  }
}

export function answerTo(request: SipMessage, status: number, extra: string[] = [], body = ''): string {
  const lines = request.headers.filter(({ key }) =>
    ['via', 'from', 'call-id', 'cseq', 'record-route'].includes(key),
  );
  const to = request.get('to') ?? '';
  const toLine = { name: 'To', value: to.includes('tag=') || status === 100 ? to : `${to};tag=peer` };
  const more = extra.map((line) => {
    const colon = line.indexOf(':');
    return { name: line.slice(0, colon), value: line.slice(colon + 1).trim() };
  });
  return responseText(status, 'Test', [...lines, toLine, ...more], body);
}

let sequence = 0;

/** A request in its plainest form; lines given replace those of the same name. */
export function requestOf(
  method: string,
  uri: string,
  sentBy: string,
  options: {
    callId?: string;
    branch?: string;
    lines?: string[];
    body?: string;
    toTag?: string;
    fromTag?: string;
    cseq?: number;
    transport?: string;
  } = {},
): string {
  sequence += 1;
  const { body = '', lines = [], cseq = 1, transport = 'UDP' } = options;
  const head = [
    `${method} ${uri} SIP/2.0`,
    `Via: SIP/2.0/${transport} ${sentBy};rport;branch=${options.branch ?? `z9hG4bKtest${sequence}.${process.pid}`}`,
    'Max-Forwards: 70',
    `From: <sip:1001@example.com>;tag=${options.fromTag ?? 'caller'}`,
    `To: <sip:1002@example.com>${options.toTag === undefined ? '' : `;tag=${options.toTag}`}`,
    `Call-ID: ${options.callId ?? `call${sequence}.${process.pid}`}`,
    `CSeq: ${cseq} ${method}`,
    ...lines,
    `Content-Length: ${Buffer.byteLength(body, 'latin1')}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** Waits until something is true; fails after so many milliseconds. */
export async function until(what: () => boolean, milliseconds = 3_000): Promise<void> {
  const end = performance.now() + milliseconds;
  while (!what()) {
    if (performance.now() > end) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A TCP client that keeps the bytes it got. */
export class TcpPeer {
  readonly socket: TcpSocket;
  data = '';
  closed = false;

  private constructor(socket: TcpSocket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.data += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
    });
  }

  static open(to: { address: string; port: number }): Promise<TcpPeer> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: to.address, port: to.port });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new TcpPeer(socket)));
    });
  }

  get sentBy(): string {
    return `${this.socket.localAddress}:${this.socket.localPort}`;
  }

  send(text: string | Buffer): void {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
  }

  close(): void {
    this.socket.destroy();
  }
}
