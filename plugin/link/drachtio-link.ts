import type { Socket } from 'node:net';
import { DsbcError } from '../errors';
import { parseMessage } from '../message/parse';
import type { MonotonicClock } from '../telemetry/clock';
import type { Logger } from '../telemetry/logger';
import { readCapabilities } from './capabilities';
import { SipCapture, type Captured } from './capture';
import { ClientOpening } from './client-opening';
import { CommandChannel } from './command-channel';
import {
  readFrame,
  readHostports,
  transportAddress,
  type ReplyFrame,
  type SipFrame,
} from './control-message';
import { Leg } from './leg';
import { LegTable } from './leg-table';
import type { LibrarySide } from './library';
import type { LinkTimes } from './link-times';
import { Listeners } from './listeners';
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
import { plainContact, transportOfUri } from './secure-contact';
import { methodOf, ServerRequests } from './server-requests';
import type { WireProtocol } from './srf';
import { WireGuard } from './wire-guard';

const SWEEP_INTERVAL_MS = 5000;
/** How often it is said that the server still refuses the secret. */
const REFUSED_INTERVAL_MS = 60_000;
/** Within this a CANCEL is told in the usual way, or what it was for has ended. */
const CANCEL_GRACE_MS = 200;

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
  private handler: ((request: InboundRequest) => void | Promise<void>) | undefined;
  private socket: Socket | undefined;
  private heartbeat: Heartbeat | undefined;
  readonly requests: ServerRequests;
  private readonly sweepTimer: NodeJS.Timeout;
  private refusedAt = -Infinity;
  private captured: SipCapture | undefined;
  private readonly graces = new Set<NodeJS.Timeout>();
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
    const { headers, nextHop, uri } = request;
    const contact = plainContact(
      transportOfUri(nextHop ?? uri),
      uri,
      headers,
      this.addresses,
      this.capabilities,
    );
    const text = ownRequestText({ ...request, headers: [...contact, ...headers] }, this.capabilities);
    const { socket } = this;
    if (socket === undefined) return lostOpening();
    this.channel.assertFits(text, this.capabilities);
    return new ClientOpening(text, request, {
      ...this.channel.ownPort(socket),
      knowsEarlyDialogs: this.capabilities.exactHeaders,
      leg: (id) => this.leg(id, socket),
    });
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

  async respondInDialog(request: InboundRequest, response: ResponseSpec): Promise<SipDialog> {
    const entry = this.requests.entryOf(request);
    let leg: Leg | undefined;
    // At once, not after a promise: the ACK or a BYE may be in the next frame already.
    await this.requests.give(request, response, (reply) => {
      const id = reply.tokens[7] ?? '';
      if (entry === undefined || id === '') return;
      leg = this.leg(id, entry.socket);
      const sent = reply.bytes && parseMessage(reply.bytes).message;
      if (sent) leg.learn(sent, 'sent');
      leg.openedBy = entry.serverId;
      entry.leg = leg;
      // Cancelled or refused while the answer that made it was on its way.
      if (entry.failed) leg.forget();
    });
    if (leg === undefined) {
      throw new DsbcError('DSBC_LINK_REFUSED', 'the SIP server made no dialog', {
        details: { link: this.name },
      });
    }
    return leg;
  }

  /**
   * Listens for copies of the server's SIP messages on a loopback port, to learn of CANCELs that it tells nobody: those
   * that come between its reading of a `proxy` command and its doing it.
   */
  capture(port: number): void {
    this.captured?.close();
    this.captured = new SipCapture(port, (message) => this.onCaptured(message), this.log);
  }

  onRequest(handler: (request: InboundRequest) => void | Promise<void>): void {
    this.handler = handler;
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
    this.captured?.close();
    for (const timer of this.graces) clearTimeout(timer);
    this.graces.clear();
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
    this.inbound.add(request);
    if (this.handler === undefined) {
      this.requests.giveUnasked(request, 503);
      return;
    }
    const failed = (error: unknown): void => {
      this.log.error({ err: error, callId: request.message.callId }, 'the request handler failed');
      this.requests.giveUnasked(request, 500);
    };
    try {
      const running = this.handler(request);
      if (running) running.catch(failed);
    } catch (error) {
      failed(error);
    }
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
        this.onSip(socket, frame, raw);
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
    this.log.info({ server: frame.tokens[1], addresses: frame.tokens[0] }, 'link up');
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

  private onSip(socket: Socket, frame: SipFrame, raw: Buffer): void {
    const leg = this.legs.get(frame.dialogId);
    if (frame.origin !== 'network') {
      const { message } = parseMessage(frame.bytes);
      if (leg && message?.method === 'BYE') leg.lose(message.get('reason') ?? 'ended by the SIP server');
      else if (this.channel.transactions.has(frame.transactionId)) this.channel.transactions.answer(frame);
      else this.library.pass(socket, raw);
      return;
    }
    const method = methodOf(frame.bytes);
    if (method.startsWith('SIP/')) {
      if (this.channel.transactions.has(frame.transactionId)) this.channel.transactions.answer(frame);
      else this.library.pass(socket, raw);
      return;
    }
    if (method === 'CANCEL') {
      this.onCancel(socket, frame, raw);
      return;
    }
    if (leg) {
      this.onLegRequest(socket, frame, leg, method);
      return;
    }
    if (this.legs.hasEnded(frame.dialogId)) {
      this.requests.refuseEnded(socket, frame, method);
      return;
    }
    if (this.library.shared || this.library.ownsDialog(socket, frame.dialogId)) {
      this.library.pass(socket, raw);
      return;
    }
    // An ACK or a PRACK that belongs to no dialog of ours can't be answered.
    if (method === 'ACK') return;
    const request = this.requests.read(socket, frame);
    if (request) this.deliver(request);
  }

  private onLegRequest(socket: Socket, frame: SipFrame, leg: Leg, method: string): void {
    const invite = this.inbound.get(frame.transactionId);
    const request = this.requests.read(socket, frame);
    if (request === undefined) return;
    // Before the final answer the server gives an UPDATE the transaction id of its INVITE.
    if (method === 'UPDATE' && invite !== undefined) request.becomeEarlyUpdate();
    if (method === 'ACK') request.settled = true;
    else this.inbound.add(request);
    this.protect(() => leg.deliver(request));
  }

  private leg(id: string, socket: Socket): Leg {
    return this.legs.leg(id, () => {
      return new Leg(id, socket, {
        link: this,
        sendAndForget: (on, text) => {
          this.channel.sendAndForget(on, text);
        },
        run: (leg, text, request) => {
          const { cancel, signal, onProvisional } = request;
          // drachtio-server knows an INVITE inside a dialog by the transaction that opened the dialog.
          const cancelledBy = this.capabilities.exactHeaders ? undefined : leg.openedBy;
          const own = {
            uri: 'sip:placeholder',
            timeoutMs: request.timeoutMs,
            ...(cancel === undefined ? {} : { cancel }),
            ...(cancelledBy === undefined ? {} : { cancelledBy }),
            ...(signal === undefined ? {} : { signal }),
          };
          const port = this.channel.ownPort(leg.socket);
          return runOwnRequest(text, own, this.capabilities, port, onProvisional);
        },
        gone: (gone) => {
          this.legs.end(gone, this.now());
        },
      });
    });
  }

  private onCancel(socket: Socket, frame: SipFrame, raw: Buffer): void {
    const request = this.inbound.get(frame.transactionId);
    if (request === undefined) {
      this.library.cancel(socket, frame, raw);
      return;
    }
    this.library.forget(request, 'cancelled');
    // The server has answered 487 by itself; a proxied one goes on until its outcome is told.
    if (!request.proxied) this.inbound.remove(request);
    request.failed = true;
    request.leg?.forget();
    this.tellCancelled(request);
  }

  private onCaptured(message: Captured): void {
    const { branch } = message;
    const request = this.inbound.invite(branch);
    if (request === undefined) return;
    if (message.kind === 'relayed') {
      request.relayed = true;
      return;
    }
    const { callId } = message;
    if (request.cancelled || request.message.callId !== callId) return;
    const timer = setTimeout(() => {
      this.graces.delete(timer);
      if (request.cancelled || this.inbound.invite(branch) !== request) return;
      this.log.info({ callId }, 'a CANCEL that the SIP server has told nobody');
      this.tellCancelled(request);
    }, CANCEL_GRACE_MS);
    this.graces.add(timer);
  }

  private tellCancelled(request: Inbound): void {
    for (const fault of request.cancel()) {
      this.log.error({ err: fault, callId: request.message.callId }, 'a CANCEL listener failed');
    }
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
      this.protect(() => leg.lose('the link to the SIP server was lost'));
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

  private protect(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.log.error({ err: error }, 'a link listener failed');
    }
  }
}

const lostOpening = (): Opening => ({
  outcome: Promise.resolve({ kind: 'link_lost' }),
  early: undefined,
  cancel: () => undefined,
  abandon: () => undefined,
});
