import { LRUCache } from 'lru-cache';
import type { MonotonicClock } from '../telemetry/clock';
import type { RelayTarget } from './relay';

/** What a node said to an OPTIONS: it was refused (ICMP, TCP reset), it answered, or nothing came. */
export type Presence = 'refused' | 'there' | 'silent';

/** Sends one OPTIONS from a SIP server to a node. Settles within the time-out. */
export type AskNode = (server: string, uri: string, timeoutMs: number) => Promise<Presence>;

/** Milliseconds for which an answer holds, to an OPTIONS or to anything else: so often a node is asked at most. */
const FRESH_MS = 50;
/** Milliseconds a request waits for a refusal; one from the same network comes within the round trip. */
const PATIENCE_MS = 70;
const ASK_TIMEOUT_MS = 2000;
/** More than anybody has nodes and servers. */
const MAX_NODES = 1000;

interface Node {
  heardAt: number;
  asking: Promise<Presence> | undefined;
  /** It does not answer OPTIONS, or not in time: nobody waits for it any more. */
  slow: boolean;
}

const keyOf = (server: string, { uri }: RelayTarget): string => `${server} ${uri}`;

/**
 * Whether a node refuses what is sent to it, found out by an OPTIONS before a request is handed to a SIP server that tells
 * of refusals for its own transactions only: for a proxied INVITE drachtio-server waits out its timer, and a proxied request
 * of another method is lost without a word. One OPTIONS to a node at a time, shared by all that wait.
 */
export class NodeCheck {
  readonly #nodes = new LRUCache<string, Node>({ max: MAX_NODES });

  constructor(
    private readonly ask: AskNode,
    private readonly now: MonotonicClock,
  ) {}

  /** Takes no longer than 70 ms; a node that does not say no in that time is taken to be there. */
  async refuses(server: string, target: RelayTarget): Promise<boolean> {
    // Endpoints and peers are nobody's to probe.
    if (target.system === undefined || target.site === undefined) return false;
    const node = this.#node(keyOf(server, target));
    if (node.asking === undefined) {
      if (this.now() - node.heardAt < FRESH_MS) return false;
      node.asking = this.#asked(node, server, target.uri);
    }
    if (node.slow) return false;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<Presence>((resolve) => {
      timer = setTimeout(() => {
        node.slow = true;
        resolve('silent');
      }, PATIENCE_MS);
    });
    const presence = await Promise.race([node.asking, patience]);
    clearTimeout(timer);
    return presence === 'refused';
  }

  /** A node that has just answered a request need not be asked. */
  heard(server: string, target: RelayTarget): void {
    const node = this.#nodes.get(keyOf(server, target));
    if (node !== undefined) node.heardAt = this.now();
  }

  #node(key: string): Node {
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const made: Node = { heardAt: Number.NEGATIVE_INFINITY, asking: undefined, slow: false };
    this.#nodes.set(key, made);
    return made;
  }

  async #asked(node: Node, server: string, uri: string): Promise<Presence> {
    const start = this.now();
    let presence: Presence = 'silent';
    try {
      presence = await this.ask(server, uri, ASK_TIMEOUT_MS);
    } catch {
      // Nothing is known then.
    }
    const end = this.now();
    node.asking = undefined;
    node.slow = presence === 'silent' || end - start > PATIENCE_MS;
    // A refusal is news only once: what comes next asks again.
    node.heardAt = presence === 'there' ? end : Number.NEGATIVE_INFINITY;
    return presence;
  }
}
