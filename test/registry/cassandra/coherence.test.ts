import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createLookupCache } from '../../../plugin/registry/cache';
import type { LookupCache } from '../../../plugin/registry/cache';
import { initialiseCassandra } from '../../../plugin/registry/cassandra/initialise';
import type { CassandraOptions } from '../../../plugin/registry/cassandra/options';
import { openCassandraRegistry } from '../../../plugin/registry/cassandra/registry';
import type { CassandraRegistry } from '../../../plugin/registry/cassandra/registry';
import { createEventHandler } from '../../../plugin/registry/provisioning/handler';
import type { RegistryKey } from '../../../plugin/registry/registry';
import { dropKeyspace } from '../../fixtures/cassandra/keyspace';
import { sharedCassandra } from '../../fixtures/cassandra/shared';
import { DsbcProcess } from '../../fixtures/dsbc-process';
import { describeWith } from '../../fixtures/needs';
import { TcpGate } from '../../fixtures/tcp-gate';

const key = (value: string): RegistryKey => ({ kind: 'account', value });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describeWith(['cassandra'], 'instances on one Cassandra', () => {
  const keyspace = `t${randomUUID().replaceAll('-', '')}`;
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-coherence-'));
  const opened: CassandraRegistry[] = [];
  let contactPoint: string;
  let options: CassandraOptions;

  /** A registry with a cache that keeps for an hour what no change drops. */
  async function instance(more: Partial<CassandraOptions> = {}) {
    const registry = await openCassandraRegistry({ ...options, ...more }, { mustConnect: true });
    opened.push(registry);
    const cache = createLookupCache({ load: registry, options: { ttlMs: 3_600_000 } });
    registry.onChange((change) => cache.invalidate(change));
    return { registry, cache };
  }

  async function within(ms: number, met: () => Promise<boolean>): Promise<void> {
    for (const end = performance.now() + ms; !(await met()); await pause(20)) {
      if (performance.now() > end) throw new Error(`not within ${ms} ms`);
    }
  }

  const systemIn = async (cache: LookupCache, value: string): Promise<string | undefined> =>
    (await cache.lookup(key(value)).catch(() => null))?.system;

  beforeAll(async () => {
    contactPoint = await sharedCassandra();
    options = {
      contactPoints: [contactPoint],
      localDatacenter: 'datacenter1',
      replication: { datacenter1: 1 },
      keyspace,
      readTimeoutMs: 5000,
      deadlineMs: 5000,
    };
    await initialiseCassandra(options);
  }, 240_000);
  afterAll(async () => {
    for (const registry of opened) await registry.close();
    await dropKeyspace(contactPoint, keyspace);
    rmSync(folder, { recursive: true });
  }, 30_000);

  it('never let a write that Cassandra carries out late win over what follows from a later event', async () => {
    const { registry } = await instance();
    const handler = createEventHandler({ store: registry, systems: ['source', 'target'] });
    const tell = async ({
      type,
      ...variables
    }: {
      readonly type: string;
      readonly [name: string]: unknown;
    }): Promise<void> => {
      expect((await handler.handle({ event_type: type, variables })).status).toBe(200);
    };
    const entity = { kind: 'account', value: 'late' } as const;
    await tell({ type: 'Account/New', i_event: 1, system: 'source', account: 'late', site: 'main' });
    const first = await registry.readRecord(entity);
    const said = (await registry.get(key('late')))!;
    await tell({ type: 'Account/Updated', i_event: 2, system: 'source', account: 'late', site: 'a' });
    await registry.put(said, first.at);
    expect((await registry.get(key('late')))?.site).toBe('a');
    await tell({ type: 'Account/Deleted', i_event: 3, system: 'source', account: 'late' });
    await registry.put(said, first.at);
    expect(await registry.get(key('late'))).toBeNull();

    const move = { system: 'source', customer: 'late', source: 'source', target: 'target' };
    await tell({ type: 'Customer/Exported', i_event: 4, ...move });
    const exported = await registry.readRecord({ kind: 'customer', value: 'late' });
    const before = (await registry.getCustomer('late'))!;
    await tell({ type: 'Customer/RolledBack', i_event: 5, ...move });
    await registry.putCustomer(before, exported.at);
    expect((await registry.getCustomer('late'))?.exported).toBe(false);
    await tell({ type: 'Customer/Deleted', i_event: 6, system: 'source', customer: 'late' });
    await registry.putCustomer(before, exported.at);
    expect(await registry.getCustomer('late')).toBeNull();
    // By hand still counts as now.
    await registry.put(said);
    expect((await registry.get(key('late')))?.site).toBe('main');
  });

  it('that were cut off for a while hear of everything that changed meanwhile', async () => {
    const [host = '', port] = contactPoint.split(':');
    const gate = await TcpGate.to(host, Number(port));
    const cut = await instance({
      contactPoints: [`127.0.0.1:${gate.port}`],
      readTimeoutMs: 500,
      deadlineMs: 800,
      writeDeadlineMs: 1000,
    });
    const { registry } = await instance();
    const values = Array.from({ length: 1200 }, (_, n) => `c${n}`);
    const entries = (system: string) => values.map((value) => ({ ...key(value), system }));
    await registry.putAll(entries('source'));
    await registry.putCustomer({ id: 'acme', source: 'source', target: 'target', exported: false });
    await registry.put({ ...key('1001'), system: 'source', customer: 'acme' });
    await pause(2500);
    for (const value of [...values, '1001']) expect(await systemIn(cut.cache, value)).toBe('source');
    gate.shut();
    await pause(300);
    await registry.putAll(entries('target'));
    await registry.putCustomer({ id: 'acme', source: 'source', target: 'target', exported: true });
    await pause(7000);
    // It lives on what it knows.
    for (const value of [...values, '1001']) expect(await systemIn(cut.cache, value)).toBe('source');
    gate.reopen();
    await within(15_000, async () => (await systemIn(cut.cache, '1001')) === 'target');
    await within(5000, async () => {
      const systems = await Promise.all(values.map((value) => systemIn(cut.cache, value)));
      return systems.every((system) => system === 'target');
    });
    await cut.registry.close();
    await gate.close();
  }, 60_000);

  it.each([
    ['ahead', 30_000],
    ['behind', -30_000],
  ])(
    'hear within 2 s what one does whose clock is 30 s %s, and its writes hide no later ones',
    async (_, ms) => {
      const { registry, cache } = await instance();
      const value = `skew${ms}`;
      await registry.put({ ...key(value), system: 'source' });
      expect(await systemIn(cache, value)).toBe('source');
      const config = join(folder, 'dsbc.yaml');
      writeFileSync(
        config,
        `domains: [example.com]
sip_servers: [{ name: main, server: embedded, entry: { address: 127.0.0.1, port: 5060 } }]
systems: { source: { sites: { main: { nodes: [{ uri: 'sip:127.0.0.2:5060' }] } } } }
registry: { driver: cassandra, contact_points: ['${contactPoint}'], local_datacenter: datacenter1, keyspace: ${keyspace} }
`,
      );
      const words = ['registry', 'put', value, '--kind', 'account', '--system', 'target', '-c', config];
      const environment = { DSBC_TEST_CLOCK_AHEAD_MS: String(ms) };
      const other = new DsbcProcess(words, environment, ['./test/fixtures/skewed-clock.cjs']);
      expect(await other.ended).toBe(0);
      await within(2000, async () => (await systemIn(cache, value)) === 'target');
      await registry.put({ ...key(value), system: 'third' });
      expect(await systemIn(cache, value)).toBe('third');
      expect((await registry.get(key(value)))?.system).toBe('third');
    },
    60_000,
  );

  it('claim the witness row from processes whose clocks are a minute apart: no term is won twice', async () => {
    const racers = [-30_000, 30_000].map((ahead, at) =>
      promisify(execFile)(
        process.execPath,
        [
          ...['--require', './test/fixtures/skewed-clock.cjs', '--require', './test/fixtures/typescript.cjs'],
          ...[
            './test/fixtures/cassandra/lease-racer.ts',
            contactPoint,
            keyspace,
            `dsbc-${at}`,
            `dsbc-${1 - at}`,
            '40',
          ],
        ],
        {
          cwd: join(__dirname, '../../..'),
          env: { ...process.env, DSBC_TEST_CLOCK_AHEAD_MS: String(ahead) },
        },
      ),
    );
    const won = (await Promise.all(racers)).map(({ stdout }) => JSON.parse(stdout) as number[]);
    expect(won.map((terms) => terms.length)).toEqual([40, 40]);
    const { registry } = await instance();
    const last = await registry.leases.read('race');
    const all = won.flat().sort((a, b) => a - b);
    const [one, other] = won as [number[], number[]];
    expect([one[0]! < other.at(-1)!, other[0]! < one.at(-1)!]).toEqual([true, true]);
    // Each claim took the next term: all of them are there, each once, and the row has the last.
    expect(all).toEqual(Array.from({ length: 80 }, (_, n) => n + 1));
    expect(last).toEqual({ owner: one.includes(80) ? 'dsbc-0' : 'dsbc-1', term: 80, seq: 1 });
  }, 90_000);
});
