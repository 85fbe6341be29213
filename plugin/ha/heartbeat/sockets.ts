import type { Socket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { lookup, type LookupOneOptions } from 'node:dns';
import { isIP, isIPv6, SocketAddress } from 'node:net';
import type { Logger } from '../../telemetry/logger';
import type { GroupMessage } from '../group/message';
import type { HeartbeatLink } from './statistics';
import { HeartbeatStatistics } from './statistics';
import { Strangers } from './strangers';
import { decode, encode } from './wire';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface HeartbeatOptions {
  readonly group: string;
  readonly instance: string;
  readonly key: string;
  /** Our own ends; a link without one is not used. */
  readonly listen: Readonly<Partial<Record<HeartbeatLink, Endpoint>>>;
  readonly peers: readonly {
    readonly id: string;
    readonly links: Readonly<Partial<Record<HeartbeatLink, Endpoint>>>;
  }[];
  readonly onMessage: (message: GroupMessage) => void;
  /** A message under our own name: our own, or that of another instance that has it as well. */
  readonly onTwin: (message: GroupMessage, address: string) => void;
  /** No link is open any more, or the first one is. */
  readonly onHearing: (on: boolean) => void;
  readonly now: () => number;
  readonly log: Logger;
}

/** An address may come up after us: binding is tried again this often. */
const BIND_RETRY_MS = 1000;
/** Room for what comes in while this thread does not run. */
const RECEIVE_BUFFER_BYTES = 1 << 18;

/**
 * The heartbeat sockets, one per link, unicast to every peer. A link that cannot be bound or sent on is counted and
 * tried again; the others go on.
 */
export class HeartbeatSockets {
  readonly statistics: HeartbeatStatistics;
  private readonly strangers = new Strangers();
  private readonly sockets = new Map<HeartbeatLink, Socket>();
  private readonly retries = new Map<HeartbeatLink, NodeJS.Timeout>();
  private closed = false;
  private hears = true;
  /** Datagrams read so far, of any kind. */
  private datagrams = 0;
  private readonly failing = new Set<string>();

  constructor(private readonly options: HeartbeatOptions) {
    const links = Object.keys(options.listen) as HeartbeatLink[];
    this.statistics = new HeartbeatStatistics(
      options.peers.map(({ id }) => id),
      links,
    );
  }

  /** Resolves when each link is bound or has failed once. */
  async open(): Promise<void> {
    const links = Object.entries(this.options.listen) as [HeartbeatLink, Endpoint][];
    await Promise.all(links.map(([link, endpoint]) => this.bind(link, endpoint)));
  }

  /** Instances of the group that are not listed, heard within `forMs`. */
  unlisted(forMs: number): readonly string[] {
    return this.strangers.lately(this.options.now(), forMs);
  }

  /** Sends over every link that both sides have, and back to those that sent without being listed. */
  send(message: GroupMessage, to: readonly string[]): void {
    const bytes = encode(this.options.group, message, this.options.key);
    for (const peer of this.options.peers) {
      if (!to.includes(peer.id)) continue;
      for (const [link, socket] of this.sockets) {
        const target = peer.links[link];
        if (target === undefined) continue;
        socket.send(bytes, target.port, target.host, (error) => this.noteSend(link, peer.id, error));
      }
    }
    for (const { id, link, host, port } of this.strangers.toAnswer())
      this.sockets.get(link)?.send(bytes, port, host, (error) => this.noteSend(link, id, error));
  }

  /** Resolves when what waited in the sockets has been read: two turns of the loop that bring nothing new. */
  async drain(): Promise<void> {
    for (let quiet = 0; quiet < 2 && !this.closed;) {
      const before = this.datagrams;
      await new Promise((resolve) => setImmediate(resolve));
      quiet = this.datagrams === before ? quiet + 1 : 0;
    }
  }

  close(): void {
    this.closed = true;
    for (const timer of this.retries.values()) clearTimeout(timer);
    for (const socket of this.sockets.values()) socket.close();
    this.sockets.clear();
  }

  private bind(link: HeartbeatLink, endpoint: Endpoint): Promise<void> {
    const { log } = this.options;
    const socket = createSocket({ type: isIPv6(endpoint.host) ? 'udp6' : 'udp4', lookup: atOnce });
    return new Promise((resolve) => {
      socket.on('error', (error) => {
        log.warn({ link, ...endpoint, err: error }, 'heartbeat link failed, tried again');
        this.sockets.delete(link);
        socket.close();
        this.noteHearing();
        if (!this.closed) {
          this.retries.set(
            link,
            setTimeout(() => void this.bind(link, endpoint), BIND_RETRY_MS),
          );
        }
        resolve();
      });
      socket.on('message', (bytes, { address, port }) => this.receive(link, bytes, address, port));
      socket.bind({ address: endpoint.host, port: endpoint.port, exclusive: true }, () => {
        if (this.closed) {
          socket.close();
          resolve();
          return;
        }
        socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
        this.sockets.set(link, socket);
        this.noteHearing();
        resolve();
      });
    });
  }

  private noteHearing(): void {
    const hears = this.sockets.size > 0;
    if (this.closed || hears === this.hears) return;
    this.hears = hears;
    this.options.onHearing(hears);
  }

  private receive(link: HeartbeatLink, bytes: Buffer, address: string, port: number): void {
    this.datagrams += 1;
    const { group, instance, key, now, peers, onMessage, onTwin } = this.options;
    const decoded = decode(group, bytes, key);
    if (!decoded.ok) {
      this.statistics.reject(decoded.why);
      if (decoded.why !== 'forged') return;
      const peer = peers.find(({ links }) => canonical(links[link]?.host ?? '') === canonical(address));
      if (peer !== undefined) this.statistics.countForged(peer.id, now());
      return;
    }
    const { message } = decoded;
    if (message.from === instance) onTwin(message, address);
    if (!peers.some(({ id }) => id === message.from)) {
      this.statistics.reject('foreign');
      if (message.from !== instance) this.strangers.heard(message, { link, host: address, port }, now());
      return;
    }
    this.statistics.count(link, message, now());
    onMessage(message);
  }

  /** The first failure of a path is logged, and its end; what lies between is only counted by the peer as loss. */
  private noteSend(link: HeartbeatLink, peer: string, error: Error | null): void {
    const path = `${link} ${peer}`;
    if (error === null) {
      if (this.failing.delete(path)) this.options.log.info({ link, peer }, 'heartbeats can be sent again');
    } else if (!this.failing.has(path)) {
      this.failing.add(path);
      this.options.log.warn({ link, peer, err: error }, 'heartbeats cannot be sent');
    }
  }
}

/**
 * An address needs no look-up. Node's own would put off its answer, and with it the datagram, until all promises are done: the
 * lease that is to be renewed behind a heartbeat was renewed before it.
 */
function atOnce(
  host: string,
  options: LookupOneOptions,
  callback: (error: NodeJS.ErrnoException | null, address: string, family: number) => void,
): void {
  const family = isIP(host);
  if (family === 0) lookup(host, options, callback);
  else callback(null, host, family);
}

const canonical = (host: string): string =>
  isIPv6(host) ? new SocketAddress({ address: host, family: 'ipv6' }).address : host;
