import type { InDialogRequest, LegAnswer, SipDialog } from '../link/sip-dialog';
import type { ClientOutcome, HeaderLine, InboundRequest, ResponseSpec } from '../link/sip-link';
import { IDENTITY_HEADERS } from '../message/identity-headers';
import type { SipMessage } from '../message/sip-message';
import type { Logger } from '../telemetry/logger';
import { answerHeaders, inDialogHeaders } from './leg-headers';
import type { LegIds } from './leg-ids';
import type { Distrusted } from './relay';
import { statusInDialog } from './server-traps';

/** 64 × T1. */
export const NON_INVITE_MS = 32_000;

const NOTHING: ReadonlySet<string> = new Set();
const IDENTITY: ReadonlySet<string> = new Set(IDENTITY_HEADERS);

/** Who is not believed, and by what the caller's leg is known. */
export interface Belief {
  readonly distrusted: Distrusted | undefined;
  readonly callerCallId: string | undefined;
}

/** What changes about a request, and about its answer, on the way from one leg to the other. */
export class Crossing {
  constructor(
    private readonly ids: LegIds,
    private readonly log: Logger,
    private readonly belief: Belief = { distrusted: undefined, callerCallId: undefined },
  ) {}

  /** Headers that the leg a message came by may not say (RFC 3325 §5: of requests and answers, in a dialog as before it). */
  removedFrom({ callId }: SipMessage): ReadonlySet<string> {
    const { distrusted, callerCallId } = this.belief;
    const side: Distrusted = callId === callerCallId ? 'caller' : 'callee';
    return side === distrusted ? IDENTITY : NOTHING;
  }

  /** The request as it goes out on the other leg; INVITE too, whose time and provisional answers are the caller's. */
  requestOf(request: InboundRequest, to: SipDialog): InDialogRequest {
    const { message } = request;
    return {
      method: message.method,
      headers: this.headersOf(request, to),
      body: this.bodyOf(request),
      timeoutMs: NON_INVITE_MS,
    };
  }

  headersOf({ message }: InboundRequest, to: SipDialog): HeaderLine[] {
    const removed = this.removedFrom(message);
    return this.ids.mapHeaders(inDialogHeaders(message, to.link.capabilities, removed));
  }

  /** The answer to what crossed, as `from` hears it. */
  responseTo(outcome: ClientOutcome, from: SipDialog, { message, source }: InboundRequest): ResponseSpec {
    switch (outcome.kind) {
      case 'answer': {
        const asked = { method: message.method, transport: source.transport };
        const status = statusInDialog(outcome.status, asked, from.link.capabilities);
        return { ...this.response(outcome, from), status };
      }
      case 'timeout':
        return { status: 408 };
      case 'aborted':
        return { status: 487 };
      case 'transport_error':
        // The leg is gone on the far side of the server: the dialog is not there any more.
        return { status: /dialog/i.test(outcome.reason) ? 481 : 503 };
      case 'link_lost':
        return { status: 503 };
    }
  }

  response({ message, status }: LegAnswer, from: SipDialog): ResponseSpec {
    return {
      status,
      ...(message.reason === '' ? {} : { reason: message.reason.replace(/[\r\n\0]/g, ' ') }),
      headers: answerHeaders(message, from.link.capabilities, this.removedFrom(message)),
      body: message.body,
    };
  }

  /** Answers; whoever asked may be gone. True if the answer went out. */
  async answer(request: InboundRequest, response: ResponseSpec): Promise<boolean> {
    try {
      await request.link.respond(request, response);
      return true;
    } catch (error) {
      this.log.info({ err: error, callId: request.message.callId }, 'answer in a dialog not delivered');
      return false;
    }
  }

  private bodyOf({ message }: InboundRequest): string {
    const isDialogInfo = /^application\/dialog-info\+xml\b/i.test(message.get('content-type') ?? '');
    return isDialogInfo ? this.ids.mapDialogInfo(message.body) : message.body;
  }
}

/** Of an ACK or PRACK only what describes its body goes over. */
export function contentHeaders({ message }: InboundRequest): HeaderLine[] {
  const headers: HeaderLine[] = [];
  for (const header of message.headers) {
    if (header.key.startsWith('content-') && header.key !== 'content-length') {
      headers.push([header.key === 'content-type' ? 'Content-Type' : header.name, header.value]);
    }
  }
  return headers;
}
