import { readFileSync } from 'node:fs';
import { compileFunction } from 'node:vm';
import {
  HOOKS,
  Hooks,
  PROTECTED_HEADERS,
  type HookContext,
  type HookFailure,
  type HookName,
  type HookOptions,
} from '../plugin/hooks';
import { silentLogger, type Logger } from '../plugin/telemetry/logger';
import { parsed, requestText } from './fixtures/routing';

const context = (): Omit<HookContext, 'signal'> => ({
  id: 'r1',
  message: parsed(requestText({})),
  source: { transport: 'udp', address: '203.0.113.7', port: 5060 },
  role: 'endpoint',
  sourceName: undefined,
  server: 'main',
  notes: new Map(),
});

/** Keeps the thread from everything else. */
function busy(milliseconds: number): Promise<void> {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
  return Promise.resolve();
}

function hooksWith(onError: 'skip' | 'fail' = 'skip', timeoutMs = 50) {
  const failures: HookFailure[] = [];
  const lines: object[] = [];
  const log: Logger = { ...silentLogger, error: (fields) => lines.push(fields) };
  const hooks = new Hooks({ timeoutMs, onError }, log, (failure) => failures.push(failure));
  return { hooks, failures, lines };
}

describe('hooks', () => {
  it('run one after the other, in the order they were added', async () => {
    const { hooks } = hooksWith();
    const order: string[] = [];
    hooks.add('onRequest', async () => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      order.push('first');
    });
    hooks.add('onRequest', () => {
      order.push('second');
    });
    expect(await hooks.run('onRequest', context())).toBeUndefined();
    expect(order).toEqual(['first', 'second']);
  });

  it('end with the first that returns something', async () => {
    const { hooks } = hooksWith();
    const later = jest.fn();
    hooks.add('onRequest', () => ({ respond: { status: 603 } }));
    hooks.add('onRequest', later);
    expect(await hooks.run('onRequest', context())).toEqual({ respond: { status: 603 } });
    expect(later).not.toHaveBeenCalled();
  });

  it('share the notes of their request', async () => {
    const { hooks } = hooksWith();
    hooks.add('onRequest', ({ notes }) => {
      notes.set('seen', 1);
    });
    const shared = context();
    await hooks.run('onRequest', shared);
    expect(shared.notes.get('seen')).toBe(1);
  });

  it('of an unknown name are an error that lists the names', () => {
    const { hooks } = hooksWith();
    expect(() => hooks.add('onResponce' as HookName, () => undefined)).toThrow(
      expect.objectContaining({ code: 'DSBC_HOOK_UNKNOWN', message: expect.stringContaining('onResponse') }),
    );
    expect(() => hooks.addAll({ nope: () => undefined } as object)).toThrow(
      expect.objectContaining({ code: 'DSBC_HOOK_UNKNOWN' }),
    );
    expect(() => hooks.addAll({ onRequest: 'x' } as object)).toThrow(
      expect.objectContaining({ code: 'DSBC_CONFIG_INVALID' }),
    );
  });

  describe.each([
    [
      'throws',
      (): never => {
        throw new Error('boom');
      },
    ],
    ['rejects', () => Promise.reject(new Error('boom'))],
    [
      'throws what is no error',
      (): never => {
        throw 'boom' as unknown as Error;
      },
    ],
    ['is slow', () => new Promise<undefined>(() => undefined)],
  ])('one that %s', (what, hook) => {
    const code = what === 'is slow' ? 'DSBC_HOOK_TIMEOUT' : undefined;

    it('is logged, counted and skipped; those behind it still run', async () => {
      const { hooks, failures, lines } = hooksWith('skip');
      const later = jest.fn();
      hooks.add('beforeRelay', hook, { name: 'mine' });
      hooks.add('beforeRelay', later);
      const decision = { kind: 'outbound' } as never;
      expect(await hooks.run('beforeRelay', { ...context(), decision })).toBeUndefined();
      expect(later).toHaveBeenCalledTimes(1);
      expect(failures).toMatchObject([{ hook: 'beforeRelay', name: 'mine', policy: 'skip' }]);
      if (code !== undefined) expect(failures[0]!.error).toMatchObject({ code });
      expect(lines).toMatchObject([{ id: 'r1', hook: 'beforeRelay', name: 'mine' }]);
    });

    it('fails the request if that is its policy', async () => {
      const { hooks, failures } = hooksWith('skip');
      hooks.add('onRequest', hook, { onError: 'fail' });
      await expect(hooks.run('onRequest', context())).rejects.toThrow();
      expect(failures).toMatchObject([{ policy: 'fail' }]);
    });
  });

  it('that are late hear it by their signal, and what they do later harms nobody', async () => {
    const { hooks } = hooksWith('skip', 10);
    let heard = false;
    let fail: (error: Error) => void = () => undefined;
    hooks.add('onRequest', ({ signal }) => {
      signal.addEventListener('abort', () => (heard = true));
      return new Promise((_, reject) => (fail = reject));
    });
    await hooks.run('onRequest', context());
    expect(heard).toBe(true);
    fail(new Error('too late'));
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('leave no timer behind', async () => {
    const { hooks } = hooksWith('skip', 60_000);
    hooks.add('onRequest', () => undefined);
    const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    await hooks.run('onRequest', context());
    expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBe(before);
  });

  it('are told apart in the log, with or without a name', async () => {
    const { hooks, failures } = hooksWith('skip');
    const fails = [() => Promise.reject(new Error('boom')), () => Promise.reject(new Error('boom'))];
    hooks.addAll({ onRequest: fails });
    hooks.add('onRequest', function named() {
      throw new Error('boom');
    });
    hooks.add('onRequest', () => ({ respond: { status: 99 } }));
    const said: string[] = [];
    await hooks.run('onRequest', context(), undefined, (title) => said.push(title));
    expect(failures.map(({ name }) => name)).toEqual(['onRequest#1', 'onRequest#2', 'named', 'onRequest#4']);
    expect(failures[3]!.error.message).toMatch(/^hook onRequest 'onRequest#4': respond\.status/);
    expect(said).toEqual([]);
  });

  it('take new defaults at a reload', async () => {
    const { hooks } = hooksWith('skip');
    hooks.add('onRequest', () => Promise.reject(new Error('boom')));
    hooks.configure({ timeoutMs: 10, onError: 'fail' });
    await expect(hooks.run('onRequest', context())).rejects.toThrow('boom');
  });

  it('are these six', () => {
    expect(HOOKS).toEqual([
      'onRequest',
      'beforeLookup',
      'beforeRoute',
      'beforeRelay',
      'onResponse',
      'onError',
    ]);
  });

  it('each see what those before them changed, and their headers add up', async () => {
    const { hooks } = hooksWith();
    const decision = { kind: 'dispatch', plan: [] } as never;
    const node = { system: 's', site: 'a', node: 'sip:192.0.2.1' };
    const seen: unknown[] = [];
    hooks.add('beforeRelay', () => ({ plan: [node], add: [['X-One', '1']], remove: ['X-Gone'] }));
    hooks.add('beforeRelay', (now) => {
      seen.push((now.decision as { plan?: unknown }).plan);
      return { add: [['X-Two', '2']] };
    });
    expect(await hooks.run('beforeRelay', { ...context(), decision })).toEqual({
      plan: [node],
      add: [
        ['X-One', '1'],
        ['X-Two', '2'],
      ],
      remove: ['X-Gone'],
    });
    expect(seen).toEqual([[node]]);
    hooks.add('beforeLookup', () => ({ keys: [{ kind: 'did', value: '1' }] }));
    hooks.add('beforeLookup', ({ keys }) => ({ keys: [...keys, { kind: 'account', value: '2' }] }));
    expect(await hooks.run('beforeLookup', { ...context(), keys: [] })).toEqual({
      keys: [
        { kind: 'did', value: '1' },
        { kind: 'account', value: '2' },
      ],
    });
  });

  it.each<[HookName, unknown, string]>([
    ['onRequest', { respond: 403 }, 'respond: expected { status, reason?, headers? }, found number'],
    [
      'onRequest',
      { respond: { status: 9999 } },
      'respond.status: expected a status from 300 to 699 for INVITE',
    ],
    [
      'onRequest',
      { respond: { status: 200 } },
      'respond.status: expected a status from 300 to 699 for INVITE',
    ],
    ['onRequest', { respond: { status: 403, reason: 'a\r\nb' } }, 'respond.reason'],
    [
      'onRequest',
      { respond: { status: 403, headers: [['a b', 'c']] } },
      'respond.headers[0]: expected a header name',
    ],
    ['onRequest', { plan: [] }, "expected nothing or an object of respond, found 'plan'"],
    ['onRequest', [], 'found a list'],
    ['onRequest', {}, 'found an empty object'],
    ['beforeLookup', { keys: [] }, 'keys: expected at least one, found an empty list'],
    ['beforeLookup', { keys: [{ kind: 'phone', value: '1' }] }, 'keys[0]: expected { kind'],
    ['beforeRoute', { answer: 'target' }, 'answer: expected { system, … } or null, found "target"'],
    ['beforeRelay', { plan: ['sip:192.0.2.1'] }, 'plan[0]: expected { system, site, node }'],
    ['beforeRelay', { add: { 'X-A': 'b' } }, 'add: expected a list, found object'],
    ['beforeRelay', { add: [{ name: 'X-A', value: 'b' }] }, 'add[0]: expected [name, value], found object'],
    [
      'beforeRelay',
      { add: [['X-A', 'b\r\nc: d']] },
      'add[0]: expected latin1 text, one char per byte, and no line end in the value of X-A',
    ],
    ['beforeRelay', { remove: [''] }, 'remove[0]: expected a header name'],
    ['onError', { respond: { status: 500 } }, 'expected nothing, found'],
    [
      'onRequest',
      { respond: { status: 480, foo: 1 } },
      "respond: expected { status, reason?, headers? }, found 'foo'",
    ],
    ['beforeLookup', { keys: [{ kind: 'did', value: '1', foo: 1 }] }, "keys[0]: expected { kind: 'account'"],
    ['beforeRoute', { answer: { system: 's', foo: 1 } }, "blocked? }, found 'foo'"],
    ['beforeRoute', { answer: { system: 's', site: 1 } }, 'answer.site: expected text, found number'],
    ['beforeRoute', { answer: { system: 's', blocked: 'no' } }, 'answer.blocked: expected true or false'],
    ['beforeRelay', { plan: [{ system: 's', site: 'a', node: 'n', foo: 1 }] }, 'plan[0]: expected { system'],
    ['beforeRelay', { add: [['X-A', 'b\u010d\u010aX-Evil: 1']] }, 'add[0]: expected latin1 text'],
    ['onRequest', { respond: { status: 403, reason: '\u010a' } }, 'respond.reason: expected latin1 text'],
    [
      'onRequest',
      { respond: { status: 403, headers: [['To', 'x']] } },
      'respond.headers[0]: To is a protected',
    ],
    ['onResponse', { add: [['Contact', '<sip:a@192.0.2.1>']] }, 'add[0]: Contact is a protected header'],
  ])('that return what they may not fail, and are named: %s %j', async (name, result, fault) => {
    const { hooks, failures, lines } = hooksWith();
    hooks.add(name, (() => result) as never, { name: 'mine' });
    expect(await hooks.run(name, context() as never)).toBeUndefined();
    expect(failures).toMatchObject([{ hook: name, name: 'mine', error: { code: 'DSBC_HOOK_RESULT' } }]);
    expect(failures[0]!.error.message).toContain(fault);
    expect(lines).toHaveLength(1);
    const strict = hooksWith('fail').hooks;
    strict.add(name, (() => result) as never);
    await expect(strict.run(name, context() as never)).rejects.toThrow(fault);
  });

  it.each([...PROTECTED_HEADERS, 'v', 'i', 'm', 'call_id', 'X-Dsbc-Entry'])(
    'may neither add nor take out %s',
    async (header) => {
      for (const result of [{ remove: [header] }, { add: [[header, 'x']] }]) {
        const { hooks } = hooksWith('fail');
        hooks.add('beforeRelay', (() => result) as never);
        await expect(hooks.run('beforeRelay', { ...context(), decision: {} as never })).rejects.toThrow(
          `${header} is a protected header`,
        );
      }
    },
  );

  it('may redirect: an answer of theirs has a Contact', async () => {
    const { hooks } = hooksWith('fail');
    const respond = { status: 302, headers: [['Contact', '<sip:a@192.0.2.1>']] as const };
    hooks.add('onRequest', () => ({ respond }));
    expect(await hooks.run('onRequest', context())).toEqual({ respond });
  });

  it.each<[HookOptions | null, string]>([
    [{ timeoutMs: -1 }, 'addHook onRequest.timeoutMs: expected a whole number from 1 to 10000; found -1'],
    [{ timeoutMs: '50' } as never, 'addHook onRequest.timeoutMs: expected a whole number'],
    [{ onError: 'fial' } as never, "addHook onRequest.onError: expected 'skip' or 'fail'; found fial"],
    [{ foo: 1 } as never, 'addHook onRequest.foo: expected one of onError, timeoutMs, name; found foo'],
    [{ name: 7 } as never, 'addHook onRequest.name: expected text; found 7'],
    [null, 'addHook onRequest: expected an object of options; found null'],
  ])('with options that are wrong are not taken: %j', (options, fault) => {
    const { hooks } = hooksWith();
    expect(() => hooks.add('onRequest', () => undefined, options as never)).toThrow(
      expect.objectContaining({ code: 'DSBC_CONFIG_INVALID', message: expect.stringContaining(fault) }),
    );
    expect(hooks.has('onRequest')).toBe(false);
  });

  it.each([
    ['at once', () => busy(30)],
    ['after a while', () => Promise.resolve().then(() => busy(30))],
  ])('that keep the thread busy %s beyond their time are late', async (_, work) => {
    const { hooks, failures, lines } = hooksWith('skip', 20);
    let late: AbortSignal | undefined;
    hooks.add('onRequest', async ({ signal }) => {
      late = signal;
      await work();
      return { respond: { status: 488 } };
    });
    hooks.add('onRequest', ({ signal }) => {
      late = signal;
      void busy(30);
      return { respond: { status: 488 } };
    });
    expect(await hooks.run('onRequest', context())).toBeUndefined();
    expect(failures.map(({ error }) => error)).toMatchObject([
      { code: 'DSBC_HOOK_TIMEOUT' },
      { code: 'DSBC_HOOK_TIMEOUT' },
    ]);
    expect(lines).toHaveLength(2);
    expect(late?.aborted).toBe(true);
  });

  it('are given values: what they write is refused, and nobody else sees it', async () => {
    const { hooks, failures } = hooksWith('skip');
    const node = { system: 's', site: 'a', node: 'sip:192.0.2.1', uri: 'sip:192.0.2.1' };
    const decision = { kind: 'dispatch', requestUri: 'sip:a@b', plan: [node, { ...node, site: 'b' }] };
    const given = { ...context(), decision: decision as never };
    const before = structuredClone(decision);
    const { raw } = given.message;
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- it does what no type allows
    const writes: ((it: any) => unknown)[] = [
      (it) => (it.id = 'x'),
      (it) => (it.message.uri = 'sip:evil@other.org'),
      (it) => it.message.headers.push({}),
      (it) => (it.message.headers[0].value = 'x'),
      (it) => (it.message.from.uri = 'sip:x'),
      (it) => it.message.to.params.push(['a', 'b']),
      (it) => it.message.contacts.pop(),
      (it) => it.message.vias.pop(),
      (it) => (it.source.address = '127.0.77.12'),
      (it) => it.decision.plan.reverse(),
      (it) => (it.decision.plan[0].uri = 'sip:x'),
      (it) => (it.decision.requestUri = 'sip:x'),
      (it) => (it.decision.kind = 'drop'),
    ];
    for (const write of writes)
      hooks.add('beforeRelay', (it) => {
        'use strict';
        write(it);
      });
    await hooks.run('beforeRelay', given);
    expect(failures.map(({ error }) => error.constructor.name)).toEqual(writes.map(() => 'TypeError'));
    expect(decision).toEqual(before);
    expect(given).toMatchObject({ id: 'r1', source: { address: '203.0.113.7' }, message: { raw } });
    // What is the DSBC's own, or a registry's, is not frozen: only hooks see a copy.
    expect(Object.isFrozen(decision) || Object.isFrozen(given.message)).toBe(false);
  });

  it('cannot change what they have returned', async () => {
    const { hooks } = hooksWith('fail');
    const keys = [{ kind: 'did' as const, value: '1' }];
    hooks.add('beforeLookup', () => ({ keys }));
    hooks.add('beforeLookup', () => {
      keys[0]!.value = '2';
    });
    expect(await hooks.run('beforeLookup', { ...context(), keys: [] })).toEqual({
      keys: [{ kind: 'did', value: '1' }],
    });
  });

  it('may return null for nothing', async () => {
    const { hooks, failures } = hooksWith();
    hooks.add('onRequest', (() => null) as never);
    expect(await hooks.run('onRequest', context())).toBeUndefined();
    expect(failures).toEqual([]);
  });

  it('of docs/hooks.md do what they say', async () => {
    const page = readFileSync('docs/hooks.md', 'utf8');
    const recipes = /## Recipes\n+```js\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    const { hooks } = hooksWith('fail');
    const dsbc = { addHook: hooks.add.bind(hooks) };
    compileFunction(recipes, ['dsbc'])(dsbc);
    const main = { system: 's', site: 'main', node: 'sip:192.0.2.1', uri: 'sip:192.0.2.1' };
    const decision = { kind: 'dispatch', plan: [{ ...main, site: 'a' }, main] } as never;
    const call = (uri: string, from = '1002') => ({
      ...context(),
      message: parsed(requestText({ uri, from: `<sip:${from}@example.com>;tag=1` })),
    });
    expect(await hooks.run('beforeRelay', { ...call('sip:9001234@example.com'), decision })).toEqual({
      plan: [main],
      add: [['X-Source', '203.0.113.7:5060']],
    });
    expect(await hooks.run('beforeRelay', { ...call('sip:1001@example.com'), decision })).not.toHaveProperty(
      'plan',
    );
    expect(await hooks.run('onRequest', call('sip:1003@example.com', '1001'))).toMatchObject({
      respond: { status: 603 },
    });
    expect(await hooks.run('onRequest', call('sip:1003@example.com'))).toBeUndefined();
  });
});
