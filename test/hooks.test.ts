import { HOOKS, Hooks, type HookContext, type HookFailure, type HookName } from '../plugin/hooks';
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
});
