import { createSocket, type Socket } from 'node:dgram';
import { closeSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { getSystemErrorName } from 'node:util';
import { refuse, SendError, type EntryAddress, type Flow, type Sent } from './flow';
import { REPORTS_AT_ONCE, type UdpErrorQueue, type UdpErrorReport } from './udp-errors';

export interface UdpSink {
  datagram(text: string, flow: Flow): void;
  /** A datagram that was sent did not arrive. */
  undelivered(report: UdpErrorReport): void;
  error(error: Error): void;
}

/** Addresses are always literal here, so the socket need not ask a resolver for each packet. */
const literal = (
  host: string,
  _options: unknown,
  callback: (error: null, address: string, family: number) => void,
): void => {
  callback(null, host, isIPv6(host) ? 6 : 4);
};

const SHORTEST_MESSAGE = 20;

/** How often a datagram is sent again because another one's error stood in its way. */
const RETRIES = 3;
/** What the kernel says to a send when an earlier datagram, wherever it went, was not delivered (ip(7), IP_RECVERR). */
const FOREIGN_ERRORS = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENONET',
  'ENOPROTOOPT',
  'EOPNOTSUPP',
  'EACCES',
  'EPROTO',
  'EMSGSIZE',
]);

const codeOf = (error: Error): string => (error as NodeJS.ErrnoException).code ?? '';

/** The UDP socket of one entry address. With an error queue it hears of datagrams that were not delivered. */
export class UdpSocket {
  readonly #socket: Socket;
  readonly #sink: UdpSink;
  readonly #errors: UdpErrorQueue | undefined;
  #entry: EntryAddress;
  #open = false;
  #moreErrors: NodeJS.Immediate | undefined;

  constructor(entry: EntryAddress, sink: UdpSink, errors?: UdpErrorQueue) {
    this.#entry = entry;
    this.#sink = sink;
    this.#errors = errors;
    const ipv6 = isIPv6(entry.address);
    this.#socket = createSocket({ type: ipv6 ? 'udp6' : 'udp4', ipv6Only: ipv6, lookup: literal });
    this.#socket.on('message', (data, from) => {
      // Keep-alives (CRLF, zeros) and scraps: nothing that short is a message.
      if (data.length < SHORTEST_MESSAGE) return;
      const first = data[0] ?? 0;
      if (first <= 32 || first >= 127) return;
      sink.datagram(data.toString('latin1'), {
        transport: 'udp',
        entry: this.#entry,
        address: from.address,
        port: from.port,
      });
    });
    this.#socket.on('error', (error) => {
      if (!this.#open) return;
      if (this.#errors === undefined || !FOREIGN_ERRORS.has(codeOf(error))) sink.error(error);
      this.readErrors();
    });
  }

  /** Binds; gives the port, which the kernel chose when the entry says 0. */
  bind(): Promise<number> {
    return new Promise((resolve, reject) => {
      const { address, port } = this.#entry;
      const bound = (): void => {
        this.#socket.off('error', reject);
        this.#open = true;
        this.#errors?.adopted();
        // Room for bursts; the kernel cuts it to its own limit (net.core.rmem_max).
        this.#socket.setRecvBufferSize(4 * 1024 * 1024);
        this.#socket.setSendBufferSize(1024 * 1024);
        resolve(this.#socket.address().port);
      };
      this.#socket.once('error', reject);
      if (this.#errors === undefined) {
        this.#socket.bind({ address, port, exclusive: true }, bound);
        return;
      }
      const fd = this.#errors.open(address, port);
      if (fd < 0) {
        reject(systemError('bind', fd, address, port));
        return;
      }
      try {
        this.#socket.bind({ fd, exclusive: true }, bound);
      } catch (error) {
        closeSync(fd);
        throw error;
      }
    });
  }

  /** The entry address with its final port, once known. */
  adopt(entry: EntryAddress): void {
    this.#entry = entry;
  }

  send(flow: Flow, text: string, sent?: Sent): void {
    if (!this.#open) {
      refuse(sent, new SendError('no_transport', 'the UDP socket is closed'));
      return;
    }
    this.#send(Buffer.from(text, 'latin1'), flow, sent, this.#errors === undefined ? 0 : RETRIES);
  }

  /**
   * Reads what became of earlier datagrams. It is called whenever the socket says that there is something; called once more
   * now and then it makes sure that nothing is left, since libuv is woken up for it without end.
   */
  readErrors(): void {
    if (!this.#open || this.#errors === undefined) return;
    const reports = this.#errors.read();
    for (const report of reports) this.#sink.undelivered(report);
    if (reports.length < REPORTS_AT_ONCE) return;
    clearImmediate(this.#moreErrors);
    this.#moreErrors = setImmediate(() => this.readErrors());
  }

  close(): Promise<void> {
    this.#errors?.close();
    if (!this.#open) return Promise.resolve();
    this.#open = false;
    clearImmediate(this.#moreErrors);
    return new Promise((resolve) => this.#socket.close(resolve));
  }

  #send(bytes: Buffer, flow: Flow, sent: Sent | undefined, retries: number): void {
    this.#socket.send(bytes, flow.port, flow.address, (error) => {
      if (!error) {
        sent?.();
        return;
      }
      this.readErrors();
      if (retries > 0 && this.#open && FOREIGN_ERRORS.has(codeOf(error))) {
        this.#send(bytes, flow, sent, retries - 1);
        return;
      }
      const failure = codeOf(error) === 'EMSGSIZE' ? 'too_big' : 'refused';
      refuse(sent, new SendError(failure, error.message, error));
    });
  }
}

function systemError(syscall: string, errno: number, address: string, port: number): Error {
  const code = getSystemErrorName(errno);
  return Object.assign(new Error(`${syscall} ${code} ${address}:${port}`), {
    code,
    errno,
    syscall,
    address,
    port,
  });
}
