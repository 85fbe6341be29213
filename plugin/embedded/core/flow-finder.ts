import { isIPv6 } from 'node:net';
import type { SipUri } from '../../message/uri';
import { asSipUri, type NextHop, type NextHops } from '../proxy/next-hop';
import { plainAddress, type EntryAddress, type Flow } from '../transport/flow';
import type { TransportLayer } from '../transport/transport-layer';

/** What the application wishes about the way. */
export interface FlowWish {
  /** The entry address to leave from, `address:port`. */
  readonly entry: string | undefined;
  /** Over a stream only by a connection that is open now. */
  readonly existingOnly: boolean;
}

type Found = Flow | undefined | Promise<Flow | undefined>;

/** Finds the flow to a URI: its next hop, and the entry address to leave from. */
export class FlowFinder {
  readonly #transport: TransportLayer;
  readonly #hops: NextHops;

  constructor(transport: TransportLayer, hops: NextHops) {
    this.#transport = transport;
    this.#hops = hops;
  }

  /** For a target of a proxied request: from the entry address it came in on, unless the application says another. */
  toTarget(target: string, cameBy: Flow, wish: FlowWish): Found {
    const uri = asSipUri(target);
    const entry = wish.entry === undefined ? cameBy.entry : this.#named(wish.entry);
    return uri && entry && this.toUri(uri, { entry, existingOnly: wish.existingOnly });
  }

  /** For a request of an application. */
  toHop(hop: SipUri, wish: FlowWish): Found {
    const entry = wish.entry === undefined ? undefined : this.#named(wish.entry);
    if (wish.entry !== undefined && !entry) return undefined;
    return this.toUri(hop, { ...(entry && { entry }), existingOnly: wish.existingOnly });
  }

  /** From that entry address if it can reach the next hop, else from the first that can. */
  toUri(uri: SipUri, from: { readonly entry?: EntryAddress; readonly existingOnly?: boolean }): Found {
    const hop = this.#hops.find(uri);
    return hop instanceof Promise ? hop.then((found) => this.#flow(found, from)) : this.#flow(hop, from);
  }

  #flow(
    hop: NextHop | undefined,
    from: { readonly entry?: EntryAddress; readonly existingOnly?: boolean },
  ): Flow | undefined {
    if (!hop) return undefined;
    const { transport, address, port } = hop;
    const fits = from.entry?.transports.includes(transport) && isIPv6(from.entry.address) === isIPv6(address);
    const entry = fits ? from.entry : this.#transport.entryFor(transport, address);
    if (!entry) return undefined;
    return { transport, entry, address, port, ...(from.existingOnly ? { existingOnly: true } : {}) };
  }

  #named(text: string): EntryAddress | undefined {
    const colon = text.lastIndexOf(':');
    return this.#transport.entryAt(plainAddress(text.slice(0, colon)), Number(text.slice(colon + 1)));
  }
}
