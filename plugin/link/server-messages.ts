import type { Socket } from 'node:net';
import { param } from '../message/name-addr';
import { parseMessage } from '../message/parse';
import type { Logger } from '../telemetry/logger';
import type { Cancels } from './cancels';
import type { ClientTransactions } from './client-transactions';
import type { SipFrame } from './control-message';
import type { Inbound, InboundTable } from './inbound-request';
import type { Leg } from './leg';
import type { LegTable } from './leg-table';
import type { LibrarySide } from './library';
import { protect } from './listeners';
import { methodOf, type ServerRequests } from './server-requests';
import type { InboundRequest } from './sip-link';

export interface ServerMessagesParts {
  readonly requests: ServerRequests;
  readonly inbound: InboundTable;
  readonly legs: LegTable;
  readonly cancels: Cancels;
  readonly transactions: ClientTransactions;
  readonly library: LibrarySide;
  readonly log: Logger;
}

/** The SIP messages that the SIP server passes on: each is given to what it belongs to. */
export class ServerMessages {
  private handler: ((request: InboundRequest) => void | Promise<void>) | undefined;

  constructor(private readonly parts: ServerMessagesParts) {}

  onRequest(handler: (request: InboundRequest) => void | Promise<void>): void {
    this.handler = handler;
  }

  /** Gives a request to the handler; what that throws, or rejects with, is answered 500. */
  deliver(request: Inbound): void {
    const { inbound, requests, log } = this.parts;
    inbound.add(request);
    if (this.handler === undefined) {
      requests.giveUnasked(request, 503);
      return;
    }
    const failed = (error: unknown): void => {
      log.error({ err: error, callId: request.message.callId }, 'the request handler failed');
      requests.giveUnasked(request, 500);
    };
    try {
      const running = this.handler(request);
      if (running) running.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  take(socket: Socket, frame: SipFrame, raw: Buffer): void {
    const { legs, transactions, library, requests } = this.parts;
    const leg = legs.get(frame.dialogId, () => tagsOf(frame));
    if (frame.origin !== 'network') {
      const { message } = parseMessage(frame.bytes);
      if (leg && message?.method === 'BYE') leg.lose(message.get('reason') ?? 'ended by the SIP server');
      else if (transactions.has(frame.transactionId)) transactions.answer(frame);
      else library.pass(socket, raw);
      return;
    }
    const method = methodOf(frame.bytes);
    if (method.startsWith('SIP/')) {
      if (transactions.has(frame.transactionId)) transactions.answer(frame);
      else library.pass(socket, raw);
      return;
    }
    if (method === 'CANCEL') {
      this.parts.cancels.take(socket, frame, raw);
      return;
    }
    if (leg) {
      this.onLegRequest(socket, frame, leg, method);
      return;
    }
    if (legs.hasEnded(frame.dialogId)) {
      requests.refuseEnded(socket, frame, method);
      return;
    }
    if (library.shared || library.ownsDialog(socket, frame.dialogId)) {
      library.pass(socket, raw);
      return;
    }
    // An ACK or a PRACK that belongs to no dialog of ours can't be answered.
    if (method === 'ACK') return;
    const request = requests.read(socket, frame);
    if (request) this.deliver(request);
  }

  private onLegRequest(socket: Socket, frame: SipFrame, leg: Leg, method: string): void {
    const { inbound, requests, log } = this.parts;
    const invite = inbound.get(frame.transactionId);
    const request = requests.read(socket, frame);
    if (request === undefined) return;
    // Before the final answer the server gives an UPDATE the transaction id of its INVITE.
    if (method === 'UPDATE' && invite !== undefined) request.becomeEarlyUpdate();
    if (method === 'ACK') request.settled = true;
    else inbound.add(request);
    protect(log, () => leg.deliver(request));
  }
}

/** The tags of a message: one of them is ours. */
function tagsOf({ bytes }: SipFrame): readonly string[] {
  const { message } = parseMessage(bytes);
  return [message?.to, message?.from].flatMap((address) => {
    const tag = address === undefined ? undefined : param(address.params, 'tag');
    return typeof tag === 'string' ? [tag] : [];
  });
}
