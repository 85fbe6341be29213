import { isIPv4, isIPv6 } from 'node:net';

/**
 * Whether one host can be meant by an address: not broadcast, multicast or "any" (RFC 4475 §3.3.10). Answers and
 * requests that somebody else's headers send us to go nowhere else.
 */
export function isSingleHost(address: string): boolean {
  if (isIPv4(address)) {
    const first = Number(address.slice(0, address.indexOf('.')));
    return first > 0 && first < 224;
  }
  return isIPv6(address) && !/^ff/i.test(address) && address !== '::';
}
