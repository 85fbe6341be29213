import { isIPv4, isIPv6 } from 'node:net';
import { parseNodeUri } from './address';

interface Server {
  readonly server: 'embedded' | 'drachtio';
  readonly entry: {
    readonly address: string;
    readonly transports: readonly string[];
    readonly tls_port?: number | undefined;
  };
}

/**
 * Whether a SIP server can send to a node: it sends from its entry address, over the transports that it serves there.
 * What a host name stands for is not known here.
 */
export function canReach({ server, entry }: Server, uri: string): boolean {
  const { host = '', transport = 'udp' } = parseNodeUri(uri) ?? {};
  if (isIPv4(host) !== isIPv4(entry.address) && (isIPv4(host) || isIPv6(host))) return false;
  if (transport !== 'tls') return entry.transports.includes(transport);
  return server === 'drachtio' && entry.tls_port !== undefined;
}
