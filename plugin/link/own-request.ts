import type { Socket } from 'node:net';
import type { AnswerListener, ClientTransactions } from './client-transactions';
import { safeRequestUri, sipCommand } from './command-text';
import { abandonOrder, flowOrders, timeoutOrder, withoutOrders } from './orders';
import type { PendingCommands } from './pending-commands';
import type { OpeningRequest } from './sip-dialog';
import type { ClientOutcome, ClientRequest, LinkCapabilities } from './sip-link';

/** What an own transaction needs of the link. */
export interface OwnRequestPort {
  readonly socket: Socket;
  readonly commands: PendingCommands;
  readonly transactions: ClientTransactions;
  /** Milliseconds until the server must have taken the request. */
  readonly requestTimeoutMs: number;
  send(text: string): string;
  /** Sends a command nobody waits for. */
  sendAndForget(text: string): void;
}

/** @throws DsbcError DSBC_HEADER_UNSAFE, as `sipCommand` does. */
export function ownRequestText(request: ClientRequest | OpeningRequest, can: LinkCapabilities): string {
  return sipCommand({
    ...(request.nextHop === undefined ? {} : { nextHop: request.nextHop }),
    startLine: `${request.method} ${safeRequestUri(request.uri)} SIP/2.0`,
    headers: [
      ...withoutOrders(request.headers),
      ...flowOrders(request, can),
      ...timeoutOrder(request.timeoutMs, can),
    ],
    body: request.body ?? '',
  });
}

/** Beside the text: what ends it. */
export interface OwnRequest extends Pick<ClientRequest, 'uri' | 'timeoutMs' | 'signal'> {
  /** Aborted: CANCEL goes out, and the outcome is what is then answered. */
  readonly cancel?: AbortSignal;
  /** The transaction id a CANCEL has to name; default: its own. */
  readonly cancelledBy?: string;
}

/** Runs one own client transaction to its end: an answer, a deadline, an abort, or the loss of the link. */
export function runOwnRequest(
  text: string,
  request: OwnRequest,
  can: LinkCapabilities,
  port: OwnRequestPort,
  provisional?: AnswerListener['provisional'],
): Promise<ClientOutcome> {
  const { socket, commands, transactions } = port;
  return new Promise((resolve) => {
    let transactionId: string | undefined;
    const finish = (outcome: ClientOutcome): void => {
      clearTimeout(deadline);
      request.signal?.removeEventListener('abort', abort);
      request.cancel?.removeEventListener('abort', cancel);
      commands.forget(commandId);
      if (transactionId !== undefined) transactions.forget(transactionId);
      resolve(outcome);
    };
    const giveUp = (kind: 'timeout' | 'aborted'): void => {
      if (transactionId !== undefined && can.cancelOwnTransactions) {
        const startLine = `CANCEL ${request.uri} SIP/2.0`;
        port.sendAndForget(sipCommand({ transactionId, startLine, headers: [abandonOrder], body: '' }));
      }
      finish({ kind });
    };
    const abort = (): void => {
      giveUp('aborted');
    };
    const cancel = (): void => {
      if (transactionId === undefined) return;
      const startLine = `CANCEL ${request.uri} SIP/2.0`;
      const id = request.cancelledBy ?? transactionId;
      port.sendAndForget(sipCommand({ transactionId: id, startLine, headers: [], body: '' }));
    };
    const deadline = setTimeout(() => {
      giveUp('timeout');
    }, request.timeoutMs);
    request.signal?.addEventListener('abort', abort, { once: true });
    request.cancel?.addEventListener('abort', cancel, { once: true });
    const commandId = port.send(text);
    commands.add(commandId, socket, port.requestTimeoutMs, {
      reply: (frame) => {
        const id = frame.tokens[6];
        if (!frame.ok || id === undefined) {
          finish({ kind: 'transport_error', reason: frame.tokens[0] ?? 'refused by the SIP server' });
          return;
        }
        transactionId = id;
        transactions.open(id, socket, { settle: finish, ...(provisional ? { provisional } : {}) });
        if (request.cancel?.aborted === true) cancel();
      },
      timedOut: () => {
        finish({ kind: 'transport_error', reason: 'the SIP server did not take the request in time' });
      },
      lost: () => {
        finish({ kind: 'link_lost' });
      },
    });
  });
}
