import type { SipMessage } from '../../message/sip-message';
import type { Flow, SendError } from '../transport/flow';
import type { Line } from '../wire/text';

/** Who sent the request, and hears how it goes. */
export interface ClientUser {
  /** An answer: every provisional one, the first final one, and each 2xx to an INVITE. */
  answer(message: SipMessage, from: Flow): void;
  /** Nothing (more) came in time, or the request could not be sent. Told at most once, never after a final answer. */
  failed(reason: 'timeout' | SendError): void;
}

export interface ClientTransaction {
  readonly method: string;
  readonly branch: string;
  readonly flow: Flow;
  /** True until a final answer, a time-out or a failure. */
  readonly pending: boolean;
  /** True once a provisional answer came. */
  readonly proceeding: boolean;
  receive(message: SipMessage, from: Flow): void;
  /** The request did not arrive (RFC 3261 §18.4): it fails, unless some answer says otherwise. True if it did. */
  undelivered(error: SendError): boolean;
  /**
   * The connection it went over is gone: it fails, unless an answer says that the other side works on it. To an INVITE a 100
   * says nothing of the kind: it comes from the next hop's transaction layer, which has no answer to keep.
   */
  flowClosed(error: SendError): void;
  /**
   * Cancels an INVITE: at once if a provisional answer came, else as soon as one does (RFC 3261 §9.1). Repeating it
   * does nothing. If no final answer follows in 64 × T1, the transaction ends as timed out.
   */
  cancel(extra?: readonly Line[]): void;
  /** Stops sending; answers that still come are swallowed. Not for an INVITE, whose 2xx somebody must acknowledge. */
  abandon(): void;
  /** Ends its timers without telling anybody. */
  close(): void;
}

/** What a transaction needs around it. */
export interface ClientEnvironment {
  send(flow: Flow, text: string, sent?: (error?: SendError) => void): void;
  after(milliseconds: number, callback: () => void): { cancel(): void };
  /** Sends a CANCEL by a transaction of its own. */
  sendCancel(invite: ClientTransaction, extra: readonly Line[]): void;
  /** The transaction ended; its branch means nothing any more. */
  ended(transaction: ClientTransaction): void;
  countRetransmission(): void;
}
