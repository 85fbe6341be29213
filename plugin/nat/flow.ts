import { bytesToIp, ipToBytes } from './ip-bytes';

/** The order is part of the token's format: only add at the end. */
export const FLOW_TRANSPORTS = ['udp', 'tcp', 'tls', 'ws', 'wss'] as const;
export type FlowTransport = (typeof FLOW_TRANSPORTS)[number];

/** One end of a flow; IPv6 without brackets. */
export interface FlowEnd {
  readonly address: string;
  readonly port: number;
}

/** How to reach one endpoint: from which entry address, over what, to which address. */
export interface Flow {
  readonly entry: FlowEnd;
  readonly transport: FlowTransport;
  readonly remote: FlowEnd;
}

const ENTRY_IS_V6 = 0x10;
const REMOTE_IS_V6 = 0x20;

/**
 * A flow in bytes: one of transport and address families, then entry address and port, remote address and port.
 * 13 bytes for IPv4, 37 for IPv6. The same flow always gives the same bytes.
 * @throws TypeError if an address is no IP address or a port is out of range.
 */
export function packFlow(flow: Flow): Buffer {
  const entry = bytesOf(flow.entry);
  const remote = bytesOf(flow.remote);
  const kind =
    FLOW_TRANSPORTS.indexOf(flow.transport) |
    (entry.length === 18 ? ENTRY_IS_V6 : 0) |
    (remote.length === 18 ? REMOTE_IS_V6 : 0);
  return Buffer.from([kind, ...entry, ...remote]);
}

/** The flow of these bytes; undefined if they are not exactly what packFlow makes. */
export function unpackFlow(bytes: Uint8Array): Flow | undefined {
  const kind = bytes[0] ?? 0xff;
  const transport = FLOW_TRANSPORTS[kind & 0x0f];
  if (transport === undefined || (kind & 0xc0) !== 0) return undefined;
  const entryLength = (kind & ENTRY_IS_V6) === 0 ? 6 : 18;
  const remoteLength = (kind & REMOTE_IS_V6) === 0 ? 6 : 18;
  if (bytes.length !== 1 + entryLength + remoteLength) return undefined;
  return {
    entry: endOf(bytes.subarray(1, 1 + entryLength)),
    transport,
    remote: endOf(bytes.subarray(1 + entryLength)),
  };
}

/** True if both name the same way, however the addresses are written. */
export function sameFlow(a: Flow, b: Flow): boolean {
  return packFlow(a).equals(packFlow(b));
}

/** True for transports with a connection, which can only be used while it stands. */
export function isStream(transport: FlowTransport): boolean {
  return transport !== 'udp';
}

function bytesOf(end: FlowEnd): number[] {
  const address = ipToBytes(end.address);
  if (address === undefined) throw new TypeError(`not an IP address: ${end.address}`);
  if (!Number.isInteger(end.port) || end.port < 0 || end.port > 65535)
    throw new TypeError(`not a port: ${end.port}`);
  return [...address, end.port >> 8, end.port & 0xff];
}

function endOf(bytes: Uint8Array): FlowEnd {
  const cut = bytes.length - 2;
  return {
    address: bytesToIp(bytes.subarray(0, cut)),
    port: ((bytes[cut] ?? 0) << 8) | (bytes[cut + 1] ?? 0),
  };
}
