import type { Socket } from 'node:net';
import { DsbcError } from '../errors';
import { reasonPhrase } from '../message/build';
import { parseMessage } from '../message/parse';
import type { SipMessage } from '../message/sip-message';
import type { MonotonicClock } from '../telemetry/clock';
import type { Logger } from '../telemetry/logger';
import type { CommandChannel } from './command-channel';
import { proxyCommand, sipCommand } from './command-text';
import type { ReplyFrame, SipFrame } from './control-message';
import { formsDialog, hasHostlessContact } from './hostless-contact';
import { Inbound, type InboundTable } from './inbound-request';
import type { LibrarySide } from './library';
import { dropOrder, proxyOrders, withoutOrders } from './orders';
import { ProxiedRequest } from './proxied-request';
import { plainContact } from './secure-contact';
import type {
  HeaderLine,
  InboundRequest,
  LinkCapabilities,
  ProxyOptions,
  ProxyOutcome,
  ResponseSpec,
  SipLink,
  Transport,
  TransportAddress,
} from './sip-link';

export interface ServerRequestsParts {
  readonly link: SipLink;
  readonly channel: CommandChannel;
  readonly table: InboundTable;
  readonly library: LibrarySide;
  readonly capabilities: () => LinkCapabilities;
  /** What the server listens on. */
  readonly addresses: () => readonly TransportAddress[];
  readonly now: MonotonicClock;
  readonly log: Logger;
}

/** drachtio-server calls a WebSocket connection `tcp`: which it is tells the port it came in on. */
function transportOf({ from, receivedOn }: SipFrame, addresses: readonly TransportAddress[]): Transport {
  if (from.transport === 'udp' || receivedOn === undefined) return from.transport;
  const { address, port } = receivedOn;
  const listener = addresses.find(
    (one) => one.transport !== 'udp' && one.address === address && one.port === port,
  );
  return listener?.transport ?? from.transport;
}

/** Requests the SIP server received: reading them, and the ways to end them (answer, proxy, drop). */
export class ServerRequests {
  constructor(private readonly parts: ServerRequestsParts) {}

  /** Builds the link's view of a request, or answers 400 when its bytes can't be read. */
  read(socket: Socket, frame: SipFrame): Inbound | undefined {
    const parsed = parseMessage(frame.bytes);
    if (parsed.ok) {
      return new Inbound(
        frame.transactionId,
        this.parts.link,
        parsed.message,
        { ...frame.from, transport: transportOf(frame, this.parts.addresses()) },
        frame.receivedOn ?? { address: '', port: 5060 },
        socket,
        this.parts.now(),
        frame.dialogId,
      );
    }
    this.parts.log.info({ source: frame.from, reason: parsed.reason }, 'a request that cannot be read');
    const method = methodOf(frame.bytes);
    const mayAnswer =
      method !== 'ACK' &&
      (!formsDialog(method) || (parsed.message !== undefined && !this.answerKills(parsed.message)));
    if (mayAnswer) {
      const startLine = `SIP/2.0 400 Bad Request (${parsed.reason.replace(/[\r\n]/g, ' ')})`;
      const text = sipCommand({ transactionId: frame.transactionId, startLine, headers: [], body: '' });
      this.parts.channel.sendAndForget(socket, text);
    }
    return undefined;
  }

  async proxy(request: InboundRequest, options: ProxyOptions): Promise<ProxyOutcome> {
    const text = proxyCommand(request.id, request.message.method, {
      ...options,
      headers: [...withoutOrders(options.headers ?? []), ...proxyOrders(options, this.parts.capabilities())],
    });
    const entry = this.entryOf(request);
    if (entry?.cancelled === true || request.cancelled) return { kind: 'cancelled' };
    if (entry === undefined) return { kind: 'refused', reason: 'the request is over' };
    if (entry.settled) return { kind: 'refused', reason: 'the request was answered or proxied before' };
    const { guard } = this.parts.channel;
    if (guard === undefined) return { kind: 'link_lost' };
    entry.settled = true;
    entry.proxied = true;
    this.parts.library.forget(entry, 'proxied');
    return new Promise((resolve) => {
      const commandId = guard.send(entry.socket, text);
      const proxied = new ProxiedRequest(
        options.onAnswer,
        (outcome) => {
          this.parts.table.remove(entry);
          resolve(outcome);
        },
        () => entry.cancelled,
      );
      this.parts.channel.pending.add(commandId, entry.socket, options.deadlineMs, proxied);
    });
  }

  /** Gives an answer; `replied` is called with the server's reply as it comes. */
  async give(
    request: InboundRequest,
    response: ResponseSpec,
    replied?: (reply: ReplyFrame) => void,
  ): Promise<void> {
    const reason = response.reason ?? reasonPhrase(response.status);

    if (/[\r\n\u0000]/.test(reason)) {
      throw new DsbcError('DSBC_HEADER_UNSAFE', 'the reason phrase would carry a line end');
    }
    const entry = this.entryOf(request);
    const given = withoutOrders(response.headers ?? []);
    const headers = [...this.contactOf(request, response.status, given), ...given];
    const text = sipCommand({
      transactionId: entry?.serverId ?? request.id,
      startLine: `SIP/2.0 ${response.status} ${reason}`,
      headers: entry?.isEarlyUpdate === true ? [...headers, cseqLine(entry)] : headers,
      body: response.body ?? '',
    });
    if (entry === undefined || entry.settled) {
      throw new DsbcError('DSBC_LINK_REFUSED', 'the request is over', {
        details: { link: this.parts.link.name, status: response.status, cancelled: request.cancelled },
      });
    }
    this.parts.channel.assertFits(text, this.parts.capabilities());
    if (response.status >= 200) {
      this.parts.table.remove(entry);
      this.parts.library.forget(entry, 'answered');
      if (response.status >= 300 && entry.dialogId === '') {
        entry.failed = true;
        entry.leg?.forget();
      }
    } else {
      entry.inProgress = true;
    }
    if (this.answerKills(entry.message)) {
      this.parts.log.warn(
        { callId: entry.message.callId, status: response.status },
        'left unanswered: its Contact has no host, and an answer would end the SIP server',
      );
      return;
    }
    await this.parts.channel.command(entry.socket, text, replied);
  }

  drop(request: InboundRequest, retransmissions: 'swallow' | 'take'): void {
    const entry = this.entryOf(request);
    if (entry === undefined || entry.settled) return;
    this.parts.table.remove(entry);
    this.parts.library.forget(entry, 'dropped');
    if (!this.parts.capabilities().dropRequests) return;
    const text = sipCommand({
      transactionId: request.id,
      startLine: 'SIP/2.0 480 Dropped',
      headers: [dropOrder(retransmissions)],
      body: '',
    });
    this.parts.channel.sendAndForget(entry.socket, text);
  }

  /** What crosses our own BYE on the wire: another BYE is fine, anything else comes too late. */
  refuseEnded(socket: Socket, { transactionId }: SipFrame, method: string): void {
    if (method === 'ACK' || transactionId === '') return;
    const startLine = method === 'BYE' ? 'SIP/2.0 200 OK' : 'SIP/2.0 481 Call/Transaction Does Not Exist';
    this.parts.channel.sendAndForget(socket, sipCommand({ transactionId, startLine, headers: [], body: '' }));
  }

  /** A final answer nobody waits for. */
  giveUnasked(request: Inbound, status: number): void {
    if (request.settled || request.cancelled) return;
    this.give(request, { status }).catch((error: unknown) => {
      this.parts.log.warn(
        { err: error, callId: request.message.callId, status },
        'an answer could not be given',
      );
    });
  }

  entryOf(request: InboundRequest): Inbound | undefined {
    const entry = this.parts.table.get(request.id);
    return entry === request ? entry : undefined;
  }

  private contactOf(request: InboundRequest, status: number, given: readonly HeaderLine[]): HeaderLine[] {
    const { message, source } = request;
    if (status === 100 || status >= 300 || !formsDialog(message.method)) return [];
    return plainContact(
      source.transport,
      message.uri,
      given,
      this.parts.addresses(),
      this.parts.capabilities(),
    );
  }

  private answerKills(message: SipMessage): boolean {
    return (
      !this.parts.capabilities().hostlessContactSafe &&
      formsDialog(message.method) &&
      hasHostlessContact(message)
    );
  }
}

/** The server tells the answer to an early UPDATE from that to its INVITE by CSeq. */
const cseqLine = (entry: Inbound): HeaderLine => ['CSeq', entry.message.get('cseq') ?? ''];

/** The first word of a message: a method, or `SIP/2.0`. */
export function methodOf(bytes: Buffer): string {
  return /^[^ \r\n]*/.exec(bytes.toString('latin1', 0, 40))?.[0] ?? '';
}
