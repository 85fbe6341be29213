import { createHash } from 'node:crypto';
import { checkRequest, checkResponse, type Refusal } from '../../message/validate';
import { param } from '../../message/name-addr';
import { parseMessage } from '../../message/parse';
import type { SipMessage } from '../../message/sip-message';
import type { Routes } from '../control/routes';
import type { ServerDialogs } from '../dialog/server-dialogs';
import { isAlongOurRoute, type InDialogForwarder } from '../proxy/in-dialog';
import type { TransactionLayer, TransactionSink } from '../transaction/transaction-layer';
import type { Flow, Sent, TransportName } from '../transport/flow';
import { answerText } from '../wire/answer';
import { answerFlow, noteSource, type Inbound } from '../wire/inbound';
import type { Line } from '../wire/text';
import type { ApplicationRequests } from './application-requests';
import type { Self } from './self';

/** Methods that may open something; with a To tag they may still be for an application (drachtio-server hands them over, too). */
const OUT_OF_DIALOG = new Set([
  'REGISTER',
  'OPTIONS',
  'MESSAGE',
  'INFO',
  'NOTIFY',
  'SUBSCRIBE',
  'PUBLISH',
  'INVITE',
  'REFER',
]);
/** Methods that exist only inside a dialog. */
const IN_DIALOG = new Set(['BYE', 'UPDATE', 'PRACK']);
const ALLOW =
  'INVITE, ACK, CANCEL, BYE, OPTIONS, REGISTER, MESSAGE, INFO, NOTIFY, SUBSCRIBE, PUBLISH, REFER, UPDATE, PRACK';

export interface SorterCounts {
  received: number;
  malformed: number;
  refused: number;
  strayDropped: number;
}

/** A message that the server deals with by itself, since nobody could read it. */
export interface MalformedMessage {
  readonly reason: string;
  /** What it was answered; absent: nothing. */
  readonly status?: number;
  readonly source: string;
  readonly transport: TransportName;
}

export interface SorterEnvironment {
  readonly send: (flow: Flow, text: string, sent?: Sent) => void;
  readonly self: Self;
  readonly routes: Routes;
  readonly requests: ApplicationRequests;
  readonly inDialog: InDialogForwarder;
  readonly dialogs: ServerDialogs;
  readonly transactions: () => TransactionLayer;
  readonly forwardStray: (inbound: Inbound) => boolean;
  readonly malformed: (message: MalformedMessage) => void;
}

/** Decides what becomes of each message from the network. */
export class RequestSorter implements TransactionSink {
  readonly counts: SorterCounts = { received: 0, malformed: 0, refused: 0, strayDropped: 0 };
  readonly #environment: SorterEnvironment;

  constructor(environment: SorterEnvironment) {
    this.#environment = environment;
  }

  /** A message as it came from the wire. What a bad one deserves it gets here: an answer, or nothing. */
  received(text: string, flow: Flow, broken?: string): void {
    this.counts.received += 1;
    const parsed = parseMessage(text);
    const size = text.length;
    if (!parsed.ok || broken !== undefined) {
      const { message } = parsed;
      const reason = broken ?? (parsed.ok ? 'Bad Request' : parsed.reason);
      if (message?.kind === 'request')
        this.#refuseBad({ message: noteSource(message, flow), flow, size }, { status: 400, reason });
      else this.#malformed(flow, reason);
      return;
    }
    const { message } = parsed;
    if (message.kind === 'response') {
      const fault = checkResponse(message);
      if (fault === undefined) this.#environment.transactions().receive({ message, flow, size });
      else this.#malformed(flow, fault);
      return;
    }
    this.#receiveRequest({ message: noteSource(message, flow), flow, size });
  }

  request(inbound: Inbound): void {
    const { message } = inbound;
    const { self, inDialog, dialogs } = this.#environment;
    if (dialogs.receive(inbound)) return;
    if (isAlongOurRoute(message, self)) inDialog.forward(inbound);
    else if (this.#needsDialog(message)) this.refuse(inbound, 481);
    else this.#offer(inbound);
  }

  ack(inbound: Inbound): void {
    const { self, inDialog, dialogs } = this.#environment;
    if (dialogs.acknowledge(inbound)) return;
    if (isAlongOurRoute(inbound.message, self)) inDialog.forward(inbound);
    // Any other ACK ends nothing and is never answered.
  }

  cancel(inbound: Inbound, known: boolean): void {
    const { self, inDialog, transactions } = this.#environment;
    if (!known && isAlongOurRoute(inbound.message, self)) {
      inDialog.forward(inbound);
      return;
    }
    // A transaction of its own, so that a CANCEL that comes again gets the same answer (RFC 3261 §9.2).
    const status = known ? 200 : 481;
    const transaction = transactions().accept(inbound);
    const toTag = transaction?.toTag ?? statelessTag(inbound.message);
    const text = answerText(inbound.message, { status, toTag });
    if (transaction) transaction.respond(status, text);
    else this.#environment.send(answerFlow(inbound.message, inbound.flow), text);
  }

  answer(inbound: Inbound): void {
    if (!this.#environment.forwardStray(inbound)) this.counts.strayDropped += 1;
  }

  /** Answers without keeping state: the same answer each time the request comes (RFC 3261 §8.2.7). Never an ACK. */
  refuse(inbound: Inbound, status: number, reason?: string, lines: readonly Line[] = []): void {
    const { message, flow } = inbound;
    if (message.method === 'ACK') return;
    this.counts.refused += 1;
    const toTag = statelessTag(message);
    this.#environment.send(answerFlow(message, flow), answerText(message, { status, reason, toTag, lines }));
  }

  #receiveRequest(inbound: Inbound): void {
    const { message, flow } = inbound;
    const refusal = checkRequest(message, flow.transport === 'udp' ? 'datagram' : 'stream');
    // An OPTIONS that has used up its hops may be answered by the application (RFC 3261 §11).
    const atEnd = refusal?.status === 483 && message.method === 'OPTIONS';
    if (!refusal || atEnd) this.#environment.transactions().receive(inbound);
    else this.#refuseBad(inbound, refusal);
  }

  #refuseBad(inbound: Inbound, { status, reason, headers = [] }: Refusal): void {
    this.#malformed(inbound.flow, reason, status);
    this.refuse(
      inbound,
      status,
      reason,
      headers.map(([name, value]) => ({ name, value })),
    );
  }

  #malformed({ address, transport }: Flow, reason: string, status?: number): void {
    this.counts.malformed += 1;
    const answered = status === undefined ? {} : { status };
    this.#environment.malformed({ reason, ...answered, source: address, transport });
  }

  #needsDialog(message: SipMessage): boolean {
    if (IN_DIALOG.has(message.method)) return true;
    const tagged = message.to !== undefined && param(message.to.params, 'tag') !== undefined;
    return tagged && (message.method === 'INVITE' || message.method === 'REFER');
  }

  #offer(inbound: Inbound): void {
    const { message } = inbound;
    const { routes, requests, transactions } = this.#environment;
    const application = routes.pick(message.method);
    if (!application) {
      if (OUT_OF_DIALOG.has(message.method)) this.refuse(inbound, 503);
      else this.refuse(inbound, 501, undefined, [{ name: 'Allow', value: ALLOW }]);
      return;
    }
    const transaction = transactions().accept(inbound);
    if (!transaction) {
      this.refuse(inbound, 503, undefined, [{ name: 'Retry-After', value: '5' }]);
      return;
    }
    requests.offer(transaction, inbound, application);
  }
}

/** The same To tag for the same request, without remembering any (RFC 3261 §8.2.7). */
function statelessTag(message: SipMessage): string {
  const marks = `${message.get('via') ?? ''}\n${message.callId ?? ''}\n${message.get('cseq') ?? ''}`;
  return createHash('sha1').update(marks, 'latin1').digest('hex').slice(0, 16);
}
