import { isIPv4, isIPv6 } from 'node:net';

/**
 * The bytes of an IP address, 4 or 16 of them; undefined if it is none. A zone (`%eth0`) is left out; an IPv4
 * address in an IPv6 coat (`::ffff:192.0.2.1`, as a dual-stack socket reports it) becomes its 4 bytes.
 */
export function ipToBytes(address: string): number[] | undefined {
  if (isIPv4(address)) return address.split('.').map(Number);
  const bare = address.split('%', 1)[0] ?? '';
  if (!isIPv6(bare)) return undefined;
  const [head = '', tail] = bare.split('::');
  const front = groups(head);
  const back = tail === undefined ? [] : groups(tail);
  const gap = tail === undefined ? 0 : 8 - front.length - back.length;
  const words = [...front, ...Array<number>(gap).fill(0), ...back];
  const bytes = words.flatMap((word) => [word >> 8, word & 0xff]);
  const isMapped = words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
  return isMapped ? bytes.slice(12) : bytes;
}

/** The text of 4 or 16 bytes; IPv6 by RFC 5952 (lower case, longest run of zeros cut), without brackets. */
export function bytesToIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const words: number[] = [];
  for (let at = 0; at < bytes.length; at += 2) words.push(((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0));
  const run = longestZeroRun(words);
  const hex = (part: number[]): string => part.map((word) => word.toString(16)).join(':');
  if (run.length < 2) return hex(words);
  return `${hex(words.slice(0, run.start))}::${hex(words.slice(run.start + run.length))}`;
}

function groups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}

function longestZeroRun(words: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (let at = 0; at <= words.length; at++) {
    if (words[at] === 0) continue;
    if (at - start > best.length) best = { start, length: at - start };
    start = at + 1;
  }
  return best;
}
