import { createHash, randomUUID } from 'node:crypto';
import type { Client } from 'cassandra-driver';
import { types } from 'cassandra-driver';
import { DsbcError } from '../../errors';
import { silentLogger } from '../../telemetry/logger';
import { createDriver } from './driver';
import { unavailable } from './faults';
import { fillOptions } from './options';
import type { CassandraOptions, FilledOptions } from './options';
import { MIGRATIONS, quoted } from './schema';

/** A lock that its holder did not give back is free after this, in s. */
const LOCK_S = 60;
const LOCK_RETRY_MS = 500;
/** Changes of the schema take their time on a busy cluster. */
const PATIENCE_MS = 30_000;

/**
 * Makes the keyspace and brings its tables to this version. May run twice, and from several instances at once: one does
 * the work, the others wait for it. Resolves to the migrations that were applied here.
 * Rejects with DSBC_REGISTRY_UNAVAILABLE.
 */
export async function initialiseCassandra(given: CassandraOptions): Promise<readonly string[]> {
  const options = fillOptions({ ...given, connectTimeoutMs: 5000, readTimeoutMs: PATIENCE_MS });
  const outside = createDriver(options);
  let inside: Client | undefined;
  try {
    await outside.connect();
    const replication = Object.entries(options.replication ?? { [options.localDatacenter]: 3 });
    const placed = replication.map(([dc, copies]) => `'${dc.replaceAll("'", "''")}': ${copies}`).join(', ');
    await outside.execute(
      `CREATE KEYSPACE IF NOT EXISTS ${quoted(options.keyspace)}
         WITH replication = {'class': 'NetworkTopologyStrategy', ${placed}}`,
      [],
      { prepare: false },
    );
    inside = createDriver(options, { keyspace: options.keyspace });
    await inside.connect();
    await createMigrationTable(inside, options);
    return await underLock(inside, () => migrate(inside as Client, options));
  } catch (error) {
    throw unavailable(error, options);
  } finally {
    await Promise.all([outside.shutdown(), inside?.shutdown()]);
  }
}

/**
 * Two instances that create a table at once may give it two ids, and the nodes then disagree about it. This table, which
 * holds the lock for the others, therefore gets an id that follows from its name.
 */
async function createMigrationTable(client: Client, { keyspace }: FilledOptions): Promise<void> {
  const hash = createHash('sha256').update(`${keyspace}.migrations`).digest('hex');
  const id = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    hash.slice(12, 16),
    hash.slice(16, 20),
    hash.slice(20, 32),
  ];
  await client.execute(
    `CREATE TABLE IF NOT EXISTS migrations (version int PRIMARY KEY, name text, owner text, applied_at timestamp)
       WITH ID = ${id.join('-')}`,
    [],
    { prepare: false },
  );
}

/** Row 0 of the table of migrations is the lock. */
async function underLock<T>(client: Client, work: () => Promise<T>): Promise<T> {
  const owner = randomUUID();
  const deadline = Date.now() + 2 * LOCK_S * 1000;
  const serial = { serialConsistency: types.consistencies.serial };
  for (;;) {
    const taken = await client.execute(
      `INSERT INTO migrations (version, owner) VALUES (0, ?) IF NOT EXISTS USING TTL ${LOCK_S}`,
      [owner],
      serial,
    );
    if (taken.wasApplied()) break;
    if (Date.now() > deadline) {
      throw new DsbcError(
        'DSBC_REGISTRY_UNAVAILABLE',
        'another instance has been changing the schema for too long',
      );
    }
    await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS));
  }
  try {
    return await work();
  } finally {
    await client.execute('DELETE FROM migrations WHERE version = 0 IF owner = ?', [owner], serial);
  }
}

async function migrate(client: Client, options: FilledOptions): Promise<readonly string[]> {
  const log = options.log ?? silentLogger;
  const rows = await client.execute('SELECT version FROM migrations');
  const done = new Set(rows.rows.map((row) => row.get('version') as number));
  const applied: string[] = [];
  for (const { version, name, statements } of MIGRATIONS) {
    if (done.has(version)) continue;
    log.info({ version, keyspace: options.keyspace }, 'schema migration');
    for (const statement of statements(options)) await client.execute(statement, [], { prepare: false });
    await client.execute(
      'INSERT INTO migrations (version, name, applied_at) VALUES (?, ?, toTimestamp(now()))',
      [version, name],
    );
    applied.push(`${version}: ${name}`);
  }
  return applied;
}
