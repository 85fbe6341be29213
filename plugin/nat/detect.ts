import { isIP } from 'node:net';
import { parseUri } from '../message/uri';
import type { SipMessage } from '../message/sip-message';
import type { FlowEnd, FlowTransport } from './flow';
import { ipToBytes } from './ip-bytes';

/** Why an endpoint can only be reached by its flow; the words appear in logs and `dsbc explain`. */
export const NAT_SIGNS = ['stream', 'via_differs', 'contact_differs', 'contact_unreachable'] as const;
export type NatSign = (typeof NAT_SIGNS)[number];

export interface PacketSource extends FlowEnd {
  readonly transport: FlowTransport;
}

/**
 * Whether requests to this endpoint must go along its flow, and by which sign; undefined if it can be reached at its
 * Contact. On a stream it always must: the connection was made by the device, and we may not be able to make one.
 */
export function detectNat(message: SipMessage, source: PacketSource): NatSign | undefined {
  if (source.transport !== 'udp') return 'stream';
  const { via } = message;
  if (via !== undefined && !isAt(via.host, via.port, source)) return 'via_differs';
  for (const contact of message.contacts) {
    const uri = parseUri(contact.uri);
    // `*` and tel: name no host that could differ.
    if (uri === undefined || uri.host === '') continue;
    const host = uri.host.replace(/^\[|\]$/g, '');
    // RFC 7118 §5: browsers write a host under .invalid, since they have none.
    if (host.endsWith('.invalid')) return 'contact_unreachable';
    if (isIP(host) !== 0 && !isAt(host, uri.port, source)) return 'contact_differs';
  }
  return undefined;
}

/** Host names are not looked up: one in Via or Contact says nothing about NAT. */
function isAt(hostText: string, port: number | undefined, source: FlowEnd): boolean {
  const host = hostText.replace(/^\[|\]$/g, '');
  if (isIP(host) === 0) return true;
  return (port ?? 5060) === source.port && sameAddress(host, source.address);
}

function sameAddress(a: string, b: string): boolean {
  return a === b || ipToBytes(a)?.join() === ipToBytes(b)?.join();
}
