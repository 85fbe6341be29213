import type { HeaderLine, LinkCapabilities } from '../link/sip-link';
import { headerKey } from '../message/header-name';
import type { SipMessage } from '../message/sip-message';
import type { HeaderPolicy } from './relay';
import { givenName, isMistaken, isServerOwned, mustBeJoined } from './server-traps';

/** Max-Forwards of a request that came without (RFC 3261 §16.6 step 3). */
const DEFAULT_MAX_FORWARDS = 70;

/**
 * The headers of a request as they go on in an own transaction: parsed from the raw bytes, unfolded, each line of
 * its own, in order. The device's Vias travel as `v` below the server's own, so that the site sees the whole way.
 */
export function copyRequestHeaders(
  message: SipMessage,
  policy: HeaderPolicy,
  can: LinkCapabilities,
): HeaderLine[] {
  const removed = new Set((policy.remove ?? []).map(headerKey));
  const lines: HeaderLine[] = [];
  const joined = new Map<string, { name: string; values: string[] }>();
  if (policy.path !== undefined) joined.set('path', { name: 'Path', values: [policy.path] });
  for (const header of message.headers) {
    const { key } = header;
    if (key === 'via') {
      lines.push(['v', header.value]);
      continue;
    }
    // Where the request goes next is ours to say: a Route of the sender's would be an open relay.
    if (isServerOwned(key) || key === 'max-forwards' || removed.has(key)) continue;
    if (isMistaken(header, can)) continue;
    if (mustBeJoined(key)) {
      const list = joined.get(key) ?? { name: header.name, values: [] };
      list.values.push(header.value);
      joined.set(key, list);
      continue;
    }
    lines.push([givenName(header, can), header.value]);
  }
  const maxForwards = message.maxForwards;
  lines.push([
    'Max-Forwards',
    String(maxForwards === undefined ? DEFAULT_MAX_FORWARDS : Math.max(0, maxForwards - 1)),
  ]);
  for (const { name, values } of joined.values()) lines.push([name, values.join(', ')]);
  // A body without a type is against RFC 3261 §20.15, and the server refuses it; the type of bytes says nothing.
  if (message.body !== '' && message.get('content-type') === undefined) {
    lines.push(['Content-Type', 'application/octet-stream']);
  }
  return [...(policy.add ?? []), ...lines];
}
