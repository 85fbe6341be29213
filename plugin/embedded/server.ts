import { randomBytes } from 'node:crypto';
import { systemClock, type Clock } from './clock';
import { capabilityToken, PROTOCOL_VERSION } from './control/capabilities';
import { ControlServer } from './control/control-server';
import { AnswerCommand } from './core/answer-command';
import { ApplicationRequests } from './core/application-requests';
import { FlowFinder } from './core/flow-finder';
import { OwnRequests } from './core/own-requests';
import { ProxyCommand } from './core/proxy-command';
import { RequestSorter, type MalformedMessage, type SorterCounts } from './core/request-sorter';
import { Self } from './core/self';
import { ClientDialogs } from './dialog/client-dialogs';
import { DialogTable } from './dialog/dialog-table';
import { ServerDialogs } from './dialog/server-dialogs';
import { DEFAULT_LIMITS, type Limits } from './limits';
import { silentLog, type Log } from './log';
import { BranchSeal } from './proxy/branch-seal';
import { DialogSeal } from './proxy/dialog-seal';
import { InDialogForwarder, type FlowOfToken } from './proxy/in-dialog';
import { NextHops, systemResolver, type Resolver } from './proxy/next-hop';
import { forwardStrayAnswer } from './proxy/stray-answer';
import { TransactionLayer, type TransactionCounts } from './transaction/transaction-layer';
import { hostPort, type EntryAddress, type Flow, type SendError } from './transport/flow';
import { TransportLayer, type DeliveryCounts } from './transport/transport-layer';
import type { QuotedRequest, UdpErrorQueue } from './transport/udp-errors';

/** A flow as the token of a Record-Route names it. */
export interface TokenFlow {
  /** The entry address the flow belongs to. */
  readonly entry: { readonly address: string; readonly port: number };
  readonly transport: 'udp' | 'tcp';
  readonly address: string;
  readonly port: number;
}

export interface EmbeddedOptions {
  /** The entry addresses; port 0 lets the kernel choose one. */
  readonly addresses: readonly EntryAddress[];
  readonly control: {
    /** The address applications connect to; by default loopback only. */
    readonly host?: string;
    /** 0 lets the kernel choose. */
    readonly port: number;
    readonly secret: string;
  };
  readonly logger?: Log;
  /** Told of each message that is malformed, which no application gets: for a log that does not flood. */
  readonly onMalformed?: (message: MalformedMessage) => void;
  readonly clock?: Clock;
  readonly limits?: Partial<Limits>;
  readonly resolver?: Resolver;
  /**
   * Makes the error queue of a UDP socket, by which a request to a closed port fails at once (RFC 3261 §18.4). Without it
   * such a request ends by its timer.
   */
  readonly errorQueue?: () => UdpErrorQueue;
  /**
   * Secrets that bind Record-Route to a dialog and Via to a request: the first one is used, all are accepted. Servers
   * that share them forward in-dialog requests, and answers to requests in progress, for each other. By default a random
   * one: then dialogs on path and ringing calls end with the process.
   */
  readonly routeKeys?: readonly (string | Uint8Array)[];
  /** The capabilities told to applications; default: all. With none it is taken for a drachtio-server. */
  readonly told?: readonly string[];
  /** Checks the user part of our Record-Route and says which flow it names; undefined when it is not valid. */
  readonly verifyFlow?: (user: string) => TokenFlow | undefined;
}

export interface EmbeddedCounts extends TransactionCounts, SorterCounts, DeliveryCounts {
  /** Requests that wait for an application or are being proxied. */
  readonly pending: number;
  /** Requests of applications that have no final answer yet. */
  readonly own: number;
  /** Dialogs of applications. */
  readonly dialogs: number;
  readonly connections: number;
}

export interface EmbeddedServer {
  readonly controlPort: number;
  /** The entry addresses with their real ports. */
  readonly addresses: readonly EntryAddress[];
  /** What it holds and has seen, for metrics and tests. */
  counts(): EmbeddedCounts;
  /** Closes all sockets and ends all timers; idempotent. */
  close(): Promise<void>;
}

/**
 * Starts an embedded SIP server. Rejects with the system's error (`EADDRINUSE`, `EADDRNOTAVAIL`, …) when a
 * port can't be had; nothing is left open then.
 */
export async function startEmbeddedServer(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const server = new Server(options);
  try {
    return await server.start();
  } catch (error) {
    await server.close();
    throw error;
  }
}

const hostports = (entries: readonly EntryAddress[]): string =>
  entries
    .flatMap(({ transports, address, port }) =>
      transports.map((name) => `${name}/${hostPort(address, port)}`),
    )
    .join(',');

/** Wires the layers. */
class Server implements EmbeddedServer {
  readonly #options: EmbeddedOptions;
  readonly #log: Log;
  readonly #transport: TransportLayer;
  readonly #transactions: TransactionLayer;
  readonly #control: ControlServer;
  readonly #requests: ApplicationRequests;
  readonly #own: OwnRequests;
  readonly #sorter: RequestSorter;
  readonly #serverDialogs: ServerDialogs;
  readonly #dialogTable: DialogTable;
  #controlPort = 0;
  #closed: Promise<void> | undefined;

  constructor(options: EmbeddedOptions) {
    this.#options = options;
    const clock = options.clock ?? systemClock;
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#log = options.logger ?? silentLog;
    const environment = { clock, limits, log: this.#log };
    this.#transport = new TransportLayer(options.addresses, {
      ...environment,
      errorQueue: options.errorQueue,
      sink: {
        received: (text, flow, broken) => this.#received(text, flow, broken),
        flowClosed: (flow, reason) => this.#flowClosed(flow, reason),
        undelivered: (request, to, error) => this.#undelivered(request, to, error),
      },
    });
    const send = this.#transport.send.bind(this.#transport);
    const self = new Self(() => this.#transport.entries);
    const finder = new FlowFinder(this.#transport, new NextHops(options.resolver ?? systemResolver, clock));
    const keys = options.routeKeys ?? [randomBytes(32)];
    const seal = new DialogSeal(keys);
    const branches = new BranchSeal(keys);
    this.#requests = new ApplicationRequests(clock);
    const inDialog = new InDialogForwarder({
      self,
      seal,
      branches,
      flowOfToken: this.#flowOfToken,
      flowTo: (uri, from) => finder.toUri(uri, { entry: from.entry }),
      send,
      refuse: (inbound, status, reason) => this.#sorter.refuse(inbound, status, reason),
    });
    const table = new DialogTable(limits.dialogs);
    const clientDialogs = new ClientDialogs({
      table,
      send,
      flowTo: (uri, from) => finder.toUri(uri, from),
      sendForgotten: (request, flow) => {
        this.#transactions.send(request, flow, { answer: () => undefined, failed: () => undefined });
      },
    });
    this.#serverDialogs = new ServerDialogs({
      clock,
      table,
      requests: this.#requests,
      transactions: () => this.#transactions,
      refuse: (inbound, status, reason) => this.#sorter.refuse(inbound, status, reason),
      hangUp: (dialog, reason) => clientDialogs.hangUp(dialog, reason),
    });
    this.#dialogTable = table;
    const answers = new AnswerCommand(this.#requests, this.#serverDialogs);
    const proxies = new ProxyCommand(
      this.#requests,
      ({ flow: cameBy }, wish) => ({
        clock,
        self,
        branches,
        flowTo: (target) => finder.toTarget(target, cameBy, wish),
        send: (outgoing, flow, user) => this.#transactions.send(outgoing, flow, user),
        sendStray: send,
      }),
      { seal, flowOfToken: this.#flowOfToken },
    );
    this.#own = new OwnRequests({
      flowTo: (hop, wish) => finder.toHop(hop, wish),
      isOwnUri: (uri) => self.isOwnUri(uri),
      send: (outgoing, flow, user, patience) => this.#transactions.send(outgoing, flow, user, patience),
      dialogs: clientDialogs,
      branches,
    });
    this.#control = new ControlServer({
      ...environment,
      secret: options.control.secret,
      welcome: () => {
        const ports = hostports(this.#transport.entries);
        return `${ports}|${PROTOCOL_VERSION}|${ports}|${capabilityToken(options.told)}`;
      },
      handler: {
        sip: (command, application) => {
          if (command.text.startsWith('SIP/')) answers.run(command, application);
          else this.#own.run(command, application);
        },
        proxy: (command, application) => proxies.run(command, application),
        gone: (application) => {
          this.#requests.applicationGone(application);
          this.#own.applicationGone(application);
          this.#serverDialogs.applicationGone(application);
        },
      },
    });
    this.#sorter = new RequestSorter({
      send,
      self,
      routes: this.#control.routes,
      requests: this.#requests,
      inDialog,
      dialogs: this.#serverDialogs,
      transactions: () => this.#transactions,
      forwardStray: (inbound) =>
        forwardStrayAnswer(inbound, {
          self,
          branches,
          send,
          entryFor: (transport, address) => this.#transport.entryFor(transport, address),
        }),
      malformed: (message) => options.onMalformed?.(message),
    });
    this.#transactions = new TransactionLayer({ send, clock, limits, sink: this.#sorter });
  }

  get controlPort(): number {
    return this.#controlPort;
  }

  get addresses(): readonly EntryAddress[] {
    return this.#transport.entries;
  }

  async start(): Promise<this> {
    const { host = '127.0.0.1', port } = this.#options.control;
    await this.#transport.start();
    this.#controlPort = await this.#control.listen(host, port);
    this.#log.info(
      { addresses: this.addresses, controlPort: this.#controlPort },
      'embedded SIP server started',
    );
    return this;
  }

  counts(): EmbeddedCounts {
    return {
      ...this.#transactions.counts,
      ...this.#sorter.counts,
      ...this.#transport.deliveryCounts,
      pending: this.#requests.count,
      own: this.#own.count,
      dialogs: this.#dialogTable.count,
      connections: this.#transport.connectionCount,
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#control.close();
    this.#serverDialogs.close();
    this.#requests.close();
    this.#transactions.close();
    await this.#transport.close();
  }

  /** Nothing a sender can write may end the process. */
  #received(text: string, flow: Flow, broken?: string): void {
    try {
      this.#sorter.received(text, flow, broken);
    } catch (error) {
      this.#log.error({ err: error, source: flow.address }, 'message failed');
    }
  }

  #undelivered(
    request: QuotedRequest,
    to: { readonly address: string; readonly port: number },
    error: SendError,
  ): boolean {
    try {
      return this.#transactions.undelivered(request, to, error);
    } catch (failure) {
      this.#log.error({ err: failure }, 'a request that was not delivered failed badly');
      return true;
    }
  }

  #flowClosed(flow: Flow, reason: string): void {
    const { transport, address, port, entry } = flow;
    this.#transactions.flowClosed(flow, reason);
    for (const application of this.#control.routes.all('flow_closed'))
      application.tell(`event|flow_closed|${transport}|${address}|${port}|${entry.address}|${entry.port}`);
  }

  readonly #flowOfToken: FlowOfToken = (user) => {
    const named = this.#options.verifyFlow?.(user);
    const entry = named && this.#transport.entryAt(named.entry.address, named.entry.port);
    return named && entry && { transport: named.transport, entry, address: named.address, port: named.port };
  };
}
