import { param } from '../../message/name-addr';
import type { SipMessage } from '../../message/sip-message';
import type { Clock } from '../clock';
import type { Application } from '../control/application';
import { metaTokens } from '../control/meta';
import type { ServerTransaction } from '../transaction/server-transaction';
import { answerText } from '../wire/answer';
import type { Inbound } from '../wire/inbound';
import { messageText } from '../wire/text';
import type { PendingRequest } from './pending-request';

/** An application that neither answers nor proxies an INVITE in this time is not going to. */
const DECISION_MS = 64_000;
/** An INVITE gets its 100 when the application proxies it, or after this long (RFC 3261 §17.2.1). */
const TRYING_MS = 200;
/** After a provisional answer: as long as somebody may let it ring. */
const RINGING_MS = 600_000;

/** The id drachtio gives a dialog: Call-ID and the tag of whoever began it. */
export function dialogIdOf(request: SipMessage): string {
  const tag = request.from && param(request.from.params, 'tag');
  return `${request.callId ?? ''};from-tag=${typeof tag === 'string' ? tag : ''}`;
}

/** The frame that hands a request to an application. */
export function requestFrame(inbound: Inbound, transactionId: string, dialogId: string): string {
  const { flow, message, size } = inbound;
  const { entry } = flow;
  const received = `${entry.address}|${entry.port}`;
  return `sip|${metaTokens('network', size, flow)}|${transactionId}|${dialogId}|${received}|\r\n${messageText(message)}`;
}

/** The requests that wait for an application, and which application has which. */
export class ApplicationRequests {
  readonly #pending = new Map<string, PendingRequest>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#pending.size;
  }

  /**
   * Hands a request to an application. An INVITE has no 100 yet: once it has, its caller sends it no more, and if the
   * application then drops it, or dies, nobody ever would.
   */
  offer(transaction: ServerTransaction, inbound: Inbound, application: Application, dialogId = ''): void {
    const pending: PendingRequest = {
      id: transaction.id,
      transaction,
      application,
      dialogId,
      patience: undefined,
      trying: undefined,
      search: undefined,
      tag: undefined,
      reliableSequence: 0,
      undoEarly: undefined,
    };
    this.#pending.set(pending.id, pending);
    transaction.user = {
      cancelled: (cancel) => this.#cancelled(pending, cancel),
      ended: () => this.#forget(pending),
      waiting: () => this.#pending.has(pending.id),
    };
    if (transaction.method === 'INVITE') {
      this.#wait(pending, DECISION_MS);
      pending.trying = this.#clock.after(TRYING_MS, () => this.#try(pending));
    }
    application.tell(requestFrame(inbound, pending.id, dialogId));
  }

  /** The request an application speaks of, as long as it is its own and undecided. */
  find(id: string, application: Application): PendingRequest | undefined {
    const pending = this.#pending.get(id);
    return pending?.application === application && !pending.search ? pending : undefined;
  }

  /** An answer of the application was sent. */
  answered(pending: PendingRequest, status: number): void {
    pending.trying?.cancel();
    if (status >= 200) this.#forget(pending);
    else this.#wait(pending, RINGING_MS);
  }

  /** From here on the search answers; it has sent the request. */
  proxied(pending: PendingRequest): void {
    pending.patience?.cancel();
    pending.trying?.cancel();
    this.#try(pending);
  }

  /** The search is over. */
  settled(pending: PendingRequest): void {
    this.#forget(pending);
    // The transaction lives on for half a minute; what it was about need not.
    pending.search = undefined;
    pending.transaction.user = {};
  }

  /** What an application that is gone left undecided is refused; what it proxied goes on. */
  applicationGone(application: Application): void {
    for (const pending of [...this.#pending.values()]) {
      if (pending.application === application && !pending.search) this.#refuse(pending, 503);
    }
  }

  close(): void {
    for (const pending of [...this.#pending.values()]) {
      pending.search?.close();
      this.#forget(pending);
    }
  }

  #wait(pending: PendingRequest, milliseconds: number): void {
    pending.patience?.cancel();
    if (pending.transaction.method !== 'INVITE') return;
    pending.patience = this.#clock.after(milliseconds, () => this.#refuse(pending, 504));
  }

  #try({ transaction }: PendingRequest): void {
    const { request, status } = transaction;
    if (request?.message.method !== 'INVITE' || status > 0) return;
    transaction.respond(100, answerText(request.message, { status: 100 }));
  }

  #cancelled(pending: PendingRequest, cancel: Inbound): void {
    pending.application.tell(requestFrame(cancel, pending.id, pending.dialogId));
    if (pending.search) pending.search.cancel();
    else this.#refuse(pending, 487);
  }

  #refuse(pending: PendingRequest, status: number): void {
    const { transaction } = pending;
    const { request } = transaction;
    if (request) {
      const toTag = pending.tag ?? transaction.toTag;
      transaction.respond(status, answerText(request.message, { status, toTag }));
    }
    this.#forget(pending);
  }

  #forget(pending: PendingRequest): void {
    pending.patience?.cancel();
    pending.trying?.cancel();
    pending.undoEarly?.();
    pending.undoEarly = undefined;
    this.#pending.delete(pending.id);
  }
}
