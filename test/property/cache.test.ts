import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { createLookupCache } from '../../plugin/registry/cache';
import type { RegistryAnswer, RegistryKey } from '../../plugin/registry/registry';
import { CacheModel, textOf } from './cache-model';
import type { ModelOptions } from './cache-model';

const KEYS: readonly RegistryKey[] = [
  { kind: 'account', value: '1' },
  { kind: 'did', value: '1' },
  { kind: 'account', value: '2' },
];
const CUSTOMERS = ['acme', 'bolt'] as const;

/** One step of a schedule; numbers choose modulo what there is. */
type Step =
  | { readonly do: 'lookup'; readonly key: number }
  | { readonly do: 'write'; readonly key: number; readonly customer: number; readonly exists: boolean }
  | { readonly do: 'invalidate'; readonly what: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'answer'; readonly load: number; readonly asOf: 'start' | 'end' }
  | { readonly do: 'fail'; readonly load: number };

const nat = fc.nat({ max: 30 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('lookup' as const), key: nat }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      key: nat,
      customer: nat,
      exists: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('invalidate' as const), what: nat }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 4, 10, 40, 60, 150, 700),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      load: nat,
      asOf: fc.constantFrom('start' as const, 'end' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), load: nat }) },
);
const options: fc.Arbitrary<ModelOptions> = fc.record({
  ttlMs: fc.constantFrom(50, 100),
  negativeTtlMs: fc.constantFrom(5, 20),
  staleWhileRevalidateMs: fc.constantFrom(0, 50),
  staleIfErrorMs: fc.constantFrom(0, 500),
  retryAfterErrorMs: fc.constantFrom(1, 30),
  settleMs: fc.constantFrom(0, 30),
});

interface Pending {
  readonly key: RegistryKey;
  readonly atStart: RegistryAnswer | null;
  readonly startedAt: number;
  readonly startSeq: number;
  resolve(answer: RegistryAnswer | null): void;
  reject(error: Error): void;
}

type Outcome = { readonly answer: RegistryAnswer | null } | { readonly failed: true };
interface Caller {
  readonly key: RegistryKey;
  rounds: number;
  outcome: Outcome | undefined;
}

/** Long enough for every promise between a settled load and its callers. */
async function settle(): Promise<void> {
  for (let n = 0; n < 12; n += 1) await Promise.resolve();
}

/** Cheaper than `expect`, which would take most of the time of ten thousand schedules. */
function same(found: unknown, wanted: unknown, what: string): void {
  if (!isDeepStrictEqual(found, wanted)) {
    throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  }
}

/** Plays one schedule against the cache and the model; throws where they differ. */
class Play {
  now = 1000;
  readonly #model: CacheModel;
  readonly #pending: Pending[] = [];
  readonly #callers: Caller[] = [];
  readonly #truth = new Map<string, RegistryAnswer | null>();
  #version = 0;
  #cache;

  constructor(setting: ModelOptions) {
    this.#model = new CacheModel(setting);
    this.#cache = createLookupCache({
      load: { lookup: (key) => this.#begin(key) },
      options: { ...setting, maxEntries: 100 },
      clock: () => this.now,
    });
  }

  #begin(key: RegistryKey): Promise<RegistryAnswer | null> {
    return new Promise((resolve, reject) => {
      const atStart = this.#truth.get(textOf(key)) ?? null;
      this.#pending.push({
        key,
        atStart,
        startedAt: this.now,
        startSeq: this.#model.next(),
        resolve,
        reject,
      });
    });
  }

  /** Loads of the key that no change has detached. */
  #current(key: RegistryKey): Pending | undefined {
    return this.#pending.find(
      (load) => textOf(load.key) === textOf(key) && !this.#model.overtaken(textOf(key), null, load.startSeq),
    );
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'pass':
        this.now += step.ms;
        return;
      case 'write': {
        const key = KEYS[step.key % KEYS.length]!;
        const customer = [...CUSTOMERS, undefined][step.customer % 3];
        this.#version += 1;
        this.#truth.set(
          textOf(key),
          step.exists
            ? { kind: key.kind, system: `s${this.#version}`, ...(customer === undefined ? {} : { customer }) }
            : null,
        );
        return;
      }
      case 'invalidate': {
        const change = [
          ...KEYS.map((key) => ({ type: 'entry' as const, key })),
          ...CUSTOMERS.map((id) => ({ type: 'customer' as const, id })),
          { type: 'all' as const },
        ][step.what % (KEYS.length + CUSTOMERS.length + 1)]!;
        this.#cache.invalidate(change);
        this.#model.drop(change, this.now);
        return;
      }
      case 'lookup':
        return this.#lookup(KEYS[step.key % KEYS.length]!);
      case 'answer':
      case 'fail':
        return this.#end(step);
    }
  }

  async #lookup(key: RegistryKey): Promise<void> {
    const text = textOf(key);
    const expected = this.#model.expected(text, this.now);
    const mustLoad = (expected.kind === 'wait' || expected.refresh) && this.#current(key) === undefined;
    const before = this.#pending.length;
    const caller: Caller = { key, rounds: 1, outcome: undefined };
    this.#cache.lookup(key).then(
      (answer) => (caller.outcome = { answer }),
      () => (caller.outcome = { failed: true }),
    );
    await settle();
    same(this.#pending.length - before, mustLoad ? 1 : 0, 'loads begun');
    if (expected.kind === 'answer') same(caller.outcome, { answer: expected.answer }, 'answered');
    else {
      same(caller.outcome, undefined, 'answered too early');
      this.#callers.push(caller);
      this.#waitsFor.set(caller, this.#current(key)!);
    }
  }

  readonly #waitsFor = new Map<Caller, Pending>();

  async #end(step: Extract<Step, { do: 'answer' | 'fail' }>): Promise<void> {
    const load = this.#pending[step.load % Math.max(this.#pending.length, 1)];
    if (load === undefined) return;
    this.#pending.splice(this.#pending.indexOf(load), 1);
    const text = textOf(load.key);
    const waiting = this.#callers.filter((caller) => this.#waitsFor.get(caller) === load);
    if (step.do === 'fail') {
      this.#model.loadFailed(text, this.now);
      load.reject(new Error('the registry is away'));
      await settle();
      const stale = this.#model.afterFailure(text, this.now);
      for (const caller of waiting)
        this.#expect(caller, stale === undefined ? { failed: true } : { answer: stale });
      return;
    }
    const answer = step.asOf === 'start' ? load.atStart : (this.#truth.get(text) ?? null);
    const overtaken = this.#model.overtaken(text, answer, load.startSeq);
    this.#model.loaded(text, answer, load.startedAt, load.startSeq);
    load.resolve(answer);
    await settle();
    for (const caller of waiting) {
      if (!overtaken || caller.rounds >= 4) this.#expect(caller, { answer });
      else {
        const fresh = this.#model.freshNow(text, this.now);
        if (fresh !== undefined) this.#expect(caller, { answer: fresh });
        else {
          caller.rounds += 1;
          const next = this.#current(caller.key);
          if (next === undefined) throw new Error('nobody asks again');
          this.#waitsFor.set(caller, next);
        }
      }
    }
  }

  #expect(caller: Caller, outcome: Outcome): void {
    same(caller.outcome, outcome, 'answered after its load');
    this.#callers.splice(this.#callers.indexOf(caller), 1);
  }

  /** Holds at every moment: nobody who still has to wait was answered, and no key has two loads that count. */
  check(): void {
    for (const caller of this.#callers) same(caller.outcome, undefined, 'answered while it must wait');
    for (const key of KEYS) {
      const counting = this.#pending.filter(
        (load) =>
          textOf(load.key) === textOf(key) && !this.#model.overtaken(textOf(key), null, load.startSeq),
      );
      if (counting.length > 1) throw new Error('two loads of one key');
    }
  }
}

describe('the cache', () => {
  it('behaves as the model does in 10,000 random schedules of look-ups, writes, changes, time and failures', async () => {
    await fc.assert(
      fc.asyncProperty(options, fc.array(step, { minLength: 5, maxLength: 60 }), async (setting, steps) => {
        const play = new Play(setting);
        for (const each of steps) {
          await play.run(each);
          play.check();
        }
      }),
      { numRuns: 10_000 },
    );
  }, 180_000);

  it('never holds more than it may, whatever is asked, and answers right nevertheless', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat({ max: 12 }), { maxLength: 60 }),
        async (maxEntries, asked) => {
          const cache = createLookupCache({
            load: { lookup: ({ kind, value }) => Promise.resolve({ kind, system: value, customer: value }) },
            options: { maxEntries },
            clock: () => 0,
          });
          for (const n of asked) {
            expect((await cache.lookup({ kind: 'account', value: `${n}` }))?.system).toBe(`${n}`);
            expect(cache.statistics().size).toBeLessThanOrEqual(maxEntries);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});
