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
/** The same for a node that takes longer to answer: if its port is closed, the network says so as quickly as anybody's. */
const SLOW_PATIENCE_MS = 15;
const ASK_TIMEOUT_MS = 2000;
/** More than anybody has nodes and servers. */
const MAX_NODES = 1000;

interface Node {
  heardAt: number;
  asking: Promise<Presence> | undefined;
  askedAt: number;
  /** It does not answer OPTIONS, or not in time: nobody waits for its answer any more, but for a refusal. */
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
  /** Ends the waiting of each request that waits. */
  readonly #waiting = new Set<() => void>();
  #suspended = false;

  constructor(
    private readonly ask: AskNode,
    private readonly now: MonotonicClock,
  ) {}

  /** While suspended every node is taken to be there: nothing is asked, and what waits goes at once. */
  suspend(suspended: boolean): void {
    this.#suspended = suspended;
    if (suspended) for (const release of [...this.#waiting]) release();
  }

  /**
   * Takes no longer than 70 ms, 15 ms where a node is known to answer late; one that does not say no in that time is taken
   * to be there.
   */
  async refuses(server: string, target: RelayTarget): Promise<boolean> {
    // Endpoints and peers are nobody's to probe.
    if (this.#suspended || target.system === undefined || target.site === undefined) return false;
    const node = this.#node(keyOf(server, target));
    if (node.asking === undefined) {
      if (this.now() - node.heardAt < FRESH_MS) return false;
      node.askedAt = this.now();
      node.asking = this.#asked(node, server, target.uri);
    }
    return (await this.#within(node, node.asking)) === 'refused';
  }

  /** What the node says in the time that is left of its patience, which begins with the OPTIONS. */
  async #within(node: Node, asking: Promise<Presence>): Promise<Presence> {
    const { slow, askedAt } = node;
    const left = askedAt + (slow ? SLOW_PATIENCE_MS : PATIENCE_MS) - this.now();
    if (left <= 0) return 'silent';
    let end = (): void => undefined;
    const released = new Promise<Presence>((resolve) => {
      end = () => resolve('silent');
    });
    const timer = setTimeout(() => {
      node.slow = true;
      end();
    }, left);
    this.#waiting.add(end);
    const presence = await Promise.race([asking, released]);
    clearTimeout(timer);
    this.#waiting.delete(end);
    return presence;
  }

  /** A node that has just answered a request need not be asked. */
  heard(server: string, target: RelayTarget): void {
    const node = this.#nodes.get(keyOf(server, target));
    if (node !== undefined) node.heardAt = this.now();
  }

  #node(key: string): Node {
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const made: Node = {
      heardAt: Number.NEGATIVE_INFINITY,
      asking: undefined,
      askedAt: Number.NEGATIVE_INFINITY,
      slow: false,
    };
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
