import { isIPv6 } from 'node:net';

/** An IP address as a number: 32 bits for IPv4, 128 bits for IPv6. */
export type ParsedAddress =
  { readonly family: 4; readonly bits: number } | { readonly family: 6; readonly bits: bigint };

/** The 32 bits of a dotted IPv4 address; -1 if the text is none. On the path of every request, hence no regular expression. */
function parse4(text: string): number {
  let value = 0;
  let octet = 0;
  let digits = 0;
  let dots = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 46) {
      if (digits === 0 || ++dots > 3) return -1;
      value = value * 256 + octet;
      octet = 0;
      digits = 0;
    } else {
      if (code < 48 || code > 57) return -1;
      octet = octet * 10 + code - 48;
      if (++digits > 3 || octet > 255) return -1;
    }
  }
  return dots === 3 && digits > 0 ? value * 256 + octet : -1;
}

const parse6 = (text: string): bigint => {
  const [plain = ''] = text.split('%', 1);
  const lastColon = plain.lastIndexOf(':');
  const dotted = plain.indexOf('.') > 0;
  let tail: string[] = [];
  let body = plain;
  if (dotted) {
    const low = parse4(plain.slice(lastColon + 1));
    tail = [Math.floor(low / 65536).toString(16), (low % 65536).toString(16)];
    body = plain.slice(0, lastColon + 1);
    if (!body.endsWith('::')) body = body.slice(0, -1);
  }
  const [left = '', right] = body.split('::', 2);
  const head = left === '' ? [] : left.split(':');
  const rest = [...(right === undefined || right === '' ? [] : right.split(':')), ...tail];
  const zeros = Array.from({ length: 8 - head.length - rest.length }, () => '0');
  const groups = right === undefined ? [...head, ...tail] : [...head, ...zeros, ...rest];
  return groups.reduce((value, group) => (value << 16n) | BigInt(parseInt(group, 16)), 0n);
};

const MAPPED = 0xffffn << 32n;

/**
 * Reads an IPv4 or IPv6 address, with or without brackets. An IPv4-mapped IPv6 address (::ffff:a.b.c.d,
 * what a dual-stack socket reports) is the IPv4 address it stands for. Undefined for anything else.
 */
export function parseAddress(text: string): ParsedAddress | undefined {
  const four = parse4(text);
  if (four >= 0) return { family: 4, bits: four };
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  if (!isIPv6(bare)) return undefined;
  const bits = parse6(bare);
  if (bits >> 32n === MAPPED >> 32n) return { family: 4, bits: Number(bits & 0xffffffffn) };
  return { family: 6, bits };
}

/** One spelling per address: `2001:DB8:0::1` and `[2001:db8::1]` are equal; a host name comes back in lower case. */
export function canonicalHost(host: string): string {
  if (!host.includes(':') && !host.endsWith('.')) return host.toLowerCase();
  const parsed = parseAddress(host);
  if (parsed === undefined) {
    const lower = host.toLowerCase();
    return lower.endsWith('.') ? lower.slice(0, -1) : lower;
  }
  if (parsed.family === 6) return `v6:${parsed.bits.toString(16)}`;
  return `${parsed.bits >>> 24}.${(parsed.bits >>> 16) & 255}.${(parsed.bits >>> 8) & 255}.${parsed.bits & 255}`;
}

const mask4 = (bits: number, prefix: number): number =>
  prefix === 0 ? 0 : (bits & (-1 << (32 - prefix))) >>> 0;
const mask6 = (bits: bigint, prefix: number): bigint =>
  (bits >> BigInt(128 - prefix)) << BigInt(128 - prefix);

interface Level<K, V> {
  readonly prefix: number;
  readonly nets: Map<K, V>;
}

/** Which network an address belongs to: the longest prefix wins. Built once per configuration, then only read. */
export class AddressTable<V> {
  readonly #four: Level<number, V>[] = [];
  readonly #six: Level<bigint, V>[] = [];

  /**
   * Adds an address or a network in CIDR form. The first value given for a network stays.
   * @returns false if the text is neither
   */
  add(net: string, value: V): boolean {
    const slash = net.lastIndexOf('/');
    const parsed = parseAddress(slash < 0 ? net : net.slice(0, slash));
    if (parsed === undefined) return false;
    const width = parsed.family === 4 ? 32 : 128;
    const prefix = slash < 0 ? width : Number(net.slice(slash + 1));
    if (!Number.isInteger(prefix) || prefix < 0 || prefix > width) return false;
    if (parsed.family === 4) put(this.#four, prefix, mask4(parsed.bits, prefix), value);
    else put(this.#six, prefix, mask6(parsed.bits, prefix), value);
    return true;
  }

  find(address: string): V | undefined {
    const four = parse4(address);
    if (four >= 0) return this.#find4(four);
    const parsed = parseAddress(address);
    if (parsed === undefined) return undefined;
    if (parsed.family === 4) return this.#find4(parsed.bits);
    for (const level of this.#six) {
      const found = level.nets.get(mask6(parsed.bits, level.prefix));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #find4(bits: number): V | undefined {
    for (const level of this.#four) {
      const found = level.nets.get(mask4(bits, level.prefix));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function put<K, V>(levels: Level<K, V>[], prefix: number, net: K, value: V): void {
  let level = levels.find((one) => one.prefix === prefix);
  if (level === undefined) {
    level = { prefix, nets: new Map() };
    levels.push(level);
    levels.sort((a, b) => b.prefix - a.prefix);
  }
  if (!level.nets.has(net)) level.nets.set(net, value);
}
