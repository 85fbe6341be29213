import { isIPv6, SocketAddress } from 'node:net';
import type { SipServerConfig } from '../config/types';
import type { SipLink, TransportAddress } from '../link/sip-link';

/** What listens on all addresses. */
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/**
 * Why nobody can reach a SIP server at its entry address, in one sentence: it listens there neither by itself nor, as
 * an `external-ip` in its configuration says, behind an address translation. Undefined if it does, or while it is not connected.
 */
export function entryTrouble(
  { name, entry }: Pick<SipServerConfig, 'name' | 'entry'>,
  link: Pick<SipLink, 'state' | 'addresses' | 'bound'>,
): string | undefined {
  const listens = [...link.addresses, ...link.bound];
  if (link.state !== 'connected' || listens.length === 0) return undefined;
  const ports = [entry.port, entry.tls_port, entry.ws_port, entry.wss_port];
  const address = plain(entry.address);
  const isEntry = (one: TransportAddress): boolean =>
    ports.includes(one.port) && (plain(one.address) === address || WILDCARDS.has(plain(one.address)));
  if (listens.some(isEntry)) return undefined;
  const places = [...new Set(link.addresses.map((one) => `${one.transport} ${hostPort(one)}`))].join(', ');
  return `SIP server ${name} does not listen on its entry address ${hostPort(entry)}: it listens on ${places}`;
}

/** An address without brackets, in the one way an IPv6 address is written. */
function plain(address: string): string {
  const bare = address.replace(/^\[|\]$/g, '');
  return isIPv6(bare) ? new SocketAddress({ address: bare, family: 'ipv6' }).address : bare;
}

const hostPort = ({ address, port }: { address: string; port: number }): string =>
  `${isIPv6(address) ? `[${address}]` : address}:${port}`;
