import type { ConnectionOptions } from 'node:tls';
import { readTlsFiles } from '../config/tls-files';
import type { CassandraConfig, RegistryConfig } from '../config/types';
import type { Logger } from '../telemetry/logger';
import { initialiseCassandra } from './cassandra/initialise';
import type { CassandraOptions } from './cassandra/options';
import { openCassandraRegistry } from './cassandra/registry';
import type { CassandraRegistry } from './cassandra/registry';
import { DsbcError } from '../errors';
import { openLmdbRegistry } from './lmdb';
import type { LmdbOptions } from './lmdb';
import { isLmdbThere } from './lmdb-path';
import { createMemoryRegistry } from './memory';
import type { Registry } from './registry';

function tlsOptions(tls: NonNullable<CassandraConfig['tls']>): ConnectionOptions {
  return { rejectUnauthorized: tls.verify, ...readTlsFiles(['registry', 'tls'], tls) };
}

/** The options of the Cassandra driver that a configuration asks for. */
export function cassandraOptions(config: CassandraConfig, log?: Logger): CassandraOptions {
  const { username, password, replication, tls } = config;
  return {
    contactPoints: config.contact_points,
    localDatacenter: config.local_datacenter,
    keyspace: config.keyspace,
    ...(replication === undefined ? {} : { replication }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls: tlsOptions(tls) }),
    consistency: config.consistency,
    connectTimeoutMs: config.connect_timeout_ms,
    readTimeoutMs: config.read_timeout_ms,
    deadlineMs: config.deadline_ms,
    maxConcurrent: config.max_concurrent,
    reconnectMaxMs: config.reconnect_max_ms,
    changesPollMs: config.changes_poll_ms,
    changesTtlS: config.changes_ttl_s,
    ...(log === undefined ? {} : { log }),
  };
}

export interface OpenOptions {
  readonly log?: Logger;
  /** Reject if Cassandra can't be reached now, instead of going on trying; for commands. */
  readonly mustConnect?: boolean;
  /** Reject if there is no registry file yet, instead of making one; for commands that have nothing to do in a new one. */
  readonly mustExist?: boolean;
}

/** That there is no registry file yet, in words; `undefined`: there is one, or there is none to make. */
export const whyMissing = (config: RegistryConfig): string | undefined =>
  config.driver === 'lmdb' && !isLmdbThere(config.path)
    ? `there is no registry at ${config.path}`
    : undefined;

/**
 * Opens the registry a configuration names. Rejects with DSBC_REGISTRY_DAMAGED or DSBC_REGISTRY_UNAVAILABLE; the
 * registry in Cassandra opens also while Cassandra is away, unless `mustConnect`.
 */
export function openRegistry(
  config: RegistryConfig,
  options: OpenOptions = {},
): Promise<Registry | CassandraRegistry> {
  const { log, mustConnect = false, mustExist = false } = options;
  const missing = mustExist ? whyMissing(config) : undefined;
  if (missing !== undefined)
    return Promise.reject(
      new DsbcError(
        'DSBC_REGISTRY_UNAVAILABLE',
        `${missing}: look at registry.path, or make one with "dsbc registry init"`,
      ),
    );
  switch (config.driver) {
    case 'memory':
      return Promise.resolve(createMemoryRegistry(log === undefined ? {} : { log }));
    case 'lmdb': {
      const lmdb: LmdbOptions = {
        path: config.path,
        mapSizeMb: config.max_size_mb,
        pollMs: config.changes_poll_ms,
        ...(log === undefined ? {} : { log }),
      };
      return openLmdbRegistry(lmdb);
    }
    case 'cassandra':
      return openCassandraRegistry(cassandraOptions(config, log), { mustConnect });
  }
}

/**
 * Makes what the registry needs before it is used first: the file, or the keyspace and its tables. May be repeated.
 * Resolves to what was done, one line each.
 */
export async function initialiseRegistry(config: RegistryConfig, log?: Logger): Promise<readonly string[]> {
  if (config.driver === 'cassandra') return initialiseCassandra(cassandraOptions(config, log));
  await (await openRegistry(config, log === undefined ? {} : { log })).close();
  return [];
}
