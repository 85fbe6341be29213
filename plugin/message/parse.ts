import { FAULT, HEAD, KIND } from './scan/layout';
import { scan } from './scanner';
import { SipMessage } from './sip-message';

export type ParseResult =
  | { readonly ok: true; readonly message: SipMessage }
  | {
      readonly ok: false;
      /** What is wrong, fit for a 400's reason or a log. */
      readonly reason: string;
      /** Enough to answer: there when Via, From, To, Call-ID and CSeq could be read. */
      readonly message?: SipMessage;
    };

const REASONS: ReadonlyMap<number, string> = new Map([
  [FAULT.NO_START_LINE, 'no start line'],
  [FAULT.REQUEST_LINE, 'malformed request line'],
  [FAULT.STATUS_LINE, 'malformed status line'],
  [FAULT.BARE_LINE_END_IN_START, 'a bare CR or LF inside the start line'],
  [FAULT.BARE_LINE_END, 'a bare CR or LF inside the headers'],
  [FAULT.NO_NAME, 'a header line without a name'],
  [FAULT.CUT, 'the message ends inside a header'],
  [FAULT.TOO_MANY_ELEMENTS, 'too many header values'],
]);

/** In a response these cost their own line only: whoever forwards it leaves out what it could not read (RFC 3261 §16.3). */
const FORGIVEN_IN_RESPONSES: ReadonlySet<number> = new Set([FAULT.BARE_LINE_END, FAULT.NO_NAME]);

const ANSWER_NEEDS = ['via', 'from', 'to', 'call-id', 'cseq'];

/**
 * Takes a message apart. Never throws; time is linear in its length. Text must be latin1, one char per byte.
 *
 * Decided by RFC 3261: lines end with CRLF and nothing else (§7), so a bare CR or LF in the start line or the
 * headers is malformed rather than a line end that another parser might see; a header line has a token before
 * its colon; empty lines before the start line are skipped (§7.5). Liberal in three things: a message that ends right
 * behind a header line, without the empty line, has no body; a status line may end behind its code; and a response with
 * header lines that can't be read is one without them, since the request it answers was carried out and can't be taken back.
 */
export function parseMessage(raw: string | Buffer): ParseResult {
  const text = typeof raw === 'string' ? raw : raw.toString('latin1');
  const table = scan(text);
  const fault = table[HEAD.FAULT] ?? FAULT.NO_START_LINE;
  if (fault === FAULT.NONE) return { ok: true, message: new SipMessage(text) };
  const reason = REASONS.get(fault) ?? 'malformed';
  if (table[HEAD.KIND] === KIND.NONE) return { ok: false, reason };
  const message = new SipMessage(text);
  const isAnswerable = ANSWER_NEEDS.every((name) => (message.get(name) ?? '') !== '');
  if (!isAnswerable) return { ok: false, reason };
  const isForgiven = message.kind === 'response' && FORGIVEN_IN_RESPONSES.has(fault);
  return isForgiven ? { ok: true, message } : { ok: false, reason, message };
}
