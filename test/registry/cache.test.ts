import { createLookupCache } from '../../plugin/registry/cache';
import type { CacheOptions } from '../../plugin/registry/cache';
import { createMemoryRegistry } from '../../plugin/registry/memory';
import { DsbcError } from '../../plugin/errors';
import type { RegistryAnswer, RegistryKey } from '../../plugin/registry/registry';

const key = (value: string): RegistryKey => ({ kind: 'account', value });
const away = () => new DsbcError('DSBC_REGISTRY_UNAVAILABLE');

/** A registry that counts, takes `delayMs`, and can be away. */
function countingRegistry(delayMs = 0) {
  const state = {
    asked: 0,
    away: false,
    answers: new Map<string, RegistryAnswer>(),
    async lookup({ value }: RegistryKey): Promise<RegistryAnswer | null> {
      state.asked += 1;
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      if (state.away) throw away();
      return state.answers.get(value) ?? null;
    },
  };
  return state;
}

function cacheOn(load: ReturnType<typeof countingRegistry>, options: CacheOptions = {}) {
  const clock = { now: 0 };
  const cache = createLookupCache({
    load,
    options: { maxEntries: 20_000, ...options },
    clock: () => clock.now,
  });
  return { cache, clock };
}

describe('H38: an unknown account asked for again and again', () => {
  it('costs one query per negative TTL, and is found soon after it was created', async () => {
    const registry = countingRegistry();
    const { cache, clock } = cacheOn(registry);
    for (let n = 0; n < 1000; n += 1) {
      expect(await cache.lookup(key('4999'))).toBeNull();
      clock.now += 4;
    }
    expect(registry.asked).toBe(1);
    registry.answers.set('4999', { kind: 'account', system: 'source' });
    clock.now = 5001;
    expect(await cache.lookup(key('4999'))).toEqual({ kind: 'account', system: 'source' });
    expect(registry.asked).toBe(2);
  });

  it('does not take a failure for "there is none"', async () => {
    const registry = countingRegistry();
    const { cache } = cacheOn(registry);
    registry.away = true;
    await expect(cache.lookup(key('4999'))).rejects.toMatchObject({ code: 'DSBC_REGISTRY_UNAVAILABLE' });
    registry.away = false;
    registry.answers.set('4999', { kind: 'account', system: 'source' });
    expect(await cache.lookup(key('4999'))).not.toBeNull();
  });

  it('bounds the queries for 10,000 unknown keys that are repeated', async () => {
    const registry = countingRegistry();
    const { cache, clock } = cacheOn(registry);
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 10_000 }, (_, n) => cache.lookup(key(`u${n}`))));
      clock.now += 900;
    }
    expect(registry.asked).toBe(10_000);
    expect(cache.statistics().negative_hit).toBe(40_000);
  });
});

describe('H39: many callers that miss the same key at once', () => {
  it('make one query, and all get its answer', async () => {
    const registry = countingRegistry(50);
    registry.answers.set('+12025550123', { kind: 'account', system: 'target' });
    const { cache } = cacheOn(registry);
    const answers = await Promise.all(
      Array.from({ length: 10_000 }, () => cache.lookup(key('+12025550123'))),
    );
    expect(registry.asked).toBe(1);
    expect(answers.every((answer) => answer?.system === 'target')).toBe(true);
    expect(cache.statistics()).toMatchObject({ miss: 1, coalesced: 9999, load: 1 });
  });

  it('all hear of its failure, and the next one asks again', async () => {
    const registry = countingRegistry(10);
    registry.away = true;
    const { cache } = cacheOn(registry);
    const ends = await Promise.allSettled(Array.from({ length: 1000 }, () => cache.lookup(key('1'))));
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
    expect(registry.asked).toBe(1);
    registry.away = false;
    expect(await cache.lookup(key('1'))).toBeNull();
    expect(registry.asked).toBe(2);
  });
});

describe('a cached answer', () => {
  it('that is asked for all the time expires nevertheless', async () => {
    const registry = countingRegistry();
    registry.answers.set('1001', { kind: 'account', system: 'source' });
    const { cache, clock } = cacheOn(registry);
    for (clock.now = 0; clock.now <= 180_000; clock.now += 500) await cache.lookup(key('1001'));
    expect(registry.asked).toBeGreaterThanOrEqual(3);
  });

  it('is served for hours while the registry is away, asked for once a pause, and renewed after', async () => {
    const registry = countingRegistry();
    registry.answers.set('1001', { kind: 'account', system: 'source' });
    const { cache, clock } = cacheOn(registry);
    await cache.lookup(key('1001'));
    registry.away = true;
    registry.answers.set('1001', { kind: 'account', system: 'target' });
    clock.now = 100_000;
    const asked = registry.asked;
    for (; clock.now < 160_000; clock.now += 100) {
      expect((await cache.lookup(key('1001')))?.system).toBe('source');
    }
    expect(registry.asked - asked).toBeLessThanOrEqual(61);
    clock.now = 14_400_000 + 59_000;
    expect((await cache.lookup(key('1001')))?.system).toBe('source');
    registry.away = false;
    clock.now += 1001;
    await cache.lookup(key('1001'));
    await new Promise((resolve) => setImmediate(resolve));
    expect((await cache.lookup(key('1001')))?.system).toBe('target');
  });

  it('is not served beyond the longest staleness', async () => {
    const registry = countingRegistry();
    registry.answers.set('1001', { kind: 'account', system: 'source' });
    const { cache, clock } = cacheOn(registry, {
      ttlMs: 1000,
      staleWhileRevalidateMs: 0,
      staleIfErrorMs: 2000,
    });
    await cache.lookup(key('1001'));
    registry.away = true;
    clock.now = 3001;
    await expect(cache.lookup(key('1001'))).rejects.toMatchObject({ code: 'DSBC_REGISTRY_UNAVAILABLE' });
  });

  it('loaded just after a change is loaded once more when replicas have settled', async () => {
    const registry = countingRegistry();
    registry.answers.set('1001', { kind: 'account', system: 'source' });
    const { cache, clock } = cacheOn(registry, { settleMs: 2000 });
    await cache.lookup(key('1001'));
    cache.invalidate({ type: 'entry', key: key('1001') });
    clock.now = 10;
    expect((await cache.lookup(key('1001')))?.system).toBe('source'); // a replica that lagged
    registry.answers.set('1001', { kind: 'account', system: 'target' });
    clock.now = 2001;
    expect((await cache.lookup(key('1001')))?.system).toBe('target');
  });

  it('goes when its customer moves, and those of other customers stay', async () => {
    const registry = createMemoryRegistry();
    const cache = createLookupCache({ load: registry, options: { maxEntries: 100 } });
    registry.onChange((change) => cache.invalidate(change));
    for (const customer of ['acme', 'bolt']) {
      await registry.putCustomer({ id: customer, source: 'source', target: 'target', exported: false });
      await registry.put({ kind: 'account', value: customer, system: 'source', customer });
      await cache.lookup(key(customer));
    }
    await registry.putCustomer({ id: 'acme', source: 'source', target: 'target', exported: true });
    expect(cache.peek(key('acme'))).toBeUndefined();
    expect(cache.peek(key('bolt'))?.system).toBe('source');
    expect((await cache.lookup(key('acme')))?.system).toBe('target');
  });

  it('of what exists is not driven out by what does not', async () => {
    const registry = createMemoryRegistry();
    const cache = createLookupCache({ load: registry, options: { maxEntries: 100 } });
    for (let n = 0; n < 90; n++) {
      await registry.put({ kind: 'account', value: `${n}`, system: 'source' });
      await cache.lookup(key(`${n}`));
    }
    for (let n = 0; n < 1000; n++) await cache.lookup(key(`guess-${n}`));
    for (let n = 0; n < 90; n++) expect(cache.peek(key(`${n}`))?.system).toBe('source');
    expect(cache.statistics().size).toBe(100);
    // The latest of the others are remembered, too, and one that comes to exist is not two.
    expect(cache.peek(key('guess-999'))).toBeNull();
    await registry.put({ kind: 'account', value: 'guess-999', system: 'source' });
    cache.invalidate({ type: 'entry', key: key('guess-999') });
    expect((await cache.lookup(key('guess-999')))?.system).toBe('source');
    cache.invalidate({ type: 'entry', key: key('guess-999') });
    expect(cache.peek(key('guess-999'))).toBeUndefined();
    for (let n = 0; n < 1000; n++) {
      await registry.put({ kind: 'account', value: `more-${n}`, system: 'source' });
      await cache.lookup(key(`more-${n}`));
    }
    expect(cache.statistics().size).toBeLessThanOrEqual(100);
  });

  it('of a look-up that throws is a rejection, not an exception', async () => {
    const cache = createLookupCache({
      load: {
        lookup: () => {
          throw away();
        },
      },
      options: { maxEntries: 10 },
    });
    await expect(cache.lookup(key('1'))).rejects.toMatchObject({ code: 'DSBC_REGISTRY_UNAVAILABLE' });
  });
});
