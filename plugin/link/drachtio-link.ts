import type { Socket } from 'node:net';
import type { MonotonicClock } from '../telemetry/clock';
import type { Logger } from '../telemetry/logger';
import { readCapabilities, serverName } from './capabilities';
import { Cancels } from './cancels';
import { CommandChannel } from './command-channel';
import { readFrame, readHostports, transportAddress, type ReplyFrame } from './control-message';
import { DialogCreation } from './dialog-creation';
import { LegTable } from './leg-table';
import type { LibrarySide } from './library';
import type { LinkTimes } from './link-times';
import { Listeners, protect } from './listeners';
import { Heartbeat } from './heartbeat';
import { type Inbound, InboundTable } from './inbound-request';
import { ownRequestText, runOwnRequest } from './own-request';
import type { DialogLink, Opening, OpeningRequest, SipDialog } from './sip-dialog';
import {
  DRACHTIO_CAPABILITIES,
  type ClientOutcome,
  type ClientRequest,
  type InboundRequest,
  type LinkCapabilities,
  type LinkLoad,
  type LinkState,
  type ProxyOptions,
  type ProxyOutcome,
  type ResponseSpec,
  type TransportAddress,
} from './sip-link';
import { ServerMessages } from './server-messages';
import { ServerRequests } from './server-requests';
import type { WireProtocol } from './srf';
import { WireGuard } from './wire-guard';

const SWEEP_INTERVAL_MS = 5000;
/** How often it is said that the server still refuses the secret. */
const REFUSED_INTERVAL_MS = 60_000;

/** The link of one drachtio-srf agent, over whatever connection it has at the moment. */
export class DrachtioLink implements DialogLink {
  state: LinkState = 'connecting';
  capabilities: LinkCapabilities = DRACHTIO_CAPABILITIES;
  addresses: readonly TransportAddress[] = [];
  bound: readonly TransportAddress[] = [];
  trouble: string | undefined;
  private readonly channel: CommandChannel;
  private readonly inbound = new InboundTable();
  private readonly legs = new LegTable();
  private readonly stateListeners: Listeners<LinkState>;
  private readonly flowListeners: Listeners<TransportAddress>;
  private socket: Socket | undefined;
  private heartbeat: Heartbeat | undefined;
  readonly requests: ServerRequests;
  private readonly cancels: Cancels;
  private readonly creation: DialogCreation;
  private readonly messages: ServerMessages;
  private readonly sweepTimer: NodeJS.Timeout;
  private refusedAt = -Infinity;
  /** Only of an application's connection: takes our routes back. */
  private takeBack: ((send: (command: string) => Promise<void>) => Promise<void>) | undefined;
  private closing: Promise<void> | undefined;

  constructor(
    readonly name: string,
    private readonly library: LibrarySide,
    private readonly times: LinkTimes,
    private readonly log: Logger,
    private readonly now: MonotonicClock,
    private readonly secretName = 'the secret given to srf.connect',
  ) {
    this.channel = new CommandChannel(name, times.requestTimeoutMs, log);
    this.stateListeners = new Listeners(log);
    this.flowListeners = new Listeners(log);
    this.requests = new ServerRequests({
      addresses: () => this.addresses,
      link: this,
      channel: this.channel,
      table: this.inbound,
      library,
      capabilities: () => this.capabilities,
      now,
      log,
    });
    this.cancels = new Cancels(this.inbound, library, log);
    this.creation = new DialogCreation({
      link: this,
      channel: this.channel,
      requests: this.requests,
      legs: this.legs,
      socket: () => this.socket,
      now,
    });
    this.messages = new ServerMessages({
      requests: this.requests,
      inbound: this.inbound,
      legs: this.legs,
      cancels: this.cancels,
      transactions: this.channel.transactions,
      library,
      log,
    });
    this.sweepTimer = setInterval(() => {
      this.sweep();
    }, SWEEP_INTERVAL_MS);
    this.sweepTimer.unref();
  }

  /** Guards the library's wire; to be called once, as soon as the library has made it. */
  attach(wire: WireProtocol): void {
    const options = { log: this.log, ...this.times, libraryText: this.library.libraryText };
    const guard = WireGuard.of(wire, options, {
      frame: (socket, frame) => {
        this.onFrame(socket, frame);
      },
      down: (socket) => {
        this.onDown(socket);
      },
      failed: (why) => {
        this.trouble = why;
      },
    });
    this.channel.guard = guard;
    this.trouble = undefined;
    if (this.state === 'closed' && !this.library.shared) guard.close();
  }

  get control(): string | undefined {
    const { host, port } = this.library.agent.wp ?? {};
    return host === undefined || port === undefined ? undefined : `${host}:${port}`;
  }

  get dialogs(): number {
    return this.legs.size;
  }

  get load(): LinkLoad {
    return {
      commands: this.channel.pending.size,
      clientTransactions: this.channel.transactions.size,
      inboundRequests: this.inbound.size,
    };
  }

  /** The connection is an application's, and stays so: closing this link takes back what is ours and nothing else. */
  share(takeBack: (send: (command: string) => Promise<void>) => Promise<void>): void {
    this.takeBack = takeBack;
  }

  /** Takes over connections made before the link was; they count as authenticated if the library says so. */
  takeOverConnections(): void {
    for (const [socket, record] of this.library.agent.mapServer) {
      this.channel.guard?.takeOver(socket);
      if (!record.authenticated) continue;
      this.addresses = readHostports(record.hostport ?? '');
      this.bound = readHostports(record.localHostports ?? '');
      this.onUp(socket);
    }
  }

  /** Gives a request back to the application it is shared with. */
  release(request: Inbound): void {
    this.inbound.remove(request);
  }

  async request(request: ClientRequest): Promise<ClientOutcome> {
    const text = ownRequestText(request, this.capabilities);
    const { socket } = this;
    if (socket === undefined) return { kind: 'link_lost' };
    this.channel.assertFits(text, this.capabilities);
    if (request.signal?.aborted === true) return { kind: 'aborted' };
    return runOwnRequest(text, request, this.capabilities, this.channel.ownPort(socket));
  }

  openDialog(request: OpeningRequest): Opening {
    return this.creation.open(request);
  }

  proxy(request: InboundRequest, options: ProxyOptions): Promise<ProxyOutcome> {
    return this.requests.proxy(request, options);
  }

  async respond(request: InboundRequest, response: ResponseSpec): Promise<void> {
    await this.requests.give(request, response);
  }

  drop(request: InboundRequest, retransmissions: 'swallow' | 'take' = 'swallow'): void {
    this.requests.drop(request, retransmissions);
  }

  respondInDialog(request: InboundRequest, response: ResponseSpec): Promise<SipDialog> {
    return this.creation.respond(request, response);
  }

  /** Listens for copies of the server's SIP messages on a loopback port, to learn of CANCELs that it tells nobody. */
  capture(port: number): void {
    this.cancels.capture(port);
  }

  onRequest(handler: (request: InboundRequest) => void | Promise<void>): void {
    this.messages.onRequest(handler);
  }

  onState(listener: (state: LinkState) => void): void {
    this.stateListeners.add(listener);
  }

  onFlowClosed(listener: (flow: TransportAddress) => void): void {
    this.flowListeners.add(listener);
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    await this.giveBack();
    clearInterval(this.sweepTimer);
    this.cancels.close();
    const socket = this.socket;
    if (!this.library.shared) this.channel.guard?.close();
    this.setState('closed');
    if (socket) this.onDown(socket);
    // Lets the sockets' own close events pass, so that nothing of the link runs after this.
    await new Promise((resolve) => setImmediate(resolve));
  }

  private async giveBack(): Promise<void> {
    const { socket } = this;
    const send = (command: string): Promise<void> =>
      socket === undefined ? Promise.resolve() : this.channel.command(socket, command);
    try {
      await this.takeBack?.(send);
    } catch (error) {
      this.log.warn({ err: error }, 'the SIP server did not take our routes back');
    }
  }

  /** Gives a request to the handler; what that throws, or rejects with, is answered 500. */
  deliver(request: Inbound): void {
    this.messages.deliver(request);
  }

  private onFrame(socket: Socket, raw: Buffer): void {
    const frame = readFrame(raw);
    switch (frame.kind) {
      case 'unknown':
        this.channel.guard?.reset(socket, `a frame of unknown type '${frame.type.slice(0, 20)}'`);
        return;
      case 'event':
        if (frame.name === 'flow_closed') this.onFlowEvent(frame.tokens);
        return;
      case 'cdr':
        this.library.pass(socket, raw);
        return;
      case 'response':
        this.onReply(socket, frame, raw);
        return;
      case 'sip':
        this.messages.take(socket, frame, raw);
    }
  }

  private onReply(socket: Socket, frame: ReplyFrame, raw: Buffer): void {
    this.channel.guard?.replied(socket, frame.forId);
    if (this.channel.pending.settle(frame)) return;
    const record = this.library.agent.mapServer.get(socket);
    const authenticating = record?.authenticated === false && record.pendingRequests.has(frame.forId);
    this.library.pass(socket, raw);
    if (!authenticating) return;
    if (this.state === 'closed') {
      // The application goes on alone.
      if (frame.ok) this.channel.guard?.authenticated(socket);
      return;
    }
    if (!frame.ok) {
      this.sayRefused();
      this.channel.guard?.reset(socket, `it refused the secret (${this.secretName})`, 'debug');
      return;
    }
    this.addresses = readHostports(frame.tokens[0] ?? '');
    this.bound = readHostports(frame.tokens[2] ?? '');
    this.capabilities = readCapabilities(frame.tokens[3]);
    const [addresses, version, , said = ''] = frame.tokens;
    this.log.info({ server: serverName(version, said), addresses }, 'link up');
    this.onUp(socket);
  }

  /** One line, not one for each reconnection. */
  private sayRefused(): void {
    const now = this.now();
    if (now - this.refusedAt < REFUSED_INTERVAL_MS) return;
    this.refusedAt = now;
    this.log.error(
      { code: 'DSBC_LINK_AUTH', setting: this.secretName },
      'the SIP server refused the secret; trying on',
    );
  }

  private onFlowEvent(tokens: readonly string[]): void {
    this.flowListeners.tell(transportAddress(tokens[0] ?? '', tokens[1] ?? '', tokens[2] ?? ''));
  }

  private onUp(socket: Socket): void {
    this.channel.guard?.authenticated(socket);
    this.socket = socket;
    this.trouble = undefined;
    if (this.capabilities.flowClosedEvents) this.channel.sendAndForget(socket, 'route|flow_closed');
    this.heartbeat?.stop();
    this.heartbeat = new Heartbeat(
      socket,
      this.channel.pending,
      this.times,
      (text) => this.channel.guard?.send(socket, text) ?? '',
      () => this.channel.guard?.reset(socket, 'no answer to a ping'),
    );
    this.setState('connected');
  }

  private onDown(socket: Socket): void {
    this.channel.lose(socket);
    this.inbound.lose(socket);
    for (const leg of this.legs.on(socket)) {
      protect(this.log, () => leg.lose('the link to the SIP server was lost'));
    }
    if (this.socket !== socket) return;
    this.socket = undefined;
    this.heartbeat?.stop();
    this.heartbeat = undefined;
    if (this.state !== 'closed') {
      this.log.warn({}, 'link lost');
      this.setState('lost');
    }
  }

  private sweep(): void {
    this.legs.sweep(this.now());
    for (const request of this.inbound.sweep(this.now())) {
      this.library.forget(request, 'dropped');
      this.log.warn({ callId: request.message.callId, method: request.message.method }, 'never answered');
    }
  }

  private setState(state: LinkState): void {
    if (this.state === state) return;
    this.state = state;
    this.stateListeners.tell(state);
  }
}
