import { bracketed } from '../message/name-addr';
import type { SipMessage } from '../message/sip-message';

/**
 * Whether a message has a Contact without a host (`*`, `tel:`, or one that can't be read as a URI with a
 * host). drachtio-server 0.9.10 follows a null pointer when it builds a dialog from one.
 */
export function hasHostlessContact(message: SipMessage): boolean {
  return message.list('contact').some((text) => !contactHasHost(text));
}

function contactHasHost(text: string): boolean {
  const uri = (bracketed(text) ?? text.split(';', 1)[0] ?? '').trim();
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(uri);
  if (match?.[1] === undefined || match[2] === undefined) return false;
  const scheme = match[1].toLowerCase();
  // Other schemes with something behind the colon (`mailto:`, `urn:`) were tried and do no harm.
  if (scheme !== 'sip' && scheme !== 'sips') return scheme !== 'tel' && match[2] !== '';
  const rest = match[2].slice(match[2].lastIndexOf('@') + 1);
  return /^(\[[0-9A-Fa-f:.]+\]|[^\s:;?[\]]+)/.test(rest);
}

/** The requests a server builds a dialog from before any answer goes out. */
export const formsDialog = (method: string): boolean => method === 'INVITE' || method === 'SUBSCRIBE';
