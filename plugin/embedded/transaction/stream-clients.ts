import type { Flow } from '../transport/flow';
import type { ClientTransaction } from './client-transaction';

const keyOf = ({ entry, address, port }: Flow): string => `${entry.address}|${entry.port}|${address}|${port}`;

/** The client transactions that went over streams, by the peer they went to. */
export class StreamClients {
  readonly #byPeer = new Map<string, Set<ClientTransaction>>();

  add(client: ClientTransaction): void {
    if (client.flow.transport === 'udp') return;
    const key = keyOf(client.flow);
    const known = this.#byPeer.get(key);
    if (known) known.add(client);
    else this.#byPeer.set(key, new Set([client]));
  }

  remove(client: ClientTransaction): void {
    if (client.flow.transport === 'udp') return;
    const key = keyOf(client.flow);
    const known = this.#byPeer.get(key);
    if (known?.delete(client) === true && known.size === 0) this.#byPeer.delete(key);
  }

  /** Those that went to the peer of a connection. */
  of(flow: Flow): readonly ClientTransaction[] {
    return [...(this.#byPeer.get(keyOf(flow)) ?? [])];
  }
}
