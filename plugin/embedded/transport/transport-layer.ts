import { connect, isIPv6, type Socket } from 'node:net';
import { getSystemErrorName } from 'node:util';
import type { Clock, Timer } from '../clock';
import type { Limits } from '../limits';
import type { Log } from '../log';
import {
  hostPort,
  refuse,
  SendError,
  type EntryAddress,
  type Flow,
  type Sent,
  type TransportName,
} from './flow';
import { TcpConnection, type ConnectionSink } from './tcp-connection';
import { TcpListener } from './tcp-listener';
import {
  isUnreachable,
  quotedRequest,
  type QuotedRequest,
  type UdpErrorQueue,
  type UdpErrorReport,
} from './udp-errors';
import { UdpSocket, type UdpSink } from './udp-socket';

export interface TransportSink {
  /** One message as it came; `broken` says why a stream can't be followed after it (the connection is then ended). */
  received(text: string, flow: Flow, broken?: string): void;
  /** A stream connection is gone, with what was sent by it; `reason` is for people. */
  flowClosed(flow: Flow, reason: string): void;
  /** A request sent to that port over UDP did not arrive. True if it was one that waits for its answer. */
  undelivered(
    request: QuotedRequest,
    to: { readonly address: string; readonly port: number },
    error: SendError,
  ): boolean;
}

interface Entry {
  address: EntryAddress;
  udp: UdpSocket | undefined;
  tcp: TcpListener | undefined;
}

/** What is known of datagrams that were not delivered, since the start. */
export interface DeliveryCounts {
  /** Requests that ended by it. */
  readonly undelivered: number;
  /** Reports of no request that waits, or that name none: late, forged, or cut too short. */
  readonly strayReports: number;
}

const SWEEP_MS = 1_000;
const PORT_TRIES = 20;

const peerKey = (entry: EntryAddress, address: string, port: number): string =>
  `${entry.address}|${entry.port}|${address}|${port}`;

/**
 * The sockets of all entry addresses. Messages leave from the socket of the entry address their flow names,
 * and a stream connection that is open to a peer is used again (RFC 3261 §18, RFC 5923).
 */
export class TransportLayer {
  readonly #entries: Entry[];
  readonly #sink: TransportSink;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #log: Log;
  readonly #errorQueue: (() => UdpErrorQueue) | undefined;
  readonly #connections = new Map<number, TcpConnection>();
  readonly #byPeer = new Map<string, TcpConnection>();
  readonly #perSource = new Map<string, number>();
  #nextConnection = 1;
  #sweep: Timer | undefined;
  #closing = false;
  #undelivered = 0;
  #strayReports = 0;

  constructor(
    entries: readonly EntryAddress[],
    environment: {
      sink: TransportSink;
      clock: Clock;
      limits: Limits;
      log: Log;
      /** Makes the error queue of one UDP socket; without it nothing is heard of what is not delivered. */
      errorQueue: (() => UdpErrorQueue) | undefined;
    },
  ) {
    this.#entries = entries.map((address) => ({ address, udp: undefined, tcp: undefined }));
    this.#sink = environment.sink;
    this.#clock = environment.clock;
    this.#limits = environment.limits;
    this.#log = environment.log;
    this.#errorQueue = environment.errorQueue;
  }

  /** The entry addresses, with their real ports once started. */
  get entries(): readonly EntryAddress[] {
    return this.#entries.map(({ address }) => address);
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  get deliveryCounts(): DeliveryCounts {
    return { undelivered: this.#undelivered, strayReports: this.#strayReports };
  }

  async start(): Promise<void> {
    for (const entry of this.#entries) await this.#open(entry);
    this.#armSweep();
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#sweep?.cancel();
    for (const connection of this.#connections.values()) connection.destroy();
    for (const { udp, tcp } of this.#entries) await Promise.all([udp?.close(), tcp?.close()]);
  }

  /** The entry address at this address and port, if it is ours. */
  entryAt(address: string, port: number | undefined): EntryAddress | undefined {
    return this.#entries.find(
      ({ address: own }) => own.address === address && (port === undefined || own.port === port),
    )?.address;
  }

  /** The first entry address that can reach an address of this family by this transport. */
  entryFor(transport: TransportName, address: string): EntryAddress | undefined {
    const ipv6 = isIPv6(address);
    return this.#entries.find(
      ({ address: own }) => own.transports.includes(transport) && isIPv6(own.address) === ipv6,
    )?.address;
  }

  /** True while a stream connection to that peer is open. */
  hasConnection(flow: Flow): boolean {
    return this.#connectionOf(flow) !== undefined;
  }

  send(flow: Flow, text: string, sent?: Sent): void {
    // A Via or URI may say port 0, which the sockets answer with an exception.
    if (flow.port < 1 || flow.port > 65_535) {
      refuse(sent, new SendError('refused', `no such port: ${flow.port}`));
      return;
    }
    if (flow.transport === 'udp') {
      const entry = this.#entryOf(flow);
      if (entry?.udp) entry.udp.send(flow, text, sent);
      else
        refuse(
          sent,
          new SendError('no_transport', `no UDP on ${hostPort(flow.entry.address, flow.entry.port)}`),
        );
      return;
    }
    const connection = this.#connectionOf(flow);
    if (connection) connection.send(text, sent);
    else if (flow.existingOnly) refuse(sent, new SendError('flow_failed', 'the connection is gone'));
    else this.#connect(flow, text, sent);
  }

  /** Ends a connection after what was written to it. */
  end(flow: Flow): void {
    if (flow.connection !== undefined) this.#connections.get(flow.connection)?.end();
  }

  #entryOf(flow: Flow): Entry | undefined {
    return this.#entries.find(
      ({ address }) =>
        address === flow.entry ||
        (address.address === flow.entry.address && address.port === flow.entry.port),
    );
  }

  #connectionOf(flow: Flow): TcpConnection | undefined {
    const own = flow.connection === undefined ? undefined : this.#connections.get(flow.connection);
    if (own?.open) return own;
    const known = this.#byPeer.get(peerKey(flow.entry, flow.address, flow.port));
    return known?.open ? known : undefined;
  }

  async #open(entry: Entry): Promise<void> {
    const { transports, port } = entry.address;
    for (let attempt = 1; ; attempt += 1) {
      try {
        let bound = port;
        if (transports.includes('udp')) {
          entry.udp = this.#udpSocket(entry);
          bound = await entry.udp.bind();
        }
        if (transports.includes('tcp')) {
          entry.tcp = this.#tcpListener(entry);
          bound = await entry.tcp.listen(bound);
        }
        entry.address = { ...entry.address, port: bound };
        entry.udp?.adopt(entry.address);
        return;
      } catch (error) {
        await Promise.all([entry.udp?.close(), entry.tcp?.close()]);
        // A port the kernel chose for UDP may be taken for TCP: choose again.
        if (port !== 0 || attempt === PORT_TRIES) throw error;
      }
    }
  }

  #udpSocket(entry: Entry): UdpSocket {
    const sink: UdpSink = {
      datagram: (text, flow) => this.#sink.received(text, flow),
      undelivered: (report) => this.#report(report),
      error: (error) => this.#log.error({ err: error, entry: entry.address }, 'UDP socket failed'),
    };
    return new UdpSocket(entry.address, sink, this.#errorQueue?.());
  }

  /** Only who saw our packet knows its branch, so nobody else can end a request by a made-up ICMP message. */
  #report(report: UdpErrorReport): void {
    const request = isUnreachable(report) ? quotedRequest(report.quote) : undefined;
    const { address, port } = report;
    const error = new SendError('refused', `${getSystemErrorName(-report.error)} ${hostPort(address, port)}`);
    const isOurs = request !== undefined && this.#sink.undelivered(request, report, error);
    if (isOurs) this.#undelivered += 1;
    else this.#strayReports += 1;
  }

  #tcpListener(entry: Entry): TcpListener {
    return new TcpListener(
      entry.address,
      (socket) => this.#accept(entry, socket),
      (error) => this.#log.error({ err: error, entry: entry.address }, 'TCP listener failed'),
    );
  }

  #accept(entry: Entry, socket: Socket): void {
    const { remoteAddress: address, remotePort: port } = socket;
    const count = address === undefined ? 0 : (this.#perSource.get(address) ?? 0);
    const full =
      this.#connections.size >= this.#limits.connections || count >= this.#limits.connectionsPerSource;
    if (this.#closing || address === undefined || port === undefined || full) {
      // Gone already, or one too many.
      socket.on('error', () => undefined);
      socket.destroy();
      return;
    }
    this.#perSource.set(address, count + 1);
    this.#adopt(socket, { entry: entry.address, address, port }, true);
  }

  #connect(flow: Flow, text: string, sent?: Sent): void {
    const full = this.#connections.size >= this.#limits.connections;
    if (this.#closing || full || this.#entryOf(flow)?.tcp === undefined) {
      refuse(
        sent,
        new SendError('no_transport', full ? 'too many connections' : 'no TCP on that entry address'),
      );
      return;
    }
    const { entry, address, port } = flow;
    const socket = connect({ host: address, port, localAddress: entry.address });
    this.#perSource.set(address, (this.#perSource.get(address) ?? 0) + 1);
    this.#adopt(socket, { entry, address, port }, false).send(text, sent);
  }

  #adopt(
    socket: Socket,
    peer: { entry: EntryAddress; address: string; port: number },
    connected: boolean,
  ): TcpConnection {
    const connection = new TcpConnection(this.#nextConnection++, socket, peer, connected, {
      clock: this.#clock,
      limits: this.#limits,
      sink: this.#connectionSink,
    });
    this.#connections.set(connection.id, connection);
    this.#byPeer.set(peerKey(peer.entry, peer.address, peer.port), connection);
    return connection;
  }

  readonly #connectionSink: ConnectionSink = {
    message: (text, connection) => this.#sink.received(text, connection.flow),
    broken: (reason, head, connection) => {
      this.#sink.received(head, connection.flow, reason);
      connection.end();
    },
    closed: (connection, cause) => {
      const { entry, address, port } = connection.flow;
      this.#connections.delete(connection.id);
      const key = peerKey(entry, address, port);
      if (this.#byPeer.get(key) === connection) this.#byPeer.delete(key);
      const left = (this.#perSource.get(address) ?? 1) - 1;
      if (left > 0) this.#perSource.set(address, left);
      else this.#perSource.delete(address);
      if (!this.#closing)
        this.#sink.flowClosed(connection.flow, cause?.message ?? 'the connection was closed');
    },
  };

  #armSweep(): void {
    this.#sweep = this.#clock.after(SWEEP_MS, () => {
      const now = this.#clock.now();
      for (const connection of this.#connections.values()) connection.checkAge(now);
      for (const { udp } of this.#entries) udp?.readErrors();
      this.#armSweep();
    });
  }
}
