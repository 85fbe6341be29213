import type { NatConfig } from '../config/types';
import { param } from '../message/name-addr';
import type { SipMessage } from '../message/sip-message';
import type { FlowEnd } from './flow';

/** How our Path is to look. */
export interface PathOptions {
  readonly token: string;
  /** Where the site reaches us: the entry address the device registered to, and its port for UDP and TCP. */
  readonly entry: FlowEnd;
  /** The transport the *site* is to use; not the device's, which stands in the token. Default: udp. */
  readonly transport?: 'udp' | 'tcp';
  /** The device asked for outbound (RFC 5626 §5.1). */
  readonly outbound: boolean;
}

/** `<sip:TOKEN@198.51.100.10:5060;lr>`, with `;transport=tcp` and `;ob` where they belong (RFC 3327, RFC 5626). */
export function pathValue({ token, entry, transport = 'udp', outbound }: PathOptions): string {
  const host = entry.address.includes(':') ? `[${entry.address}]` : entry.address;
  const over = transport === 'udp' ? '' : `;transport=${transport}`;
  return `<sip:${token}@${host}:${entry.port}${over};lr${outbound ? ';ob' : ''}>`;
}

/**
 * True if a REGISTER asks for outbound and we are its first hop (RFC 5626 §5.1): `Supported: outbound`, a
 * Contact with `reg-id`, and only the device's own Via.
 */
export function wantsOutbound(register: SipMessage): boolean {
  return (
    hasOption(register, 'outbound') &&
    register.vias.length === 1 &&
    register.contacts.some((contact) => param(contact.params, 'reg-id') !== undefined)
  );
}

/** True if this REGISTER is to get our Path. */
export function takesPath(register: SipMessage, mode: NatConfig['path']): boolean {
  return mode === 'always' || hasOption(register, 'path');
}

function hasOption(message: SipMessage, option: string): boolean {
  return message.list('supported').some((each) => each.trim().toLowerCase() === option);
}
