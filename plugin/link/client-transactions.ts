import type { Socket } from 'node:net';
import { parseMessage } from '../message/parse';
import type { SipFrame } from './control-message';
import type { LegAnswer } from './sip-dialog';
import type { ClientOutcome } from './sip-link';

/** Whoever waits for the answers to a request of ours. */
export interface AnswerListener {
  settle(outcome: ClientOutcome, dialogId: string): void;
  /** Provisional answers, if they matter. */
  provisional?(answer: LegAnswer, dialogId: string): void;
}

interface Waiting extends AnswerListener {
  readonly socket: Socket;
}

/**
 * Own client transactions that wait for a final answer, by the server's transaction id. What ends an entry
 * early (deadline, abort) is with whoever opened it; a late answer then finds none and is dropped.
 */
export class ClientTransactions {
  private readonly waiting = new Map<string, Waiting>();

  get size(): number {
    return this.waiting.size;
  }

  open(id: string, socket: Socket, listener: AnswerListener): void {
    this.waiting.set(id, { ...listener, socket });
  }

  forget(id: string): void {
    this.waiting.delete(id);
  }

  has(id: string): boolean {
    return this.waiting.has(id);
  }

  /** A response frame of one of these transactions. */
  answer(frame: SipFrame): void {
    const waiting = this.waiting.get(frame.transactionId);
    if (waiting === undefined) return;
    const parsed = parseMessage(frame.bytes);
    const status = parsed.ok ? parsed.message.status : statusOf(frame.bytes);
    if (status !== undefined && status < 200) {
      if (parsed.ok) {
        waiting.provisional?.({ status, message: parsed.message, source: frame.from }, frame.dialogId);
      }
      return;
    }
    this.waiting.delete(frame.transactionId);
    waiting.settle(outcomeOf(frame, parsed, status), frame.dialogId);
  }

  lose(socket: Socket): void {
    for (const [id, waiting] of [...this.waiting]) {
      if (waiting.socket !== socket) continue;
      this.waiting.delete(id);
      waiting.settle({ kind: 'link_lost' }, '');
    }
  }
}

function outcomeOf(
  frame: SipFrame,
  parsed: ReturnType<typeof parseMessage>,
  status: number | undefined,
): ClientOutcome {
  if (frame.from.address === '') {
    // Without a source address the server made the answer up: its own time-out, or it could not send at all.
    if (status === 408) return { kind: 'timeout' };
    return {
      kind: 'transport_error',
      ...(status === undefined ? {} : { status }),
      reason: 'the SIP server could not send it',
    };
  }
  // As good as none (RFC 3261 §18.1.2), and no other one will come. The node is there: it is not what can't be reached.
  if (!parsed.ok || status === undefined) return { kind: 'timeout' };
  return { kind: 'answer', message: parsed.message, status, source: frame.from };
}

/** The status code of an answer whose headers can't be read. */
export function statusOf(bytes: Buffer): number | undefined {
  const match = /^SIP\/\d\.\d (\d{3})[ \r]/i.exec(bytes.toString('latin1', 0, 16));
  return match ? Number(match[1]) : undefined;
}
