import { BlockList, isIP, isIPv4, isIPv6, SocketAddress } from 'node:net';

/** A network in CIDR notation, or one address. */
export interface Net {
  readonly address: string;
  readonly prefix: number;
  readonly family: 4 | 6;
}

/** Reads `192.0.2.0/24`, `2001:db8::/32` or a bare address; undefined if it is neither. IPv6 without brackets. */
export function parseNet(text: string): Net | undefined {
  const [address, prefixText, ...rest] = text.split('/');
  if (address === undefined || rest.length > 0) return undefined;
  const family = isIP(address);
  if (family !== 4 && family !== 6) return undefined;
  const widest = family === 4 ? 32 : 128;
  if (prefixText === undefined) return { address, prefix: widest, family };
  if (!/^\d{1,3}$/.test(prefixText)) return undefined;
  const prefix = Number(prefixText);
  return prefix <= widest ? { address, prefix, family } : undefined;
}

/** A DNS name by RFC 1123: labels of letters, digits and hyphens, 253 characters at most. */
export function isHostName(text: string): boolean {
  if (text.length > 253 || /^[\d.]+$/.test(text)) return false;
  return text.split('.').every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label));
}

/** A DNS name or an IP address (IPv6 without brackets). */
export function isHost(text: string): boolean {
  return isIP(text) !== 0 || isHostName(text);
}

export interface HostPort {
  readonly host: string;
  readonly port?: number;
}

/** Reads `host`, `host:port`, `[2001:db8::1]` or `[2001:db8::1]:port`; the host comes back without brackets. */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(text);
  if (match === null) return isIPv6(text) ? { host: text } : undefined;
  const host = match[1] ?? match[2] ?? '';
  if (match[1] === undefined ? !(isIPv4(host) || isHostName(host)) : !isIPv6(host)) return undefined;
  if (match[3] === undefined) return { host };
  const port = Number(match[3]);
  return port >= 1 && port <= 65535 ? { host, port } : undefined;
}

/** A node's SIP URI as configured: where packets for it go. It has no user part: the call brings that. */
export interface NodeUri {
  /** IPv6 without brackets. */
  readonly host: string;
  readonly port?: number;
  readonly transport?: 'udp' | 'tcp' | 'tls';
}

/** Reads `sip:host[:port][;transport=udp|tcp|tls]`; undefined if there is a user part, another parameter or a fault. */
export function parseNodeUri(text: string): NodeUri | undefined {
  const match = /^sip:([^;?@]+)((?:;[^;?@]+)*)$/i.exec(text);
  if (match === null) return undefined;
  const where = parseHostPort(match[1] ?? '');
  if (where === undefined || (isIP(where.host) !== 0 && !isOneHost(where.host))) return undefined;
  const parameters = (match[2] ?? '').toLowerCase();
  const transport = /^;transport=(udp|tcp|tls)$/.exec(parameters)?.[1];
  if (parameters !== '' && transport === undefined) return undefined;
  return transport === undefined
    ? where
    : { ...where, transport: transport === 'udp' ? 'udp' : transport === 'tcp' ? 'tcp' : 'tls' };
}

/** True for 127.0.0.0/8 and ::1, which nobody outside this machine can reach. */
export function isLoopback(address: string): boolean {
  return isIPv4(address) ? address.startsWith('127.') : address === '::1';
}

/**
 * True for addresses that the public internet does not route: RFC 1918, RFC 6598 (shared), loopback,
 * link-local (RFC 3927, RFC 4291) and unique local (RFC 4193).
 */
export function isPrivate(address: string): boolean {
  if (isLoopback(address)) return true;
  if (isIPv4(address)) {
    const [a = 0, b = 0] = address.split('.').map(Number);
    return (
      a === 10 ||
      (a === 172 && b >= 16 && b <= 31) ||
      (a === 192 && b === 168) ||
      (a === 100 && b >= 64 && b <= 127) ||
      (a === 169 && b === 254)
    );
  }
  return isIPv6(address) && /^(f[cd]|fe[89ab])/i.test(address);
}

/** Addresses that no one machine has: unspecified, multicast, reserved, broadcast. IPv4 within IPv6 counts as IPv4. */
const NOT_ONE_HOST = new BlockList();
NOT_ONE_HOST.addSubnet('0.0.0.0', 8, 'ipv4');
NOT_ONE_HOST.addSubnet('224.0.0.0', 3, 'ipv4');
NOT_ONE_HOST.addAddress('::', 'ipv6');
NOT_ONE_HOST.addSubnet('ff00::', 8, 'ipv6');

/** True for an address that one machine can have; false for 0.0.0.0, ::, multicast and broadcast, and what is none. */
export function isOneHost(address: string): boolean {
  const [plain = ''] = address.split('%');
  const family = isIP(plain);
  return family !== 0 && !NOT_ONE_HOST.check(plain, family === 4 ? 'ipv4' : 'ipv6');
}

/** One spelling for each address or name, so that they can be compared. IPv6 without brackets. */
export function sameSpelling(host: string): string {
  if (!isIPv6(host) || host.includes('%')) return host.toLowerCase();
  return new SocketAddress({ address: host, family: 'ipv6' }).address;
}

/** One spelling for each network: 192.0.2.7/24 is 192.0.2.0/24. */
export function canonicalNet(text: string): string {
  const parsed = parseNet(text);
  if (parsed === undefined) return text;
  const { address, prefix, family } = parsed;
  const bytes = family === 4 ? address.split('.').map(Number) : ipv6Bytes(address);
  const kept = bytes.map((byte, at) => {
    const bits = Math.min(8, Math.max(0, prefix - at * 8));
    return byte & (0xff00 >> bits) & 0xff;
  });
  return `${kept.join('.')}/${prefix}`;
}

function ipv6Bytes(address: string): number[] {
  // The URL parser writes dotted ends as two groups.
  const text = new URL(`http://[${address.split('%')[0] ?? ''}]`).hostname.slice(1, -1);
  const [left = '', right] = text.split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const head = groups(left);
  const tail = right === undefined ? [] : groups(right);
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return [...head, ...zeros, ...tail].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
