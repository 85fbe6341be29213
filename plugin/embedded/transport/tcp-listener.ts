import { createServer, type Server, type Socket } from 'node:net';
import { isIPv6 } from 'node:net';
import type { EntryAddress } from './flow';

/** The listening TCP socket of one entry address. */
export class TcpListener {
  readonly #server: Server;
  readonly #entry: EntryAddress;

  constructor(entry: EntryAddress, accept: (socket: Socket) => void, onError: (error: Error) => void) {
    this.#entry = entry;
    this.#server = createServer({ noDelay: true }, accept);
    this.#server.on('error', onError);
  }

  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      const { address } = this.#entry;
      this.#server.listen({ host: address, port, ipv6Only: isIPv6(address), exclusive: true }, () => {
        this.#server.off('error', reject);
        const bound = this.#server.address();
        resolve(typeof bound === 'object' && bound ? bound.port : port);
      });
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#server.listening) this.#server.close(() => resolve());
      else resolve();
    });
  }
}
