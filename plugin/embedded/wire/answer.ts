import { reasonPhrase } from '../../message/build';
import { param } from '../../message/name-addr';
import type { SipMessage } from '../../message/sip-message';
import { responseText, type Line } from './text';

export interface AnswerSpec {
  readonly status: number;
  readonly reason?: string | undefined;
  /** Added to To unless it has a tag; a 100 carries none. */
  readonly toTag?: string | undefined;
  readonly lines?: readonly Line[];
  readonly body?: string;
  /** Record-Route is copied into answers that open a dialog (RFC 3261 §12.1.1). */
  readonly recordRoute?: boolean;
}

function toLine(request: SipMessage, toTag: string | undefined): Line {
  const value = request.get('to') ?? '';
  // A To that can't be read is answered as it came: nobody could say whether it has a tag.
  const tagged = toTag === undefined || !request.to || param(request.to.params, 'tag') !== undefined;
  return { name: 'To', value: tagged ? value : `${value};tag=${toTag}` };
}

const IDENTITY: readonly (readonly [key: string, name: string])[] = [
  ['from', 'From'],
  ['to', 'To'],
  ['call-id', 'Call-ID'],
  ['cseq', 'CSeq'],
];

/** The text of an answer of our own (RFC 3261 §8.2.6). Vias are copied as they are, one line or several. */
export function answerText(request: SipMessage, spec: AnswerSpec): string {
  const { status, reason = reasonPhrase(status), toTag, lines = [], body = '' } = spec;
  const copied: Line[] = [];
  for (const header of request.headers) {
    const { key } = header;
    const wanted =
      key === 'via' ||
      (key === 'record-route' && spec.recordRoute === true) ||
      (key === 'timestamp' && status === 100);
    if (wanted) copied.push(header);
  }
  for (const [key, name] of IDENTITY) {
    const value = request.get(key);
    // What a malformed request lacks its answer lacks, too.
    if (value === undefined) continue;
    copied.push(key === 'to' ? toLine(request, status === 100 ? undefined : toTag) : { name, value });
  }
  copied.push(...lines);
  return responseText(status, reason, copied, body);
}
