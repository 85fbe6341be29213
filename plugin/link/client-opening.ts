import type { Socket } from 'node:net';
import type { ClientTransactions } from './client-transactions';
import { sipCommand } from './command-text';
import type { Leg } from './leg';
import type { PendingCommands } from './pending-commands';
import type { LegAnswer, Opening, OpeningOutcome, OpeningRequest } from './sip-dialog';
import type { ClientOutcome, HeaderLine } from './sip-link';

/** What an opening needs of the link. */
export interface OpeningPort {
  readonly socket: Socket;
  readonly commands: PendingCommands;
  readonly transactions: ClientTransactions;
  readonly requestTimeoutMs: number;
  send(text: string): string;
  sendAndForget(text: string): void;
  /** The server knows an early dialog whatever provisional answer made it; else (drachtio-server) only a reliable one. */
  readonly knowsEarlyDialogs: boolean;
  /** The leg of this id, made when it is new. */
  leg(id: string): Leg;
}

/** A late 2xx of what was given up still comes within 64 × T1 and a little. */
const LATE_MS = 40_000;

/**
 * A dialog-forming request of ours. What was given up stays known until its late answer has come: a 2xx is then
 * acknowledged and hung up, so that no far side is left in a call of one.
 */
export class ClientOpening implements Opening {
  readonly outcome: Promise<OpeningOutcome>;
  early: Leg | undefined;
  private settled = false;
  private transactionId: string | undefined;
  private wantsCancel: readonly HeaderLine[] | undefined;
  private readonly commandId: string;
  private deadline: NodeJS.Timeout;
  private resolve: (outcome: OpeningOutcome) => void = () => undefined;

  constructor(
    text: string,
    private readonly request: OpeningRequest,
    private readonly port: OpeningPort,
  ) {
    this.outcome = new Promise((resolve) => {
      this.resolve = resolve;
    });
    this.deadline = setTimeout(() => {
      this.giveUp({ kind: 'timeout' });
    }, request.timeoutMs);
    this.commandId = port.send(text);
    this.listen(port.requestTimeoutMs);
  }

  /** Waits for the server to take the request. */
  private listen(milliseconds: number): void {
    this.port.commands.add(this.commandId, this.port.socket, milliseconds, {
      reply: (frame) => {
        const id = frame.tokens[6];
        if (frame.ok && id !== undefined) this.taken(id);
        else this.end({ kind: 'transport_error', reason: frame.tokens[0] ?? 'refused by the SIP server' });
      },
      timedOut: () => {
        if (this.settled) return;
        // It may have been taken all the same (this process stood still, say): then it has to be undone.
        this.listen(LATE_MS);
        const reason = 'the SIP server did not take the request in time';
        this.giveUp({ kind: 'transport_error', reason });
      },
      lost: () => {
        this.end({ kind: 'link_lost' });
      },
    });
  }

  cancel(headers: readonly HeaderLine[] = []): void {
    if (this.transactionId === undefined) this.wantsCancel = headers;
    else this.sendCancel(this.transactionId, headers);
  }

  abandon(): void {
    this.giveUp({ kind: 'aborted' });
  }

  private taken(id: string): void {
    this.transactionId = id;
    this.port.transactions.open(id, this.port.socket, {
      provisional: (answer, dialogId) => {
        this.provisional(answer, dialogId);
      },
      settle: (outcome, dialogId) => {
        this.final(outcome, dialogId);
      },
    });
    if (this.wantsCancel) this.sendCancel(id, this.wantsCancel);
  }

  private provisional(answer: LegAnswer, dialogId: string): void {
    if (this.settled) return;
    const isEarly = this.port.knowsEarlyDialogs
      ? answer.status > 100 && answer.message.to?.params.some(([name]) => name === 'tag') === true
      : answer.message.get('rseq') !== undefined;
    if (dialogId !== '' && isEarly) {
      this.early = this.port.leg(dialogId);
      this.early.learn(answer.message, 'received');
      this.early.openedBy = this.transactionId;
    }
    this.request.onProvisional?.(answer);
  }

  private final(outcome: ClientOutcome, dialogId: string): void {
    const isSuccess = outcome.kind === 'answer' && outcome.status < 300 && dialogId !== '';
    if (!isSuccess) {
      // The stack acknowledges a failed INVITE itself; this only lets it forget an early dialog.
      if (this.early) this.early.acknowledge();
      this.early?.forget();
      this.end(outcome);
      return;
    }
    const dialog = this.port.leg(dialogId);
    const { message, source, status } = outcome;
    dialog.learn(message, 'received');
    dialog.openedBy = this.transactionId;
    if (this.settled) {
      this.release(dialog);
      return;
    }
    this.end({ kind: 'opened', dialog, answer: { status, message, source } });
  }

  /** A 2xx nobody wants any more: acknowledged and hung up (RFC 3261 §13.2.2.4), or unsubscribed. */
  private release(dialog: Leg): void {
    clearTimeout(this.deadline);
    if (this.request.method === 'INVITE') {
      dialog.acknowledge();
      void dialog.request({ method: 'BYE', headers: [], timeoutMs: this.port.requestTimeoutMs });
      return;
    }
    const event = this.request.headers.filter(([name]) => /^(event|o)$/i.test(name));
    const headers: HeaderLine[] = [...event, ['Expires', '0']];
    const gone = (): void => {
      dialog.forget();
    };
    dialog.request({ method: 'SUBSCRIBE', headers, timeoutMs: this.port.requestTimeoutMs }).then(gone, gone);
  }

  private giveUp(outcome: OpeningOutcome): void {
    if (this.settled) return;
    if (this.request.method === 'INVITE') this.cancel();
    this.settle(outcome);
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => {
      this.early?.forget();
      this.forget();
    }, LATE_MS);
    this.deadline.unref();
  }

  private end(outcome: OpeningOutcome): void {
    clearTimeout(this.deadline);
    this.forget();
    this.settle(outcome);
  }

  private settle(outcome: OpeningOutcome): void {
    if (this.settled) return;
    this.settled = true;
    this.resolve(outcome);
  }

  private forget(): void {
    this.port.commands.forget(this.commandId);
    if (this.transactionId !== undefined) this.port.transactions.forget(this.transactionId);
  }

  private sendCancel(transactionId: string, headers: readonly HeaderLine[]): void {
    const startLine = `CANCEL ${this.request.uri} SIP/2.0`;
    this.port.sendAndForget(sipCommand({ transactionId, startLine, headers, body: '' }));
  }
}
