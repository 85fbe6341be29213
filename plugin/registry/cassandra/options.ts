import type { ConnectionOptions } from 'node:tls';
import type { Logger } from '../../telemetry/logger';
import type { MonotonicClock } from '../../telemetry/clock';

export const CASSANDRA_CONSISTENCIES = [
  'LOCAL_ONE',
  'LOCAL_QUORUM',
  'QUORUM',
  'ONE',
  'EACH_QUORUM',
  'ALL',
] as const;
export type CassandraConsistency = (typeof CASSANDRA_CONSISTENCIES)[number];

/** How to reach the registry in Cassandra, and how patient to be with it. */
export interface CassandraOptions {
  /**
   * `host:port` (IPv6 in brackets) of nodes to begin with. Host names are resolved anew whenever no known node can be
   * reached, so nodes that came back under other addresses are found.
   */
  readonly contactPoints: readonly string[];
  /** Nodes of this data centre are asked, the others never. */
  readonly localDatacenter: string;
  /** Default `dsbc`. */
  readonly keyspace?: string;
  /** Replicas per data centre when `initialise` makes the keyspace. Default: 3 in the local one. */
  readonly replication?: Readonly<Record<string, number>>;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: ConnectionOptions;
  /**
   * For reads and writes; default LOCAL_QUORUM. What was written is then read by everybody in the data centre at once; a
   * weaker one makes changes visible late, a stronger one makes another data centre's outage ours.
   */
  readonly consistency?: CassandraConsistency;
  /** Longest wait in ms for a connection (driver's default 5000). Default 1000. */
  readonly connectTimeoutMs?: number;
  /** Longest wait in ms for one node's answer (driver's default 12 000). Default 500. */
  readonly readTimeoutMs?: number;
  /** Longest wait in ms for a look-up: queue, second node and all. Default 800. */
  readonly deadlineMs?: number;
  /** The same for a write. Default 5000. */
  readonly writeDeadlineMs?: number;
  /** A read that is not answered after so many ms is sent to a second node as well. Default 100. */
  readonly speculativeDelayMs?: number;
  /** Queries under way at once. Default 512. Four times as many may wait; more fail at once. */
  readonly maxConcurrent?: number;
  /** Failures in a row after which queries fail at once until a probe succeeds. Default 5. */
  readonly breakerThreshold?: number;
  /** Pause in ms between probes while queries fail at once. Default 500. */
  readonly probeMs?: number;
  /** Longest pause in ms before a node is tried again (driver's default ten minutes). Default 5000. */
  readonly reconnectMaxMs?: number;
  /** How often in ms other instances' changes are looked for. Default 1000. */
  readonly changesPollMs?: number;
  /** How long in s a change stays to be read by others; an instance cut off for longer drops its whole cache. Default 3600. */
  readonly changesTtlS?: number;
  readonly log?: Logger;
  readonly clock?: MonotonicClock;
}

/** What `CassandraOptions` leaves out. */
export const CASSANDRA_DEFAULTS = {
  keyspace: 'dsbc',
  consistency: 'LOCAL_QUORUM',
  connectTimeoutMs: 1000,
  readTimeoutMs: 500,
  deadlineMs: 800,
  writeDeadlineMs: 5000,
  speculativeDelayMs: 100,
  maxConcurrent: 512,
  breakerThreshold: 5,
  probeMs: 500,
  reconnectMaxMs: 5000,
  changesPollMs: 1000,
  changesTtlS: 3600,
} as const satisfies Partial<CassandraOptions>;

export type FilledOptions = CassandraOptions &
  Required<Pick<CassandraOptions, keyof typeof CASSANDRA_DEFAULTS>>;

export const fillOptions = (options: CassandraOptions): FilledOptions => ({
  ...CASSANDRA_DEFAULTS,
  ...options,
});
