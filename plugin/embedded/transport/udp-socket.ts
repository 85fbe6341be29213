import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { refuse, SendError, type EntryAddress, type Flow, type Sent } from './flow';

export interface UdpSink {
  datagram(text: string, flow: Flow): void;
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

/** The UDP socket of one entry address. */
export class UdpSocket {
  readonly #socket: Socket;
  #entry: EntryAddress;
  #open = false;

  constructor(entry: EntryAddress, sink: UdpSink) {
    this.#entry = entry;
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
      if (this.#open) sink.error(error);
    });
  }

  /** Binds; gives the port, which the kernel chose when the entry says 0. */
  bind(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#socket.once('error', reject);
      this.#socket.bind({ address: this.#entry.address, port: this.#entry.port, exclusive: true }, () => {
        this.#socket.off('error', reject);
        this.#open = true;
        // Room for bursts; the kernel cuts it to its own limit (net.core.rmem_max).
        this.#socket.setRecvBufferSize(4 * 1024 * 1024);
        this.#socket.setSendBufferSize(1024 * 1024);
        resolve(this.#socket.address().port);
      });
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
    this.#socket.send(Buffer.from(text, 'latin1'), flow.port, flow.address, (error) => {
      if (!error) sent?.();
      else {
        const tooBig = (error as NodeJS.ErrnoException).code === 'EMSGSIZE';
        refuse(sent, new SendError(tooBig ? 'too_big' : 'refused', error.message, error));
      }
    });
  }

  close(): Promise<void> {
    if (!this.#open) return Promise.resolve();
    this.#open = false;
    return new Promise((resolve) => this.#socket.close(resolve));
  }
}
