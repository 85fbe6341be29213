import { createMemoryRegistry } from '../../../plugin/registry/memory';
import { createEventHandler } from '../../../plugin/registry/provisioning/handler';
import type { EventHandler } from '../../../plugin/registry/provisioning/handler';
import { DsbcError } from '../../../plugin/errors';
import type { Registry } from '../../../plugin/registry/registry';
import { finalState, history, randomFrom, sorted } from './random-events';

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

let store: Registry;
let handler: EventHandler;
beforeEach(() => {
  store = createMemoryRegistry();
  handler = createEventHandler({ store, systems: ['source', 'target'] });
});

const send = (event_type: string, variables: object) => handler.handle({ event_type, variables });
const account = (value: string) => store.get({ kind: 'account', value });
const did = (value: string) => store.get({ kind: 'did', value });

describe('a provisioning event', () => {
  it('creates, changes, blocks and deletes an account', async () => {
    expect(await send('Account/New', { i_event: 1, system: 'source', id: '1001', i_customer: 7 })).toEqual({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: { outcome: 'applied' },
    });
    expect(await account('1001')).toEqual({
      kind: 'account',
      value: '1001',
      system: 'source',
      customer: '7',
    });
    await send('Account/Updated', { i_event: 2, system: 'source', account: '1001', site: 'a' });
    await send('Account/Blocked', { i_event: '3', system: 'source', account: '1001' });
    expect(await account('1001')).toMatchObject({ customer: '7', site: 'a', blocked: true });
    await send('Account/Unblocked', { i_event: 4, system: 'source', account: '1001' });
    expect(await account('1001')).not.toHaveProperty('blocked');
    await send('Account/Deleted', { i_event: 5, system: 'source', account: '1001' });
    expect(await account('1001')).toBeNull();
  });

  it('gives an account another id, with everything it has, also when what it had arrives later', async () => {
    await send('Account/ID/Changed', { i_event: 5, system: 'source', id: '1001', new_id: '2001' });
    expect((await account('2001'))?.system).toBe('source');
    await send('Account/Blocked', { i_event: 3, system: 'source', account: '1001' });
    await send('Account/New', { i_event: 1, system: 'source', account: '1001', customer: 'acme' });
    expect(await account('1001')).toBeNull();
    expect(await account('2001')).toMatchObject({ customer: 'acme', blocked: true });
    await send('Account/New', { i_event: 9, system: 'source', account: '1001' });
    expect(await account('1001')).not.toBeNull();
    expect(await account('2001')).toMatchObject({ customer: 'acme' });
  });

  it('provisions, moves and releases a DID between systems that share a pool', async () => {
    await send('DID/Provisioned', { i_event: 1, system: 'source', did: '+12025550123', account: '1001' });
    expect(await did('+12025550123')).toMatchObject({ system: 'source', account: '1001' });
    await send('DID/Moved', {
      i_event: 2,
      system: 'source',
      number: '+12025550123',
      to_system: 'target',
      account: '1002',
    });
    expect(await did('+12025550123')).toMatchObject({ system: 'target', account: '1002' });
    await send('DID/Provisioned', { i_event: 71, system: 'target', did: '+12025550123', account: '1003' });
    expect(await did('+12025550123')).toMatchObject({ system: 'target', account: '1003' });
    await send('DID/Released', { i_event: 72, system: 'target', did: '+12025550123' });
    expect(await did('+12025550123')).toBeNull();
  });

  it('moves a DID along with what it rings there, also after its customer moved', async () => {
    const where = { source: 'source', target: 'target', exported: true };
    await store.put({ kind: 'did', value: '+1', system: 'source', account: '1001', customer: 'acme' });
    await store.putCustomer({ id: 'acme', ...where });
    const moved = { did: '+1', to_system: 'target', account: '1002' };
    await send('DID/Moved', { i_event: 1, system: 'source', ...moved });
    expect(await did('+1')).toEqual({
      kind: 'did',
      value: '+1',
      system: 'target',
      account: '1002',
      customer: 'acme',
    });
  });

  it('exports a customer, rolls it back and deletes it', async () => {
    const systems = { source: 'source', target: 'target' };
    await send('Customer/Exported', { i_event: 1, system: 'source', customer: 'acme', ...systems });
    expect(await store.getCustomer('acme')).toEqual({ id: 'acme', ...systems, exported: true });
    await send('Customer/RolledBack', { i_event: 2, system: 'target', customer: 'acme' });
    expect((await store.getCustomer('acme'))?.exported).toBe(false);
    await send('Customer/Deleted', { i_event: 3, system: 'target', customer: 'acme' });
    expect((await store.getCustomer('acme'))?.exported).toBe(false);
    await send('Customer/Deleted', { i_event: 4, system: 'source', customer: 'acme' });
    expect(await store.getCustomer('acme')).toBeNull();
  });

  it('of one system does not undo what lives on the other', async () => {
    await send('Account/New', { i_event: 50, system: 'target', account: '1001' });
    await send('Account/Deleted', { i_event: 99, system: 'source', account: '1001' });
    expect((await account('1001'))?.system).toBe('target');
  });

  it('changes what was imported before, and keeps the rest of it', async () => {
    await store.put({ kind: 'account', value: '1001', system: 'source', customer: 'acme', site: 'a' });
    await send('Account/Blocked', { i_event: 1, system: 'source', account: '1001' });
    expect(await account('1001')).toMatchObject({
      system: 'source',
      customer: 'acme',
      site: 'a',
      blocked: true,
    });
  });

  it('sent again is answered 200 and changes nothing', async () => {
    await send('Account/New', { i_event: 1, system: 'source', account: '1001' });
    await send('Account/Deleted', { i_event: 2, system: 'source', account: '1001' });
    expect((await send('Account/New', { i_event: 1, system: 'source', account: '1001' })).body).toEqual({
      outcome: 'duplicate',
    });
    expect(await account('1001')).toBeNull();
    expect(handler.statistics()).toMatchObject({ applied: 2, duplicate: 1 });
  });

  it('of a type that means nothing here is answered 202 and counted', async () => {
    expect(await send('Customer/Status/Suspended', { i_event: 1 })).toMatchObject({ status: 202 });
    expect(handler.statistics().unknown).toBe(1);
  });

  it.each([
    [undefined, ''],
    [[], ''],
    [{ event_type: 'Account/New' }, 'variables'],
    [{ event_type: 7, variables: {} }, 'event_type'],
    [{ event_type: 'Account/New', variables: { system: 'source', account: '1' } }, 'variables.i_event'],
    [
      { event_type: 'Account/New', variables: { i_event: -1, system: 'source', account: '1' } },
      'variables.i_event',
    ],
    [{ event_type: 'Account/New', variables: { i_event: 1, account: '1' } }, 'variables.system'],
    [
      { event_type: 'Account/New', variables: { i_event: 1, system: 'other', account: '1' } },
      'variables.system',
    ],
    [
      { event_type: 'Account/New', variables: { i_event: 1, system: 'source', account: '' } },
      'variables.account',
    ],
    [
      { event_type: 'Account/New', variables: { i_event: 1, system: 'source', account: 'a\nb' } },
      'variables.account',
    ],
    [
      { event_type: 'DID/Moved', variables: { i_event: 1, system: 'source', did: '+1' } },
      'variables.to_system',
    ],
    [
      { event_type: 'Customer/Exported', variables: { i_event: 1, system: 'source', id: 'x' } },
      'variables.source',
    ],
    [
      { event_type: 'Account/New', variables: { i_event: 1, system: 'source', id: '1', event_time: 'soon' } },
      'variables.event_time',
    ],
  ])('%j is answered 400 as problem JSON with the field %s', async (body, field) => {
    const reply = await handler.handle(body);
    expect(reply).toMatchObject({
      status: 400,
      headers: { 'content-type': 'application/problem+json' },
      body: { status: 400, title: 'Bad Request', errors: [{ field }] },
    });
    expect(await all(store.entries())).toEqual([]);
  });

  it.each([
    [[], 'expected a map of keys; found an empty list'],
    [{ event_type: 7, variables: {} }, 'event_type: expected text; found 7'],
    [{ i_event: 'x', account: 'a' }, 'variables.i_event: expected a whole number; found "x"'],
    [{ i_event: 1.5, account: 'a' }, 'variables.i_event: expected a whole number; found 1.5'],
    [{ i_event: 0, account: 'a' }, 'variables.i_event: expected a number of at least 1; found 0'],
    [{ i_event: 1, account: '' }, 'variables.account: expected a text that can be stored as a key; found ""'],
    [
      { i_event: 1, account: 'a', blocked: 'maybe' },
      'variables.blocked: expected true, false, Y or N; found "maybe"',
    ],
    [
      { i_event: 1, account: 'a', event_time: 'soon' },
      'variables.event_time: expected a date and time, or seconds since 1970; found "soon"',
    ],
    [
      { i_event: 1, account: 'a', system: 'sorce' },
      'variables.system: expected one of source, target; found "sorce"',
    ],
  ])('of %j it says the place, what was expected and what stands there', async (given, detail) => {
    const whole =
      Array.isArray(given) || 'event_type' in given
        ? given
        : { event_type: 'Account/New', variables: { system: 'source', ...given } };
    expect((await handler.handle(whole)).body).toMatchObject({ detail });
  });

  it('is answered 503 with Retry-After when the registry is away, and is whole after a retry', async () => {
    let left = 0;
    const away = new DsbcError('DSBC_REGISTRY_UNAVAILABLE');
    const failing = new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: never[]) => {
          left -= 1;
          return left < 0 ? Promise.reject(away) : (member as (...a: never[]) => unknown).apply(target, args);
        };
      },
    });
    handler = createEventHandler({ store: failing });
    const event = { i_event: 5, system: 'source', account: '1001', new_account: '2001', customer: 'acme' };
    // However far it came before the registry went away.
    for (let calls = 0; calls < 40; calls += 1) {
      left = calls;
      const reply = await send('Account/ID/Changed', event);
      if (reply.status === 200) break;
      expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    }
    expect(await account('2001')).toMatchObject({ system: 'source', customer: 'acme' });
    expect(handler.statistics().applied).toBe(1);
  });
});

describe('a thousand events from both systems', () => {
  it.each([1, 2, 3])(
    'sent twice in random order end in exactly the state both systems are in (seed %d)',
    async (seed) => {
      const events = history(1000, seed);
      const expected = finalState(events);
      const below = randomFrom(seed + 1000);
      const sends = [...events, ...events];
      for (let n = sends.length - 1; n > 0; n -= 1) {
        const other = below(n + 1);
        [sends[n], sends[other]] = [sends[other]!, sends[n]!];
      }
      for (let at = 0; at < sends.length; at += 20) {
        const replies = await Promise.all(sends.slice(at, at + 20).map((event) => handler.handle(event)));
        expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
      }
      expect(sorted(await all(store.entries()))).toEqual(sorted(expected.entries));
      expect(sorted(await all(store.customers()))).toEqual(sorted(expected.customers));
      expect(handler.statistics()).toMatchObject({ applied: expect.any(Number), invalid: 0, unavailable: 0 });
    },
  );
});
