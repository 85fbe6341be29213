import type { HeaderLine, LinkCapabilities } from '../link/sip-link';
import { headerKey } from '../message/header-name';
import { param } from '../message/name-addr';
import type { SipMessage } from '../message/sip-message';
import type { HeaderPolicy } from './relay';
import { contactLines, givenName, isMistaken, startsSessionTimer } from './server-traps';
import { isUnreadable } from './unreadable-header';

/** Headers that belong to one leg and mean nothing on the other. */
const LEG_OWNED = new Set([
  ...['via', 'route', 'record-route', 'call-id', 'cseq', 'from', 'to', 'contact', 'path'],
  ...['max-forwards', 'content-length', 'rseq', 'rack'],
]);

const NOTHING: ReadonlySet<string> = new Set();

/** Headers of a leg's message that go over to the other leg: all but what belongs to the leg. */
function endToEnd(message: SipMessage, can: LinkCapabilities, removed: ReadonlySet<string>): HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (const header of message.headers) {
    if (LEG_OWNED.has(header.key) || removed.has(header.key) || isMistaken(header, can)) continue;
    if (message.kind === 'response' && isUnreadable(header, can)) continue;
    lines.push([givenName(header, can), header.value]);
  }
  if (message.body !== '' && message.get('content-type') === undefined && !removed.has('content-type')) {
    lines.push(['Content-Type', 'application/octet-stream']);
  }
  return lines;
}

function maxForwards(message: SipMessage): HeaderLine {
  return ['Max-Forwards', String(Math.max(0, (message.maxForwards ?? 70) - 1))];
}

/** The headers of the request that opens the second leg: From and To as the caller wrote them. */
export function openingHeaders(
  message: SipMessage,
  policy: HeaderPolicy,
  can: LinkCapabilities,
): HeaderLine[] {
  const removed = new Set((policy.remove ?? []).map(headerKey));
  return [
    ...(policy.add ?? []),
    ['From', message.get('from') ?? ''],
    ['To', withoutTag(message)],
    maxForwards(message),
    ...endToEnd(message, can, removed),
  ];
}

/** The headers of a request inside the dialog. */
export function inDialogHeaders(
  message: SipMessage,
  can: LinkCapabilities,
  removed: ReadonlySet<string> = NOTHING,
): HeaderLine[] {
  return [maxForwards(message), ...endToEnd(message, can, removed)];
}

/** The headers of an answer; a Contact goes over only where it is an alternative (3xx) or a reason, not a target. */
export function answerHeaders(
  message: SipMessage,
  can: LinkCapabilities,
  removed: ReadonlySet<string> = NOTHING,
): HeaderLine[] {
  const lines = endToEnd(message, can, removed).filter(([name]) => !startsSessionTimer(name, can));
  if (message.status < 300) return lines;
  for (const header of message.headers)
    if (header.key === 'contact') lines.push(...contactLines(header, can));
  return lines;
}

/** To without its tag; as it came where it has none, though `;tag=` may stand in its display name or user part. */
function withoutTag(message: SipMessage): string {
  const to = message.get('to') ?? '';
  return tagOf(message.to) === '' ? to : to.replace(/;\s*tag\s*=\s*[^;,\s]+/gi, '');
}

/** Whether a provisional answer was sent reliably (RFC 3262 §3). */
export const isReliable = (message: SipMessage): boolean =>
  message.get('rseq') !== undefined &&
  message.list('require').some((option) => option.toLowerCase() === '100rel');

/** The tag of a From or To. */
export function tagOf(address: SipMessage['from']): string {
  const tag = address === undefined ? undefined : param(address.params, 'tag');
  return typeof tag === 'string' ? tag : '';
}
