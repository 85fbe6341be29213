import dns from 'node:dns';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLookupCache } from '../../../plugin/registry/cache';
import type { LookupCache } from '../../../plugin/registry/cache';
import { initialiseCassandra } from '../../../plugin/registry/cassandra/initialise';
import type { CassandraOptions } from '../../../plugin/registry/cassandra/options';
import { openCassandraRegistry } from '../../../plugin/registry/cassandra/registry';
import type { CassandraRegistry } from '../../../plugin/registry/cassandra/registry';
import { createEventHandler } from '../../../plugin/registry/provisioning/handler';
import type { RegistryKey } from '../../../plugin/registry/registry';
import { coordinatedReads } from '../../fixtures/cassandra/keyspace';
import { removeFolder, startCassandra } from '../../fixtures/cassandra/server';
import type { CassandraServer } from '../../fixtures/cassandra/server';
import { describeWith } from '../../fixtures/needs';
import { finalState, history, randomFrom, sorted } from '../provisioning/random-events';

/** A name that only these tests resolve: first to one loopback address, later to another. */
const HOST = 'cassandra.dsbc.test';
/** For what is not about time-outs: machines that run tests are busy. */
const PATIENT = { readTimeoutMs: 10_000, deadlineMs: 10_000 };
const key = (value: string): RegistryKey => ({ kind: 'account', value });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function within(ms: number, met: () => Promise<boolean>): Promise<number> {
  const begun = performance.now();
  while (!(await met())) {
    if (performance.now() - begun > ms) throw new Error(`not within ${ms} ms`);
    await pause(20);
  }
  return performance.now() - begun;
}

/** An instance as the program has it: a registry with a cache in front, told of changes. */
interface Instance {
  readonly registry: CassandraRegistry;
  readonly cache: LookupCache;
}

describeWith(['cassandra'], 'Cassandra that comes and goes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-outage-'));
  let address = '127.0.0.1';
  let server: CassandraServer | undefined;
  let options: CassandraOptions;
  const instances: Instance[] = [];
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);

  async function instance(cacheOptions = {}, more: Partial<CassandraOptions> = {}): Promise<Instance> {
    const registry = await openCassandraRegistry({ ...options, ...more }, { mustConnect: true });
    const cache = createLookupCache({
      load: registry,
      options: { maxEntries: 50_000, settleMs: 2000, ...cacheOptions },
    });
    registry.onChange((change) => cache.invalidate(change));
    instances.push({ registry, cache });
    return { registry, cache };
  }

  const contactPoint = () => `${server!.host}:${server!.port}`;

  beforeAll(async () => {
    process.on('unhandledRejection', note);
    // node:dns has these as plain properties, and the driver looks them up when it resolves.
    const real = dns.lookup;
    jest
      .spyOn(dns, 'resolve4')
      .mockImplementation(((name: string, done: (e: unknown, a?: string[]) => void) =>
        name === HOST ? done(null, [address]) : done(new Error('no such name'))) as never);
    jest
      .spyOn(dns, 'resolve6')
      .mockImplementation(((_: string, done: (e: unknown) => void) =>
        done(new Error('no such name'))) as never);
    jest
      .spyOn(dns, 'lookup')
      .mockImplementation((name: string, ...rest: unknown[]) =>
        (real as (...args: unknown[]) => unknown)(name === HOST ? address : name, ...rest),
      );
    server = await startCassandra({ folder });
    options = {
      contactPoints: [`${HOST}:${server.port}`],
      localDatacenter: 'datacenter1',
      replication: { datacenter1: 1 },
      changesPollMs: 500,
    };
    await initialiseCassandra(options);
  }, 240_000);

  afterAll(async () => {
    process.off('unhandledRejection', note);
    jest.restoreAllMocks();
    for (const { registry } of instances) await registry.close();
    await server?.stop();
    removeFolder(folder);
  }, 60_000);

  it('two instances dispatch a customer to where it was moved within 2 s, and nothing fails meanwhile', async () => {
    const one = await instance();
    const other = await instance();
    await one.registry.putCustomer({ id: 'acme', source: 'source', target: 'target', exported: false });
    await one.registry.put({ kind: 'account', value: '1001', system: 'source', customer: 'acme' });
    await within(5000, async () => (await other.cache.lookup(key('1001')))?.system === 'source');
    const seen = new Set<unknown>();
    const stop = new AbortController();
    const traffic = (async () => {
      for (; !stop.signal.aborted; await pause(2)) {
        for (const { cache } of [one, other]) {
          seen.add(
            await cache.lookup(key('1001')).then(
              (answer) => answer?.system,
              () => 'failed',
            ),
          );
        }
      }
    })();
    const times: number[] = [];
    for (const exported of [true, false]) {
      await one.registry.putCustomer({ id: 'acme', source: 'source', target: 'target', exported });
      const expected = exported ? 'target' : 'source';
      expect((await one.cache.lookup(key('1001')))?.system).toBe(expected);
      times.push(
        await within(2000, async () => (await other.cache.lookup(key('1001')))?.system === expected),
      );
      await pause(2500);
      expect((await other.cache.lookup(key('1001')))?.system).toBe(expected);
    }
    stop.abort();
    await traffic;
    expect([...seen].sort()).toEqual(['source', 'target']);
    expect(Math.max(...times)).toBeLessThan(2000);
  }, 60_000);

  it('costs one query for 10,000 callers of a cold key (H39), and one for each of 10,000 unknown ones (H38)', async () => {
    const { cache } = await instance({ negativeTtlMs: 120_000 }, { ...PATIENT, speculativeDelayMs: 60_000 });
    const before = await coordinatedReads(contactPoint());
    const answers = await Promise.all(Array.from({ length: 10_000 }, () => cache.lookup(key('1001'))));
    expect(new Set(answers.map((answer) => answer?.system))).toEqual(new Set(['source']));
    expect((await coordinatedReads(contactPoint())) - before).toBe(1);
    for (let round = 0; round < 3; round += 1) {
      for (let from = 0; from < 10_000; from += 500) {
        await Promise.all(Array.from({ length: 500 }, (_, n) => cache.lookup(key(`unknown${from + n}`))));
      }
    }
    expect((await coordinatedReads(contactPoint())) - before).toBe(10_001);
    expect(cache.statistics()).toMatchObject({ load: 10_001, negative_hit: 20_000 });
  }, 120_000);

  it('H37: frozen under 5,000 look-ups of distinct keys: each ends, stale ones at once, and it recovers', async () => {
    const { registry, cache } = await instance({ ttlMs: 1, staleWhileRevalidateMs: 0 });
    await cache.lookup(key('1001'));
    await server!.signal('SIGSTOP');
    let resumed = 0;
    try {
      const ends = await Promise.allSettled(
        Array.from({ length: 5000 }, (_, n) => cache.lookup(key(`burst${n}`))),
      );
      expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
      // After the first time-outs: known accounts on stale entries, unknown ones refused at once.
      const times: number[] = [];
      for (let n = 0; n < 500; n += 1) {
        const asked = performance.now();
        if (n % 2 === 0) expect((await cache.lookup(key('1001')))?.system).toBe('source');
        else
          await expect(cache.lookup(key(`away${n}`))).rejects.toMatchObject({
            code: 'DSBC_REGISTRY_UNAVAILABLE',
          });
        times.push(performance.now() - asked);
        await pause(2);
      }
      times.sort((a, b) => a - b);
      expect(times[Math.floor(times.length * 0.99)]).toBeLessThan(50);
    } finally {
      await server!.signal('SIGCONT');
      resumed = performance.now();
    }
    await within(15_000, () =>
      registry.lookup(key('1001')).then(
        (answer) => answer !== null,
        () => false,
      ),
    );
    expect(performance.now() - resumed).toBeLessThan(15_000);
    expect(unhandled).toEqual([]);
  }, 90_000);

  it('takes a thousand events, sent twice in random order, with replies lost and 5 s without Cassandra', async () => {
    const handlers = [await instance(), await instance()].map(({ registry }) =>
      createEventHandler({ store: registry, systems: ['source', 'target'] }),
    );
    const { registry } = instances[0]!;
    await registry.delete(key('1001'));
    await registry.deleteCustomer('acme');
    const events = history(1000, 11);
    const below = randomFrom(99);
    const queue = [...events, ...events];
    for (let n = queue.length - 1; n > 0; n -= 1) {
      const other = below(n + 1);
      [queue[n], queue[other]] = [queue[other]!, queue[n]!];
    }
    let sent = 0;
    let refused = 0;
    const sender = async (): Promise<void> => {
      for (let event = queue.shift(); event !== undefined; event = queue.shift()) {
        sent += 1;
        if (sent === 1000) {
          await server!.signal('SIGSTOP');
          setTimeout(() => void server!.signal('SIGCONT'), 5000);
        }
        for (;;) {
          const reply = await handlers[below(2)]!.handle(event);
          // The sender repeats what was refused, and what it did not hear the answer of.
          if (reply.status === 200 && below(10) > 0) break;
          if (reply.status !== 200) {
            expect(reply.status).toBe(503);
            refused += 1;
            await pause(300);
          }
        }
      }
    };
    await Promise.all(Array.from({ length: 16 }, sender));
    const expected = finalState(events);
    const entries = [];
    for await (const entry of registry.entries()) entries.push(entry);
    const customers = [];
    for await (const customer of registry.customers()) customers.push(customer);
    expect(sorted(entries)).toEqual(sorted(expected.entries));
    expect(sorted(customers)).toEqual(sorted(expected.customers));
    expect(refused).toBeGreaterThan(0);
  }, 240_000);

  it('H36: killed, and back under another address of its name: known accounts go on, and it recovers', async () => {
    const { registry, cache } = await instance({ ttlMs: 1, staleWhileRevalidateMs: 0 });
    await registry.put({ kind: 'account', value: 'known', system: 'source' });
    await cache.lookup(key('known'));
    const { registry: quiet } = instances[1]!;
    expect([registry.trouble, quiet.trouble]).toEqual([undefined, undefined]);
    await server!.signal('SIGKILL');
    await within(2000, () => Promise.resolve(registry.trouble !== undefined && quiet.trouble !== undefined));
    const until = performance.now() + 4000;
    while (performance.now() < until) {
      expect((await cache.lookup(key('known')))?.system).toBe('source');
      await pause(20);
    }
    const { port } = server!;
    address = '127.0.0.3';
    server = await startCassandra({ folder, host: address, port });
    const recovered = await within(15_000, () =>
      registry.lookup(key('known')).then(
        (answer) => answer?.system === 'source',
        () => false,
      ),
    );
    expect(recovered).toBeLessThan(15_000);
    await registry.put({ kind: 'account', value: 'known', system: 'target' });
    expect((await cache.lookup(key('known')))?.system).toBe('target');
    // Other instances, that did nothing meanwhile, are back as well and hear of changes.
    const other = instances[1]!;
    await within(15_000, () =>
      other.registry.lookup(key('known')).then(
        (answer) => answer?.system === 'target',
        () => false,
      ),
    );
    expect([registry.trouble, quiet.trouble]).toEqual([undefined, undefined]);
    expect(unhandled).toEqual([]);
  }, 240_000);
});
