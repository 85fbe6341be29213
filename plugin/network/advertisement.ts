import { SocketAddress } from 'node:net';

/** The 16 bytes of an IPv6 address. */
function ipv6Bytes(address: string): Buffer {
  // inet_ntop's text: at most one '::', and a dotted tail only for mapped and compatible addresses.
  const text = new SocketAddress({ address, family: 'ipv6' }).address.replace(
    /(\d+)\.(\d+)\.(\d+)\.(\d+)$/,
    (_, ...parts: string[]) => {
      const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number);
      return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    },
  );
  const [head = '', tail] = text.split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const before = groups(head);
  const after = groups(tail ?? '');
  const middle = Array<string>(8 - before.length - after.length).fill('0');
  const bytes = Buffer.alloc(16);
  [...before, ...middle, ...after].forEach((group, at) => bytes.writeUInt16BE(parseInt(group, 16), at * 2));
  return bytes;
}

function checksum(parts: readonly Buffer[]): number {
  let sum = 0;
  for (const part of parts) for (let at = 0; at < part.length; at += 2) sum += part.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/**
 * The Ethernet frame of an unsolicited neighbour advertisement (RFC 4861 §4.4, §7.2.6): to all-nodes, hop limit 255,
 * override flag, target link-layer option. `hardware` is `02:00:00:00:00:01`. native/garp.cc builds the same.
 */
export function neighbourAdvertisement(hardware: string, address: string): Buffer {
  const mac = Buffer.from(hardware.replaceAll(':', ''), 'hex');
  const target = ipv6Bytes(address);
  const allNodes = ipv6Bytes('ff02::1');
  const icmp = Buffer.concat([Buffer.from([136, 0, 0, 0, 0x20, 0, 0, 0]), target, Buffer.from([2, 1]), mac]);
  const pseudoHeader = Buffer.concat([target, allNodes, Buffer.from([0, 0, 0, icmp.length, 0, 0, 0, 58])]);
  icmp.writeUInt16BE(checksum([pseudoHeader, icmp]), 2);
  const ethernet = Buffer.concat([Buffer.from('333300000001', 'hex'), mac, Buffer.from([0x86, 0xdd])]);
  const ipv6 = Buffer.concat([Buffer.from([0x60, 0, 0, 0, 0, icmp.length, 58, 255]), target, allNodes]);
  return Buffer.concat([ethernet, ipv6, icmp]);
}
