import type { SipMessage } from '../message/sip-message';
import type {
  ClientOutcome,
  FlowChoice,
  HeaderLine,
  InboundRequest,
  ResponseSpec,
  SipLink,
  TransportAddress,
} from './sip-link';

/** An answer on a leg, provisional or final. */
export interface LegAnswer {
  readonly status: number;
  readonly message: SipMessage;
  readonly source: TransportAddress;
}

/** A request inside a dialog: the server adds route, tags, Call-ID, CSeq and Contact. */
export interface InDialogRequest {
  readonly method: string;
  readonly headers: readonly HeaderLine[];
  readonly body?: string;
  /** Milliseconds until the wait for a final answer ends. */
  readonly timeoutMs: number;
  readonly onProvisional?: (answer: LegAnswer) => void;
  /** Aborted: an INVITE is cancelled (CANCEL goes out); what the far side then says is the outcome. */
  readonly cancel?: AbortSignal;
  /** Aborted: the wait ends at once as `aborted`. */
  readonly signal?: AbortSignal;
}

export interface HeadersAndBody {
  readonly headers: readonly HeaderLine[];
  readonly body: string;
}

/** One leg of ours: a dialog that lives in the SIP server and is steered from here. */
export interface SipDialog {
  /** The server's id of it. */
  readonly id: string;
  readonly link: SipLink;
  /** As they stand in the leg's messages; known once an answer of it was seen. */
  readonly callId: string;
  readonly localTag: string;
  readonly remoteTag: string;
  /** No request can be sent any more. */
  readonly ended: boolean;
  request(request: InDialogRequest): Promise<ClientOutcome>;
  /** Acknowledges the 2xx of an INVITE (of the one that opened the dialog, or a later one). */
  acknowledge(ack?: HeadersAndBody): void;
  /** Acknowledges a reliable provisional answer (RFC 3262). */
  acknowledgeProvisional(answer: LegAnswer, inviteCSeq: number, prack?: HeadersAndBody): void;
  /**
   * Called with every request of the other side, ACK included (which takes no answer). What came before it was
   * set is given at once, in order.
   */
  onRequest(handler: (request: InboundRequest) => void): void;
  /** Keeps requests for the next handler. */
  hold(): void;
  /** Called once when the server ended the dialog by itself (no ACK, session timer, link lost). */
  onLost(listener: (reason: string) => void): void;
  /** Forgets it here; what still comes for it is answered by the server. */
  forget(): void;
}

/** A dialog-forming request of ours: INVITE or SUBSCRIBE. */
export interface OpeningRequest extends FlowChoice {
  readonly method: 'INVITE' | 'SUBSCRIBE';
  readonly uri: string;
  readonly headers: readonly HeaderLine[];
  readonly body?: string;
  readonly nextHop?: string;
  /** Milliseconds until it ends whatever happens. */
  readonly timeoutMs: number;
  readonly onProvisional?: (answer: LegAnswer) => void;
}

export type OpeningOutcome =
  { readonly kind: 'opened'; readonly dialog: SipDialog; readonly answer: LegAnswer } | ClientOutcome;

/** A dialog-forming request under way. */
export interface Opening {
  readonly outcome: Promise<OpeningOutcome>;
  /** The early dialog a reliable provisional answer belongs to. */
  readonly early: SipDialog | undefined;
  /** Sends CANCEL; the outcome is what the far side then says. */
  cancel(headers?: readonly HeaderLine[]): void;
  /** Sends CANCEL and ends at once as `aborted`; a 2xx that comes all the same is acknowledged and hung up. */
  abandon(): void;
}

/** What a link can do with dialogs. */
export interface DialogLink extends SipLink {
  openDialog(request: OpeningRequest): Opening;
  /**
   * Answers a dialog-forming request with 101 to 299 and gives back the leg (the same for every answer).
   * @throws DsbcError as `respond` does.
   */
  respondInDialog(request: InboundRequest, response: ResponseSpec): Promise<SipDialog>;
  /** Legs under way. */
  readonly dialogs: number;
}
