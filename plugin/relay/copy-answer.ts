import type { HeaderLine, LinkCapabilities, ResponseSpec } from '../link/sip-link';
import { IDENTITY_HEADERS } from '../message/identity-headers';
import { param, splitList } from '../message/name-addr';
import { formatParameter } from '../message/parameters';
import type { SipMessage } from '../message/sip-message';
import type { Distrusted } from './relay';
import {
  contactLines,
  hidesContactOf2xx,
  isMistaken,
  mustBeJoined,
  startsSessionTimer,
} from './server-traps';
import { isUnreadable } from './unreadable-header';

/** Headers that belong to the server's own transaction with the caller. */
const HOP_HEADERS = new Set(['via', 'from', 'to', 'call-id', 'cseq', 'content-length']);
const IDENTITY: ReadonlySet<string> = new Set(IDENTITY_HEADERS);

/**
 * A far side's final answer as it goes back to the caller: every header line of its own (several challenges stay
 * several), the far side's To tag kept, the body byte for byte.
 */
export function copyAnswer(
  method: string,
  answer: SipMessage,
  can: LinkCapabilities,
  distrusted?: Distrusted,
): ResponseSpec {
  const hide = hidesContactOf2xx(method, answer.status, can);
  const headers: HeaderLine[] = [];
  const joined = new Map<string, string[]>();
  const to = toWithTag(answer);
  if (to !== undefined) headers.push(['To', to]);
  for (const header of answer.headers) {
    const { key } = header;
    if (HOP_HEADERS.has(key) || isMistaken(header, can) || startsSessionTimer(key, can)) continue;
    if (isUnreadable(header, can) || (distrusted === 'callee' && IDENTITY.has(key))) continue;
    if (hide && key === 'contact') {
      const bindings = splitList(header.value).map((text) => withExpires(text, answer.expires));
      headers.push(['M', bindings.join(', ')]);
    } else if (hide && key === 'expires') {
      continue;
    } else if (mustBeJoined(key) && !can.exactHeaders) {
      const values = joined.get(key);
      if (values === undefined) joined.set(key, [header.value]);
      else values.push(header.value);
    } else if (key === 'contact' && answer.status >= 300) {
      headers.push(...contactLines(header, can));
    } else {
      headers.push([header.name, header.value]);
    }
  }
  for (const [key, values] of joined) {
    headers.push([key === 'path' ? 'Path' : 'Service-Route', values.join(', ')]);
  }
  return {
    status: answer.status,
    ...(answer.reason === '' ? {} : { reason: answer.reason.replace(/[\r\n\0]/g, ' ') }),
    headers,
    body: answer.body,
  };
}

/**
 * To with its name and parameters (RFC 3261 §8.2.6.2). The server takes for its tag all behind the first `tag=`, so the tag stands
 * last; a To that says `tag=` before it is cut to what is needed.
 */
function toWithTag({ to }: SipMessage): string | undefined {
  const tag = to && param(to.params, 'tag');
  if (to === undefined || typeof tag !== 'string') return undefined;
  const { displayName, uri, params } = to;
  const name = displayName === undefined ? '' : `"${displayName.replace(/[\\"]/g, '\\$&')}" `;
  const others = params.filter(([key]) => key.toLowerCase() !== 'tag').map(formatParameter);
  const whole = `${name}<${uri}>${others.join('')}`;
  return `${/tag=|\0/i.test(whole) ? `<${uri}>` : whole};tag=${tag}`;
}

/**
 * A binding with its lifetime as a parameter, since the Expires header that gave it is left out.
 * RFC 3261 §10.2.4: without a parameter of its own it lives as long as Expires says.
 */
function withExpires(contact: string, expires: number | undefined): string {
  if (expires === undefined || /;\s*expires\s*=/i.test(contact)) return contact;
  return `${contact};expires=${expires}`;
}
