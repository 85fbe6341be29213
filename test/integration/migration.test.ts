import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { initialiseCassandra } from '../../plugin/registry/cassandra/initialise';
import { openCassandraRegistry } from '../../plugin/registry/cassandra/registry';
import { openLmdbRegistry } from '../../plugin/registry/lmdb';
import { createMemoryRegistry } from '../../plugin/registry/memory';
import type { Registry } from '../../plugin/registry/registry';
import { dropKeyspace } from '../fixtures/cassandra/keyspace';
import { sharedCassandra } from '../fixtures/cassandra/shared';
import { DsbcLab } from '../fixtures/dsbc-lab';
import { MigrationLoad } from '../fixtures/migration-load';
import { describeWith } from '../fixtures/needs';
import { sipServerKind } from '../fixtures/sip-server';

/*
 * A customer with 1,000 phones at work is moved to another system and back. In CI the load is short and light;
 * DSBC_MIGRATION_SECONDS (between two moves, default 2) and DSBC_MIGRATION_RATE (requests and calls a second, default 100)
 * make it long and heavy, DSBC_MIGRATION_CASSANDRA=1 runs it on a real Cassandra, too. The flag is written by another handle of the registry, as `dsbc customer export` does; for the one
 * in memory there is none.
 */
const SECONDS = Number(process.env['DSBC_MIGRATION_SECONDS'] ?? 2);
const RATE = Number(process.env['DSBC_MIGRATION_RATE'] ?? 100);
/** Every instance knows of a change within this time. */
const COHERENT_MS = 2000;

jest.setTimeout(120_000 + SECONDS * 10_000);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe(`a customer of 1,000 phones moves, ${sipServerKind} SIP server`, () => {
  let lab: DsbcLab;
  afterEach(() => lab.stop());

  const moveThereAndBack = async (
    registry: Registry,
    writer: Registry,
    coherentWithinMs: number,
  ): Promise<void> => {
    // All of it is one process: when the machine is busy its sites are slow, but none of them is gone.
    const config = { health: { interval_ms: 60_000 }, failover: { timeout_ms: 10_000, total_ms: 15_000 } };
    lab = await DsbcLab.start({ registry, config });
    const load = new MigrationLoad(lab, { phones: 1000, writer, coherentWithinMs });
    await load.open();
    await load.registerAll();
    const { counts } = load;
    expect(counts).toMatchObject({ requests: 1000, failures: [] });
    await load.start(RATE);
    await pause(SECONDS * 1000);
    await load.move(true);
    await pause(SECONDS * 1000 + coherentWithinMs);
    await load.move(false);
    await pause(SECONDS * 1000 + coherentWithinMs);
    await load.stop();
    expect(counts.failures).toEqual([]);
    expect(load.wrong()).toEqual([]);
    const served = (system: string): number => load.arrivals.filter((one) => one.system === system).length;
    expect(counts.callsAcrossMoves).toBeGreaterThan(RATE / 10);
    expect(served('target')).toBeGreaterThan((RATE * SECONDS) / 4);
    expect(served('source')).toBeGreaterThan(1000 + RATE * SECONDS);
    if (process.env['DSBC_MIGRATION_SECONDS'] !== undefined)
      console.log({
        driver: registry.driver,
        requests: counts.requests,
        arrivals: load.arrivals.length,
        target: served('target'),
        acrossMoves: counts.callsAcrossMoves,
      });
  };

  it('with the registry in memory', async () => {
    const registry = createMemoryRegistry();
    await moveThereAndBack(registry, registry, 0);
  });

  it('with the registry on LMDB, moved from another handle', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dsbc-migration-'));
    const open = (): Promise<Registry> => openLmdbRegistry({ path: join(folder, 'registry.lmdb') });
    const writer = await open();
    try {
      await moveThereAndBack(await open(), writer, COHERENT_MS);
    } finally {
      await writer.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  describeWith(['cassandra'], 'with Cassandra', () => {
    const isAsked = process.env['DSBC_MIGRATION_CASSANDRA'] !== undefined;
    const why = ' [skipped, because it is only run with DSBC_MIGRATION_CASSANDRA=1]';
    (isAsked ? it : it.skip)(
      `moved by another instance${isAsked ? '' : why}`,
      async () => {
        const keyspace = `t${randomUUID().replaceAll('-', '')}`;
        const options = {
          contactPoints: [await sharedCassandra()],
          localDatacenter: 'datacenter1',
          replication: { datacenter1: 1 },
          keyspace,
          readTimeoutMs: 5000,
          deadlineMs: 5000,
        };
        await initialiseCassandra(options);
        const writer = await openCassandraRegistry(options, { mustConnect: true });
        try {
          await moveThereAndBack(
            await openCassandraRegistry(options, { mustConnect: true }),
            writer,
            COHERENT_MS,
          );
        } finally {
          await writer.close();
          await dropKeyspace(options.contactPoints[0]!, keyspace);
        }
      },
      300_000,
    );
  });
});
