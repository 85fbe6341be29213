import type { Socket } from 'node:net';
import type { SipMessage } from '../message/sip-message';
import { param } from '../message/name-addr';
import { headerText } from './command-text';
import type { ClientOutcome, HeaderLine, InboundRequest, SipLink } from './sip-link';
import type { HeadersAndBody, InDialogRequest, LegAnswer, SipDialog } from './sip-dialog';

/** Requests kept for a handler that is not set yet. */
const MOST_WAITING = 32;

/**
 * When the ACK of an INVITE inside the dialog goes out again, milliseconds after the first: a server that swallows the
 * repeated 2xx (drachtio-server) would leave the far side without it when the first is lost. Between the far side's
 * own repetitions, which come after 0.5, 1.5, 3.5, 7.5 s.
 */
const ACK_AGAIN_MS = [700, 2000, 6000];

/** What a leg needs of the link. */
export interface LegPort {
  readonly link: SipLink;
  sendAndForget(socket: Socket, text: string): void;
  /** Runs an own transaction of a leg for a command text. */
  run(leg: Leg, text: string, request: InDialogRequest): Promise<ClientOutcome>;
  /** Forgets the leg. */
  gone(leg: Leg): void;
}

/** A dialog of the SIP server, seen from here. */
export class Leg implements SipDialog {
  callId = '';
  localTag = '';
  remoteTag = '';
  ended = false;
  /** The server's id of the transaction that opened it. */
  openedBy: string | undefined;
  private handler: ((request: InboundRequest) => void) | undefined;
  private waiting: InboundRequest[] = [];
  private lostListener: ((reason: string) => void) | undefined;
  private lostReason: string | undefined;
  /** CSeq number of the INVITE whose 2xx came last. */
  private inviteSequence: number | undefined;
  /** That 2xx belongs to an INVITE inside the dialog and came over UDP. */
  private mayLoseAck = false;
  private readonly timers = new Set<NodeJS.Timeout>();

  constructor(
    readonly id: string,
    readonly socket: Socket,
    private readonly port: LegPort,
  ) {}

  get link(): SipLink {
    return this.port.link;
  }

  /** Learns Call-ID and tags from an answer of the leg; `side` says who sent it. */
  learn(answer: SipMessage, side: 'sent' | 'received'): void {
    const from = tagOf(answer.from?.params);
    const to = tagOf(answer.to?.params);
    this.callId = answer.callId ?? '';
    this.localTag = side === 'sent' ? to : from;
    this.remoteTag = side === 'sent' ? from : to;
    if (side === 'received') this.inviteSequence = answer.cseq?.number;
  }

  async request(request: InDialogRequest): Promise<ClientOutcome> {
    if (this.ended) return { kind: 'transport_error', reason: 'the dialog is over' };
    const text = this.text(request.method, request.headers, request.body ?? '');
    if (request.method === 'BYE') this.end();
    const outcome = await this.port.run(this, text, request);
    if (request.method === 'INVITE' && outcome.kind === 'answer' && outcome.status < 300) {
      this.inviteSequence = outcome.message.cseq?.number;
      this.mayLoseAck = outcome.source.transport === 'udp';
    }
    return outcome;
  }

  acknowledge(ack: HeadersAndBody = { headers: [], body: '' }): void {
    const { exactHeaders } = this.link.capabilities;
    // Left to itself drachtio-server takes the number of its latest request, an INFO in between for instance.
    const isGiven = !exactHeaders && this.inviteSequence !== undefined;
    const headers: HeaderLine[] = isGiven
      ? [['CSeq', `${this.inviteSequence} ACK`], ...ack.headers]
      : [...ack.headers];
    const text = this.text('ACK', headers, ack.body);
    this.port.sendAndForget(this.socket, text);
    this.stopTimers();
    if (exactHeaders || !this.mayLoseAck) return;
    for (const milliseconds of ACK_AGAIN_MS) {
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        this.port.sendAndForget(this.socket, text);
      }, milliseconds);
      timer.unref();
      this.timers.add(timer);
    }
  }

  acknowledgeProvisional(
    answer: LegAnswer,
    inviteCSeq: number,
    prack: HeadersAndBody = { headers: [], body: '' },
  ): void {
    const rack: HeaderLine = ['RAck', `${answer.message.get('rseq') ?? ''} ${inviteCSeq} INVITE`];
    this.port.sendAndForget(this.socket, this.text('PRACK', [rack, ...prack.headers], prack.body));
  }

  onRequest(handler: (request: InboundRequest) => void): void {
    this.handler = handler;
    for (const request of this.waiting.splice(0)) handler(request);
  }

  hold(): void {
    this.handler = undefined;
  }

  onLost(listener: (reason: string) => void): void {
    if (this.lostReason === undefined) this.lostListener = listener;
    else listener(this.lostReason);
  }

  forget(): void {
    this.end();
    for (const request of this.waiting.splice(0)) request.link.drop(request);
  }

  /** A request of the far side. */
  deliver(request: InboundRequest): void {
    if (this.handler) this.handler(request);
    else if (this.waiting.length < MOST_WAITING) this.waiting.push(request);
    else request.link.drop(request);
  }

  /** The server ended it. */
  lose(reason: string): void {
    if (this.ended && this.lostReason !== undefined) return;
    this.end();
    this.lostReason = reason;
    this.lostListener?.(reason);
  }

  private stopTimers(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }

  private end(): void {
    this.ended = true;
    this.stopTimers();
    this.port.gone(this);
  }

  private text(method: string, headers: readonly HeaderLine[], body: string): string {
    // The placeholder stands for the dialog's remote target.
    return (
      `sip||${this.id}\r\n${method} sip:placeholder SIP/2.0\r\n` +
      `${headerText(headers)}Content-Length: ${body.length}\r\n\r\n${body}`
    );
  }
}

function tagOf(params: Parameters<typeof param>[0] | undefined): string {
  const tag = params === undefined ? undefined : param(params, 'tag');
  return typeof tag === 'string' ? tag : '';
}
