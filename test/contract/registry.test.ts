import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CassandraOptions } from '../../plugin/registry/cassandra/options';
import { initialiseCassandra } from '../../plugin/registry/cassandra/initialise';
import { openCassandraRegistry } from '../../plugin/registry/cassandra/registry';
import { openLmdbRegistry } from '../../plugin/registry/lmdb';
import { createMemoryRegistry } from '../../plugin/registry/memory';
import type { Registry } from '../../plugin/registry/registry';
import { silentLogger } from '../../plugin/telemetry/logger';
import { dropKeyspace, emptyKeyspace } from '../fixtures/cassandra/keyspace';
import { sharedCassandra } from '../fixtures/cassandra/shared';
import { describeWith } from '../fixtures/needs';
import { registryContract } from './registry-suite';

describe('the registry in memory', () => {
  registryContract(() => {
    const registry = createMemoryRegistry();
    return Promise.resolve({ registry, dispose: () => registry.close() });
  });
});

describe('the registry on LMDB', () => {
  registryContract(async () => {
    const dir = await mkdtemp(join(tmpdir(), 'dsbc-registry-'));
    const opened: Registry[] = [];
    const open = async (): Promise<Registry> => {
      const registry = await openLmdbRegistry({ path: join(dir, 'registry.lmdb') });
      opened.push(registry);
      return registry;
    };
    return {
      registry: await open(),
      another: open,
      dispose: async () => {
        await Promise.all(opened.map((registry) => registry.close()));
        await rm(dir, { recursive: true });
      },
    };
  });
});

describeWith(['cassandra'], 'the registry on Cassandra', () => {
  const keyspace = `t${randomUUID().replaceAll('-', '')}`;
  let options: CassandraOptions;
  beforeAll(async () => {
    options = {
      contactPoints: [await sharedCassandra()],
      localDatacenter: 'datacenter1',
      replication: { datacenter1: 1 },
      keyspace,
      readTimeoutMs: 5000,
      deadlineMs: 5000,
      changesPollMs: 500,
    };
    await initialiseCassandra(options);
  }, 240_000);
  afterAll(() => dropKeyspace(options.contactPoints[0]!, keyspace));

  registryContract(async () => {
    const opened: Registry[] = [];
    const open = async (): Promise<Registry> => {
      const registry = await openCassandraRegistry(options, { mustConnect: true });
      opened.push(registry);
      return registry;
    };
    return {
      registry: await open(),
      another: open,
      dispose: async () => {
        await Promise.all(opened.map((registry) => registry.close()));
        await emptyKeyspace(options.contactPoints[0]!, keyspace);
      },
    };
  });

  it('initialised twice, and by several instances at once, is made once', async () => {
    const fresh = { ...options, keyspace: `${keyspace}b` };
    try {
      const applied = await Promise.all([1, 2, 3].map(() => initialiseCassandra(fresh)));
      expect(applied.flat()).toHaveLength(1);
      expect(await initialiseCassandra(fresh)).toEqual([]);
      const registry = await openCassandraRegistry(fresh, { mustConnect: true });
      await registry.put({ kind: 'account', value: '1001', system: 'source' });
      expect(await registry.lookup({ kind: 'account', value: '1001' })).not.toBeNull();
      await registry.close();
    } finally {
      await dropKeyspace(options.contactPoints[0]!, fresh.keyspace);
    }
  }, 60_000);

  it('that was not initialised says how to', async () => {
    await expect(
      openCassandraRegistry({ ...options, keyspace: 'never_made' }, { mustConnect: true }),
    ).rejects.toMatchObject({
      code: 'DSBC_REGISTRY_UNAVAILABLE',
      message: expect.stringContaining('dsbc registry init'),
    });
  });

  it('that is initialised while an instance waits for it is found, and until then it says what is missing', async () => {
    const late = { ...options, keyspace: `${keyspace}c`, probeMs: 200 };
    const warnings: unknown[] = [];
    const log = { ...silentLogger, warn: (...line: unknown[]) => void warnings.push(line) };
    const registry = await openCassandraRegistry({ ...late, log });
    try {
      const key = { kind: 'account', value: '1001' } as const;
      for (let n = 0; n < 5; n += 1) {
        await expect(registry.lookup(key)).rejects.toMatchObject({
          code: 'DSBC_REGISTRY_UNAVAILABLE',
          message: expect.stringContaining('dsbc registry init'),
        });
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      // Once, although it has been tried again and again.
      expect(warnings).toHaveLength(1);
      await initialiseCassandra(late);
      for (const end = Date.now() + 10_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
        const found = await registry.lookup(key).catch(() => undefined);
        if (found === null) break;
        if (Date.now() > end) throw new Error('it was not found');
      }
    } finally {
      await registry.close();
      await dropKeyspace(options.contactPoints[0]!, late.keyspace);
    }
  }, 60_000);

  it('compares and sets a lease linearisably', async () => {
    const registry = await openCassandraRegistry(options, { mustConnect: true });
    const { leases } = registry;
    expect(await leases.read('g')).toBeNull();
    const first = { owner: 'dsbc-1', term: 1, seq: 1 };
    expect(await leases.compareAndSet('g', null, first)).toEqual({ applied: true, current: first });
    expect(await leases.compareAndSet('g', null, { ...first, owner: 'dsbc-2' })).toEqual({
      applied: false,
      current: first,
    });
    const claims = Array.from({ length: 6 }, (_, n) =>
      leases.compareAndSet('g', first, { owner: `dsbc-${n}`, term: 2, seq: 1 }),
    );
    const ends = await Promise.all(claims);
    expect(ends.filter(({ applied }) => applied)).toHaveLength(1);
    const now = await leases.read('g');
    expect(await leases.compareAndSet('g', first, { owner: 'late', term: 3, seq: 1 })).toEqual({
      applied: false,
      current: now,
    });
    await registry.close();
  });

  it('reads and sets a lease while more look-ups wait than may', async () => {
    const registry = await openCassandraRegistry({ ...options, maxConcurrent: 1 }, { mustConnect: true });
    const { leases } = registry;
    const lookups = Array.from({ length: 20 }, (_, n) =>
      registry.lookup({ kind: 'account', value: `${n}` }).then(
        () => 'answered',
        () => 'refused',
      ),
    );
    const next = { owner: 'dsbc-1', term: 1, seq: 1 };
    const [row, set] = await Promise.all([leases.read('storm'), leases.compareAndSet('storm 2', null, next)]);
    expect([row, set]).toEqual([null, { applied: true, current: next }]);
    expect(await Promise.all(lookups)).toContain('refused');
    await registry.close();
  });

  it('takes the time of a write from the server, so that a clock that is ahead hides nothing', async () => {
    const ahead = jest.spyOn(Date, 'now').mockImplementation(() => new Date().getTime() + 3_600_000);
    const registry = await openCassandraRegistry(options, { mustConnect: true });
    const key = { kind: 'account', value: '1001' } as const;
    await registry.put({ ...key, system: 'source' });
    ahead.mockRestore();
    await registry.put({ ...key, system: 'target' });
    expect((await registry.lookup(key))?.system).toBe('target');
    await registry.close();
  });
});
