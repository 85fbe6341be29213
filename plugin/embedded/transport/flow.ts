import { isIPv6, SocketAddress } from 'node:net';

/** The transports the embedded server has itself. */
export type TransportName = 'udp' | 'tcp';

/** An address and port that the server listens on and sends from. */
export interface EntryAddress {
  /** An IP address; IPv6 without brackets. */
  readonly address: string;
  readonly port: number;
  readonly transports: readonly TransportName[];
}

/** The way a message came, or is to go: one peer as seen from one entry address. */
export interface Flow {
  readonly transport: TransportName;
  readonly entry: EntryAddress;
  /** The other side's address (IPv6 without brackets) and port. */
  readonly address: string;
  readonly port: number;
  /** Number of the stream connection it came by; a reply goes by it as long as it is open. */
  readonly connection?: number;
  /** Only over a stream connection that is open now: never open one (RFC 5626 §5.3). */
  readonly existingOnly?: boolean;
}

/** The host part of a URI or Via for an address: IPv6 gets its brackets. */
export const hostOf = (address: string): string => (isIPv6(address) ? `[${address}]` : address);

export const hostPort = (address: string, port: number): string => `${hostOf(address)}:${port}`;

/** An address without brackets, lower case, so that two ways to write it compare equal most of the time. */
export const plainAddress = (host: string): string =>
  (host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host).toLowerCase();

/** Whether two IP addresses are one, however an IPv6 address is written; a zone counts for nothing. */
export function isSameAddress(one: string, other: string): boolean {
  if (one === other) return true;
  return isIPv6(one) && isIPv6(other) && canonicalIpv6(one) === canonicalIpv6(other);
}

const canonicalIpv6 = (address: string): string => new SocketAddress({ address, family: 'ipv6' }).address;

/** Why a message did not leave. */
export type SendFailure = 'no_transport' | 'flow_failed' | 'too_big' | 'refused';

export class SendError extends Error {
  readonly failure: SendFailure;
  constructor(failure: SendFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SendError';
    this.failure = failure;
  }
}

/** Called once, when the message is handed to the kernel or cannot be. */
export type Sent = (error?: SendError) => void;

/** Tells a failure, never while the sender is still on its way out of `send`. */
export function refuse(sent: Sent | undefined, error: SendError): void {
  if (sent) queueMicrotask(() => sent(error));
}
