import { parseUri } from '../message/uri';
import type { SipMessage } from '../message/sip-message';
import type { RequestRecord } from './request-record';

/** A longer user or host is cut: what matters is that a scanner's guesses differ. */
const MAX_CHARS = 48;

/**
 * What a request that failed was about, as its sender wrote it; how many different ones a source fails with says whether it
 * is a scanner (admission/source-limits.ts). The address of record it speaks for: of the To of a REGISTER, else of the From; so that
 * a phone with a wrong account asks for one thing, whatever it sends. With an INVITE that was refused here the called
 * user comes to it: one who is nobody here and dials many numbers tries which of them gets out.
 */
export function askedFor(message: SipMessage, record: Readonly<RequestRecord>): string {
  const speaker = message.method === 'REGISTER' ? message.to : message.from;
  const who = speaker === undefined ? undefined : addressIn(speaker.uri);
  if (who === undefined) return record.reason ?? '';
  const isRefusedCall = message.method === 'INVITE' && record.attempts.length === 0;
  return isRefusedCall ? `${who} ${addressIn(message.uri)}` : who;
}

function addressIn(uri: string): string {
  const parsed = parseUri(uri);
  if (parsed === undefined) return uri.slice(0, MAX_CHARS);
  return `${(parsed.user ?? '').slice(0, MAX_CHARS)}@${parsed.host.slice(0, MAX_CHARS)}`;
}
