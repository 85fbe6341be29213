import { headerKey } from '../message/header-name';

/**
 * Headers that no hook adds or takes out: those of the transaction (RFC 3261 §8.1.1, §17), the dialog (§12, RFC 3262 §7) and
 * the way (§16, RFC 3327), which the relays and the SIP server own, and those that say how to read a body (§7.4),
 * which hooks cannot change. docs/hooks.md lists them; a test keeps the two equal.
 */
export const PROTECTED_HEADERS = [
  ...['Via', 'From', 'To', 'Call-ID', 'CSeq', 'Max-Forwards', 'Contact', 'Route', 'Record-Route', 'Path'],
  ...['RSeq', 'RAck', 'Content-Length', 'Content-Type', 'Content-Encoding'],
] as const;

/** Orders to a SIP server of ours begin so; drachtio-server must never see one. */
const ORDER_PREFIX = 'x-dsbc-';

const PROTECTED: ReadonlySet<string> = new Set(PROTECTED_HEADERS.map((name) => name.toLowerCase()));

/** Whether a header, named in full or compact in any case, is protected; `_` is `-`, since drachtio-server takes it so. */
export function isProtected(name: string): boolean {
  const key = headerKey(name).replaceAll('_', '-');
  return PROTECTED.has(key) || key.startsWith(ORDER_PREFIX);
}
