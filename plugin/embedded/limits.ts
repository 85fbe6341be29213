/** Bounds of everything an unknown sender could make grow. */
export interface Limits {
  /** Bytes of one SIP message on a stream, head and body together. */
  readonly messageBytes: number;
  /** Open stream connections, all sources together. */
  readonly connections: number;
  /** Open stream connections from one address. An office behind one NAT address is one source. */
  readonly connectionsPerSource: number;
  /** Milliseconds from the first byte of a message on a stream to its last. */
  readonly messageMs: number;
  /** Milliseconds until a connection that never brought a whole message is closed. */
  readonly firstMessageMs: number;
  /** Milliseconds without any byte until a connection is closed; longer than usual registrations. */
  readonly idleMs: number;
  /** Milliseconds for the other side to take what was written before a connection that we end is cut. */
  readonly endMs: number;
  /** Milliseconds to open a connection. */
  readonly connectMs: number;
  /** Bytes waiting to be written to one connection before it is given up. */
  readonly writeBytes: number;
  /** Transactions held at one time, server and client ones together; beyond: 503. */
  readonly transactions: number;
  /**
   * Server transactions of one address; beyond: 503. One lasts up to 32 s, so the default is 3,000 requests a second
   * from one site or office, and no single sender can fill the table.
   */
  readonly transactionsPerSource: number;
  /** Bytes of the requests that server transactions were opened for, all together; beyond: 503. A request may have 64 KB. */
  readonly transactionBytes: number;
  /** The same of one address. */
  readonly transactionBytesPerSource: number;
  /** Dialogs held at one time for applications; beyond: 503. */
  readonly dialogs: number;
  /** Bytes of one frame of the control protocol. */
  readonly frameBytes: number;
  /** Connections of applications. */
  readonly applications: number;
}

export const DEFAULT_LIMITS: Limits = Object.freeze({
  messageBytes: 128 * 1024,
  connections: 20_000,
  connectionsPerSource: 2_000,
  messageMs: 32_000,
  firstMessageMs: 32_000,
  idleMs: 3_900_000,
  endMs: 4_000,
  connectMs: 4_000,
  writeBytes: 1024 * 1024,
  transactions: 250_000,
  transactionsPerSource: 100_000,
  transactionBytes: 512 * 1024 * 1024,
  transactionBytesPerSource: 256 * 1024 * 1024,
  dialogs: 50_000,
  frameBytes: 1024 * 1024,
  applications: 64,
});
