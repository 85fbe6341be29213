/** What became of one datagram, as the kernel took it from an ICMP message or found by itself. */
export interface UdpErrorReport {
  /** Where the datagram was to go. */
  readonly address: string;
  readonly port: number;
  /** An errno. */
  readonly error: number;
  /** Who says so: 1 this host, 2 ICMP, 3 ICMPv6. */
  readonly origin: number;
  /** Of the ICMP message. */
  readonly type: number;
  readonly code: number;
  /** The datagram's head, as far as it was quoted; latin1 text. */
  readonly quote: string;
}

/** A UDP socket with its error queue; `native/udp_errors` is one. Methods that can fail return an errno, 0 for success. */
export interface UdpErrorQueue {
  /** Makes a bound socket and gives its descriptor, which the caller has to close, or an errno as a negative number. */
  open(address: string, port: number): number;
  /** To be called once node has the descriptor. */
  adopted(): number;
  /** The oldest reports. If there are 64 there may be more: it has to be called again soon, which nobody else will say. */
  read(): readonly UdpErrorReport[];
  /** Ends reading; the socket stays. */
  close(): void;
}

/** Reports read at once: what somebody floods us with must not hold up the event loop. */
export const REPORTS_AT_ONCE = 64;

const ICMP = 2;
const ICMPV6 = 3;
const UNREACHABLE_V4 = 3;
const TOO_BIG_V4 = 4;
const UNREACHABLE_V6 = 1;

/**
 * Host, network or port unreachable: the transport error of RFC 3261 §18.4. Not so "too big" (the kernel cuts the next one
 * smaller), "time exceeded" and "source quench".
 */
export function isUnreachable({ origin, type, code }: UdpErrorReport): boolean {
  if (origin === ICMP) return type === UNREACHABLE_V4 && code !== TOO_BIG_V4;
  return origin === ICMPV6 && type === UNREACHABLE_V6;
}

/** Which of our requests a quote is the head of. */
export interface QuotedRequest {
  readonly method: string;
  readonly branch: string;
}

/**
 * Undefined where the quote is none of a request, or ends before the branch does: 28 bytes are all that a host must quote,
 * and what has no branch anybody could have made up.
 */
export function quotedRequest(quote: string): QuotedRequest | undefined {
  const found =
    /^([A-Z]{1,32}) \S+ SIP\/2\.0\r\n(?:.*\r\n)*?(?:via|v)[ \t]*:[^\r\n]*?;branch=([^;,\s]+)[;,\r]/i.exec(
      quote,
    );
  const [, method, branch] = found ?? [];
  return method === undefined || branch === undefined ? undefined : { method, branch };
}
