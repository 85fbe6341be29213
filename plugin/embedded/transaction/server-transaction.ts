import type { Timer } from '../clock';
import type { Flow, SendError } from '../transport/flow';
import type { Inbound } from '../wire/inbound';

/** Who answers the request, and hears what becomes of it. All may be left out. */
export interface ServerUser {
  /** The caller gave up. Told once, only while there is no final answer. */
  cancelled?(cancel: Inbound): void;
  /** An ACK that carries the INVITE's branch came after a 2xx: some send it so. */
  acknowledged?(ack: Inbound): void;
  /** No ACK came for a refusal within timer H, or an answer could not be sent. */
  failed?(reason: 'timeout' | SendError): void;
  ended?(): void;
  /** Whether it is still going to answer. An INVITE that nobody says so of is refused (see InviteServer). */
  waiting?(): boolean;
}

export interface ServerTransaction {
  /** Unique per server; what the application knows it by. */
  readonly id: string;
  readonly method: string;
  /** The request; dropped (undefined) once the final answer is out. */
  readonly request: Inbound | undefined;
  /** Where answers go. */
  readonly answerFlow: Flow;
  /** The address the request came from. */
  readonly source: string;
  /** Bytes of the request. */
  readonly size: number;
  /** The tag of our To in all answers that we make ourselves. */
  readonly toTag: string;
  /** The status of the latest answer sent; 0 when there is none. */
  readonly status: number;
  user: ServerUser;
  /** Sends an answer, and again whenever the request comes again. False when a final one is out already. */
  respond(status: number, text: string): boolean;
  /** The request came again. */
  repeated(): void;
  /** Swallows the request: nothing is ever sent, its retransmissions are absorbed. */
  swallow(): void;
  /** Ends its timers without telling anybody. */
  close(): void;
}

export interface ServerEnvironment {
  send(flow: Flow, text: string, sent?: (error?: SendError) => void): void;
  after(milliseconds: number, callback: () => void): Timer;
  ended(transaction: ServerTransaction, key: string): void;
  countRetransmission(): void;
  /** An INVITE was refused because nobody was going to answer it. */
  countAbandoned(): void;
}

export interface ServerStart {
  readonly id: string;
  readonly key: string;
  readonly request: Inbound;
  readonly answerFlow: Flow;
  readonly toTag: string;
}
