import { createEventHandler } from '../../plugin/registry/provisioning/handler';
import type { Customer, Registry, RegistryChange, RegistryEntry } from '../../plugin/registry/registry';

/** One set of data, as an implementation under test offers it. */
export interface RegistryUnderTest {
  readonly registry: Registry;
  /** Another instance on the same data, as another process would have it; absent if there can be none. */
  readonly another?: () => Promise<Registry>;
  /** Ends everything and removes the data. */
  readonly dispose: () => Promise<void>;
}

/** A change made by one instance is known to every other within this, in milliseconds (issue: 2 s). */
const COHERENT_MS = 2000;

const account = (value: string, more: Partial<RegistryEntry> = {}): RegistryEntry => ({
  kind: 'account',
  value,
  system: 'source',
  ...more,
});
const key = (value: string, kind: 'account' | 'did' = 'account') => ({ kind, value });
const customer = (id: string, exported = false): Customer => ({
  id,
  source: 'source',
  target: 'target',
  exported,
});
const decision = (site: string, state: 'active' | 'maintenance' | 'drain', node?: string) => ({
  system: 'source',
  site,
  ...(node === undefined ? {} : { node }),
  state,
  by: 'operator',
  at: '2026-01-01T00:00:00Z',
  why: 'update',
});

async function until(met: () => boolean, withinMs: number): Promise<number> {
  const started = performance.now();
  while (!met()) {
    if (performance.now() - started > withinMs) throw new Error(`not met within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return performance.now() - started;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** What every registry driver must do. `open` gives a new, empty set of data. */
export function registryContract(open: () => Promise<RegistryUnderTest>): void {
  let data: RegistryUnderTest;
  let registry: Registry;
  beforeEach(async () => {
    data = await open();
    registry = data.registry;
  });
  afterEach(() => data.dispose());

  describe('entries', () => {
    it('answers null for a key it does not know', async () => {
      expect(await registry.lookup(key('4999'))).toBeNull();
      expect(await registry.get(key('4999'))).toBeNull();
    });

    it('answers with everything that was put', async () => {
      await registry.put(
        account('1001', { site: 'main', customer: 'acme', blocked: true, account: 'pilot' }),
      );
      expect(await registry.lookup(key('1001'))).toEqual({
        kind: 'account',
        system: 'source',
        account: 'pilot',
        site: 'main',
        customer: 'acme',
        blocked: true,
      });
      await registry.put(account('1001', { system: 'target' }));
      expect(await registry.get(key('1001'))).toEqual(account('1001', { system: 'target' }));
    });

    it('keeps accounts and DIDs of the same text apart', async () => {
      await registry.put(account('12025550123'));
      await registry.put({ kind: 'did', value: '12025550123', system: 'target', account: '1002' });
      expect(await registry.lookup(key('12025550123'))).toEqual({ kind: 'account', system: 'source' });
      expect(await registry.lookup(key('12025550123', 'did'))).toEqual({
        kind: 'did',
        system: 'target',
        account: '1002',
      });
    });

    it('compares keys whole and byte by byte', async () => {
      await registry.put(account('alice'));
      await registry.put(account('zo\u00eb%20:x;y=1,"z"'));
      for (const near of ['alic', 'alicee', 'ALICE', ' alice', 'alice ', 'zo\u00eb', 'zoe%20:x;y=1,"z"']) {
        expect(await registry.lookup(key(near))).toBeNull();
      }
      expect(await registry.lookup(key('zo\u00eb%20:x;y=1,"z"'))).not.toBeNull();
    });

    it('keeps keys of 240 digits whole', async () => {
      const long = '1'.repeat(239);
      await registry.put(account(`${long}2`));
      expect(await registry.lookup(key(`${long}3`))).toBeNull();
      expect(await registry.lookup(key(`${long}2`))).not.toBeNull();
    });

    it('takes keys that can not be stored for unknown, and refuses to store them', async () => {
      for (const value of ['', 'x'.repeat(1025), 'a\nb', 'a\0b']) {
        expect(await registry.lookup(key(value))).toBeNull();
        expect(await registry.delete(key(value))).toBe(false);
        await expect(registry.put(account(value))).rejects.toMatchObject({
          code: 'DSBC_REGISTRY_INVALID',
          details: { field: 'value' },
        });
      }
      await expect(registry.put(account('1001', { system: '' }))).rejects.toMatchObject({
        code: 'DSBC_REGISTRY_INVALID',
        details: { field: 'system' },
      });
    });

    it('deletes, and says whether there was something', async () => {
      await registry.put(account('1001'));
      expect(await registry.delete(key('1001'))).toBe(true);
      expect(await registry.delete(key('1001'))).toBe(false);
      expect(await registry.lookup(key('1001'))).toBeNull();
    });

    it('stores, walks and deletes many', async () => {
      const many: RegistryEntry[] = [];
      for (let n = 0; n < 2500; n += 1) {
        many.push(
          n % 5 === 0
            ? { kind: 'did', value: `+1202${n}`, system: 'target', account: `${n}` }
            : account(`${n}`),
        );
      }
      await registry.putAll(many);
      const text = (entry: RegistryEntry) =>
        JSON.stringify([entry.kind, entry.value, entry.system, entry.account]);
      expect((await collect(registry.entries())).map(text).sort()).toEqual(many.map(text).sort());
      await registry.deleteAll(many.slice(0, 2490));
      expect(await collect(registry.entries())).toHaveLength(10);
    });

    it('refuses a batch with one bad entry without storing the rest', async () => {
      await expect(registry.putAll([account('1'), account('')])).rejects.toMatchObject({
        code: 'DSBC_REGISTRY_INVALID',
      });
      expect(await registry.lookup(key('1'))).toBeNull();
    });
  });

  describe('customers', () => {
    it('the exported status says where a customer of two systems is active', async () => {
      await registry.put(account('1001', { customer: 'acme' }));
      await registry.put(account('1002', { system: 'target', customer: 'other' }));
      const system = async (value: string) => (await registry.lookup(key(value)))?.system;
      expect(await system('1001')).toBe('source');
      await registry.putCustomer(customer('acme', true));
      expect(await system('1001')).toBe('target');
      expect(await system('1002')).toBe('target');
      await registry.putCustomer(customer('acme', false));
      expect(await system('1001')).toBe('source');
      await registry.putCustomer(customer('acme', true));
      await registry.deleteCustomer('acme');
      expect(await system('1001')).toBe('source');
    });

    it('are stored, listed and deleted', async () => {
      expect(await registry.getCustomer('acme')).toBeNull();
      await registry.putCustomer(customer('acme', true));
      await registry.putCustomer(customer('bolt'));
      expect(await registry.getCustomer('acme')).toEqual(customer('acme', true));
      expect((await collect(registry.customers())).map(({ id }) => id).sort()).toEqual(['acme', 'bolt']);
      expect(await registry.deleteCustomer('acme')).toBe(true);
      expect(await registry.deleteCustomer('acme')).toBe(false);
      expect(await registry.getCustomer('acme')).toBeNull();
    });

    it('that are not valid are refused with the field', async () => {
      await expect(registry.putCustomer({ ...customer('acme'), target: 'source' })).rejects.toMatchObject({
        code: 'DSBC_REGISTRY_INVALID',
        details: { field: 'target' },
      });
    });
  });

  describe('changes', () => {
    it('are told before the write resolves', async () => {
      const heard: RegistryChange[] = [];
      registry.onChange((change) => heard.push(change));
      await registry.put(account('1001'));
      expect(heard).toEqual([{ type: 'entry', key: key('1001') }]);
      await registry.putCustomer(customer('acme'));
      await registry.delete(key('1001'));
      await registry.deleteCustomer('acme');
      expect(heard.slice(1)).toEqual([
        { type: 'customer', id: 'acme' },
        { type: 'entry', key: key('1001') },
        { type: 'customer', id: 'acme' },
      ]);
    });

    it('end with the subscription, and a listener that throws does not hurt the write or the others', async () => {
      const heard: RegistryChange[] = [];
      registry.onChange(() => {
        throw new Error('a listener that fails');
      });
      const end = registry.onChange((change) => heard.push(change));
      await registry.put(account('1001'));
      end();
      await registry.put(account('1002'));
      expect(heard).toHaveLength(1);
    });

    it('of one instance are seen and heard by another within 2 s, each once', async () => {
      const other = await data.another?.();
      if (other === undefined) return;
      const heard: RegistryChange[] = [];
      other.onChange((change) => heard.push(change));
      await registry.put(account('1001'));
      await registry.putAll([account('1002'), account('1003')]);
      await registry.putCustomer(customer('acme', true));
      await registry.delete(key('1002'));
      await until(() => heard.length >= 5, COHERENT_MS);
      expect(await other.lookup(key('1001'))).not.toBeNull();
      expect(await other.lookup(key('1002'))).toBeNull();
      await new Promise((resolve) => setTimeout(resolve, 700));
      expect(heard).toEqual([
        { type: 'entry', key: key('1001') },
        { type: 'entry', key: key('1002') },
        { type: 'entry', key: key('1003') },
        { type: 'customer', id: 'acme' },
        { type: 'entry', key: key('1002') },
      ]);
    });
  });

  describe('operator states', () => {
    it('keep the last decision for each site and node', async () => {
      expect(await registry.listDecisions()).toEqual([]);
      await registry.putDecision(decision('main', 'maintenance'));
      await registry.putDecision(decision('main', 'drain', 'sip:198.51.100.21:5060'));
      await registry.putDecision(decision('main', 'active'));
      const states = (await registry.listDecisions()).map(({ node, state }) => [node, state]);
      expect(states).toHaveLength(2);
      expect(states).toEqual(
        expect.arrayContaining([
          [undefined, 'active'],
          ['sip:198.51.100.21:5060', 'drain'],
        ]),
      );
    });

    it('are heard here at once and by another instance within 2 s', async () => {
      const other = await data.another?.();
      let here: readonly unknown[] = [];
      let there: readonly unknown[] = [];
      registry.onDecision((decisions) => (here = decisions));
      other?.onDecision((decisions) => (there = decisions));
      await registry.putDecision(decision('main', 'maintenance'));
      expect(here).toEqual([decision('main', 'maintenance')]);
      if (other === undefined) return;
      await until(() => there.length > 0, COHERENT_MS);
      expect(there).toEqual([decision('main', 'maintenance')]);
    });
  });

  describe('provisioning records', () => {
    const entity = { kind: 'account', value: '1001' } as const;

    it('remember which events were handled, for each system on its own', async () => {
      expect(await registry.eventHandled('source', '17')).toBe(false);
      await registry.markEventHandled('source', '17');
      expect(await registry.eventHandled('source', '17')).toBe(true);
      expect(await registry.eventHandled('target', '17')).toBe(false);
      expect(await registry.eventHandled('source', '1')).toBe(false);
    });

    it('are changed by many writers at once without losing one', async () => {
      const other = (await data.another?.()) ?? registry;
      expect((await registry.readRecord(entity)).record).toBeNull();
      const add = (to: Registry, n: number) =>
        to.amendRecord(entity, (record) =>
          JSON.stringify([...(record === null ? [] : (JSON.parse(record) as number[])), n]),
        );
      const numbers = Array.from({ length: 12 }, (_, n) => n);
      await Promise.all(numbers.map((n) => add(n % 2 === 0 ? registry : other, n)));
      const stored = JSON.parse((await registry.readRecord(entity)).record ?? '[]') as number[];
      expect(stored.sort((a, b) => a - b)).toEqual(numbers);
    });
  });

  describe('after a customer moved', () => {
    const rows = [
      account('B1', { customer: 'K1' }),
      account('B2', { customer: 'K1', site: 'a' }),
      account('B3', { customer: 'K1' }),
      account('B4', { customer: 'K1' }),
      { ...account('D1', { customer: 'K1', account: 'B1' }), kind: 'did' } as const,
    ];
    const events = () => {
      const handler = createEventHandler({ store: registry, systems: ['source', 'target'] });
      let number = 0;
      return async (event_type: string, system: string, variables: object, more: object = {}) => {
        const reply = await handler.handle({
          event_type,
          variables: { i_event: (number += 1), system, ...variables, ...more },
        });
        expect(reply).toMatchObject({ status: 200 });
      };
    };
    const move = () => registry.putCustomer(customer('K1', true));

    it('what the old system says of what the new one never announced changes nothing', async () => {
      await registry.putAll(rows);
      await move();
      const send = events();
      await send('Account/Blocked', 'source', { account: 'B3' });
      expect(await registry.lookup(key('B3'))).toEqual({ kind: 'account', system: 'target', customer: 'K1' });
      await send('Account/Deleted', 'source', { account: 'B2' });
      await send('DID/Released', 'source', { did: 'D1' });
      await send('Account/ID/Changed', 'source', { account: 'B4', new_account: 'B9' });
      await send('Customer/Deleted', 'source', { customer: 'K1' });
      for (const id of ['B1', 'B3', 'B4'])
        expect(await registry.lookup(key(id))).toEqual({ kind: 'account', system: 'target', customer: 'K1' });
      // A site of the old system means nothing on the new one.
      expect(await registry.lookup(key('B2'))).toEqual({ kind: 'account', system: 'target', customer: 'K1' });
      expect(await registry.lookup(key('D1', 'did'))).toEqual({
        kind: 'did',
        system: 'target',
        customer: 'K1',
        account: 'B1',
      });
      // The new one decides.
      await send('Account/Blocked', 'target', { account: 'B3' });
      expect(await registry.lookup(key('B3'))).toMatchObject({ blocked: true });
      await send('Account/Deleted', 'target', { account: 'B2' });
      expect(await registry.lookup(key('B2'))).toBeNull();
      await send('DID/Released', 'target', { did: 'D1' });
      expect(await registry.lookup(key('D1', 'did'))).toBeNull();
      await send('Customer/Deleted', 'target', { customer: 'K1' });
      expect(await registry.getCustomer('K1')).toBeNull();
    });

    it('the same holds of what the old system told of before, and a block from then can be lifted', async () => {
      await registry.putAll(rows);
      const send = events();
      await send('Account/Blocked', 'source', { account: 'B1' });
      await send('Account/Updated', 'source', { account: 'B2', customer: 'K1' });
      await move();
      expect(await registry.lookup(key('B1'))).toMatchObject({ system: 'target', blocked: true });
      await send('Account/Unblocked', 'target', { account: 'B1' });
      expect(await registry.lookup(key('B1'))).toEqual({ kind: 'account', system: 'target', customer: 'K1' });
      await send('Account/Deleted', 'source', { account: 'B2' });
      expect(await registry.lookup(key('B2'))).toMatchObject({ system: 'target' });
    });

    it('what both have is as the new system says, until the customer is moved back', async () => {
      await move();
      const send = events();
      const variables = { account: 'B1', customer: 'K1' };
      await send('Account/New', 'source', variables);
      await send('Account/New', 'target', variables);
      await send('Account/Updated', 'source', variables, { blocked: true });
      expect(await registry.lookup(key('B1'))).toEqual({ kind: 'account', system: 'target', customer: 'K1' });
      await registry.putCustomer(customer('K1', false));
      await send('Account/Updated', 'target', variables, { blocked: false });
      expect(await registry.lookup(key('B1'))).toMatchObject({ system: 'source', blocked: true });
      // Made in the old system after the move, and deleted there: nobody has it.
      await move();
      await send('Account/New', 'source', { account: 'B7', customer: 'K1' });
      await send('Account/Deleted', 'source', { account: 'B7' });
      expect(await registry.lookup(key('B7'))).toBeNull();
    });
  });

  describe('closing', () => {
    it('may happen twice, and what is asked later is refused', async () => {
      await registry.close();
      await registry.close();
      await expect(registry.lookup(key('1001'))).rejects.toMatchObject({ code: 'DSBC_REGISTRY_UNAVAILABLE' });
      await expect(registry.put(account('1001'))).rejects.toMatchObject({
        code: 'DSBC_REGISTRY_UNAVAILABLE',
      });
      await expect(collect(registry.entries())).rejects.toMatchObject({ code: 'DSBC_REGISTRY_UNAVAILABLE' });
    });
  });
}
