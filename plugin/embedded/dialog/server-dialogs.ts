import type { Application } from '../control/application';
import type { Clock } from '../clock';
import type { ApplicationRequests } from '../core/application-requests';
import { dialogIdOf, requestFrame } from '../core/application-requests';
import type { PendingRequest } from '../core/pending-request';
import type { TransactionLayer } from '../transaction/transaction-layer';
import { answerText } from '../wire/answer';
import type { Inbound } from '../wire/inbound';
import { randomUUID } from 'node:crypto';
import { Dialog, tagOf } from './dialog';
import type { DialogTable } from './dialog-table';
import { SuccessRepeater } from './success-repeater';

export interface ServerDialogsEnvironment {
  readonly clock: Clock;
  readonly table: DialogTable;
  readonly requests: ApplicationRequests;
  readonly transactions: () => TransactionLayer;
  readonly refuse: (inbound: Inbound, status: number, reason?: string) => void;
  /** Ends a dialog nobody acknowledged, and tells its application. */
  readonly hangUp: (dialog: Dialog, reason: string) => void;
}

/** An answer an application gave, as it went out. */
export interface GivenAnswer {
  readonly status: number;
  readonly text: string;
  /** Our Contact in it. */
  readonly contact: string | undefined;
  /** RSeq, if it must be acknowledged by a PRACK (RFC 3262). */
  readonly reliable: number | undefined;
}

const isTerminating = (request: Inbound['message']): boolean =>
  request.method === 'BYE' ||
  (request.method === 'NOTIFY' && /^terminated\b/i.test(request.get('subscription-state') ?? ''));

/** The dialogs that the network opened: made by the application's answers, and the requests inside any dialog. */
export class ServerDialogs {
  readonly #environment: ServerDialogsEnvironment;
  readonly #successes: SuccessRepeater<Dialog>;
  /** By the id of their dialog. */
  readonly #provisionals: SuccessRepeater<string>;

  constructor(environment: ServerDialogsEnvironment) {
    this.#environment = environment;
    this.#successes = new SuccessRepeater(environment.clock);
    this.#provisionals = new SuccessRepeater(environment.clock);
  }

  /** True when no further dialog can be opened. */
  get full(): boolean {
    return this.#environment.table.full;
  }

  /**
   * Whether another branch of the same INVITE or SUBSCRIBE has opened the dialog already (RFC 3261 §8.2.2.2): two
   * requests can't both be its beginning.
   */
  isTaken(pending: PendingRequest, request: Inbound): boolean {
    if (tagOf(request.message, 'to') !== undefined) return false;
    const known = this.#environment.table.byId(dialogIdOf(request.message));
    return known !== undefined && known.localTag !== (pending.tag ?? pending.transaction.toTag);
  }

  close(): void {
    this.#successes.close();
    this.#provisionals.close();
  }

  /** An application's answer went out. */
  answered(pending: PendingRequest, request: Inbound, answer: GivenAnswer): void {
    const { method } = request.message;
    const { status } = answer;
    if (method !== 'INVITE' && method !== 'SUBSCRIBE') return;
    const isFirst = tagOf(request.message, 'to') === undefined;
    if (status >= 200 && pending.reliableSequence > 0) this.#provisionals.stop(dialogIdOf(request.message));
    const dialog = isFirst
      ? this.#openedBy(pending, request, answer)
      : this.#environment.table.of(request.message);
    if (!dialog) return;
    if (answer.contact !== undefined) dialog.localContact = answer.contact;
    if (answer.reliable !== undefined) this.#repeatProvisional(pending, request);
    if (method === 'INVITE' && status >= 200 && status < 300)
      this.#repeatSuccess(pending, dialog, answer.text, status);
    if (isFirst && status >= 300) this.#environment.table.remove(dialog);
    if (isFirst && status < 200) {
      pending.undoEarly = () => {
        if (pending.reliableSequence > 0) this.#provisionals.stop(dialog.id);
        this.#environment.table.remove(dialog);
      };
    } else pending.undoEarly = undefined;
  }

  /** A request inside one of the dialogs. False when it is not in any. */
  receive(inbound: Inbound): boolean {
    const { message, flow } = inbound;
    const { table, transactions, requests, refuse } = this.#environment;
    const dialog = table.of(message);
    if (!dialog) return false;
    if (message.method === 'NOTIFY' && dialog.remoteTag === undefined) dialog.learnFromNotify(message, flow);
    if (!dialog.application.connected) {
      table.remove(dialog);
      refuse(inbound, 481);
      return true;
    }
    if (!dialog.accept(message, flow)) {
      refuse(inbound, 500, 'CSeq out of order');
      return true;
    }
    const transaction = transactions().accept(inbound);
    if (!transaction) {
      refuse(inbound, 503);
      return true;
    }
    if (message.method === 'PRACK') this.#provisionals.stop(dialog.id);
    if (message.method === 'INVITE') transaction.respond(100, answerText(message, { status: 100 }));
    if (isTerminating(message) && (message.method === 'BYE' || dialog.isSubscription)) this.#end(dialog);
    requests.offer(transaction, inbound, dialog.application, dialog.id);
    return true;
  }

  /** An ACK; false when it belongs to no dialog here. */
  acknowledge(inbound: Inbound): boolean {
    const dialog = this.#environment.table.of(inbound.message);
    if (!dialog) return false;
    if (this.#successes.stop(dialog)) dialog.application.tell(requestFrame(inbound, randomUUID(), dialog.id));
    return true;
  }

  applicationGone(application: Application): void {
    this.#environment.table.removeAll(application);
  }

  #openedBy(pending: PendingRequest, request: Inbound, answer: GivenAnswer): Dialog | undefined {
    const { table } = this.#environment;
    const { message, flow } = request;
    const known = table.byId(dialogIdOf(message));
    if (known) {
      if (answer.status < 300) known.confirmed ||= answer.status >= 200;
      return known;
    }
    if (answer.status <= 100 || answer.status >= 300 || !message.callId) return undefined;
    const localTag = pending.tag ?? pending.transaction.toTag;
    const dialog = new Dialog({
      id: dialogIdOf(message),
      callId: message.callId,
      isSubscription: message.method === 'SUBSCRIBE',
      localTag,
      localAddress: `${message.get('to') ?? ''};tag=${localTag}`,
      remoteAddress: message.get('from') ?? '',
      remoteTag: tagOf(message, 'from'),
      localSequence: 0,
      remoteSequence: message.cseq?.number ?? 0,
      localContact: answer.contact ?? '',
      application: pending.application,
      entry: flow.entry,
    });
    dialog.learnFromRequest(message, flow);
    dialog.confirmed = answer.status >= 200;
    table.add(dialog);
    return dialog;
  }

  #repeatSuccess(pending: PendingRequest, dialog: Dialog, text: string, status: number): void {
    const { transaction } = pending;
    transaction.user = { ...transaction.user, acknowledged: (ack) => void this.acknowledge(ack) };
    this.#successes.start(
      dialog,
      transaction.answerFlow.transport !== 'udp',
      () => transaction.respond(status, text),
      () => {
        this.#environment.table.remove(dialog);
        this.#environment.hangUp(dialog, 'ACK timeout');
      },
    );
  }

  #repeatProvisional(pending: PendingRequest, request: Inbound): void {
    const { transaction } = pending;
    this.#provisionals.start(
      dialogIdOf(request.message),
      false,
      () => transaction.repeated(),
      () => {
        // RFC 3262 §3: without a PRACK the INVITE is refused.
        const toTag = pending.tag ?? transaction.toTag;
        transaction.respond(504, answerText(request.message, { status: 504, toTag }));
        this.#environment.requests.settled(pending);
      },
    );
  }

  #end(dialog: Dialog): void {
    this.#successes.stop(dialog);
    this.#environment.table.remove(dialog);
  }
}

/** Whether the header lines of an answer ask for reliability. */
export const isReliable = (require: readonly string[]): boolean =>
  require.some((value) => value.split(',').some((tag) => tag.trim().toLowerCase() === '100rel'));
