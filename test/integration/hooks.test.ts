import type { BeforeRelayContext, HookSet } from '../../plugin';
import { DsbcLab } from '../fixtures/dsbc-lab';

/** What each hook of the lab does with the next request. */
type Mood =
  | 'well'
  | 'throws'
  | 'rejects'
  | 'is slow'
  | 'answers'
  | 'adds'
  | 'changes'
  | 'protected'
  | 'is wrong'
  | 'reverses';

describe('hooks, through the whole program', () => {
  let lab: DsbcLab;
  let mood: Mood = 'well';
  const seen: string[] = [];
  let wrong: unknown;
  /** The site that each reversed plan starts at, as the lab names it. */
  const first: string[] = [];
  const act = (): Promise<never> | undefined => {
    if (mood === 'throws') throw new Error('thrown');
    if (mood === 'rejects') return Promise.reject(new Error('rejected'));
    if (mood === 'is slow') return new Promise<never>(() => undefined);
    return undefined;
  };
  const hooks = {
    onRequest: async () => {
      seen.push('onRequest');
      await act();
      return mood === 'answers'
        ? { respond: { status: 488, headers: [['Warning', '399 lab "no"']] } }
        : undefined;
    },
    beforeLookup: async () => {
      seen.push('beforeLookup');
      await act();
    },
    beforeRoute: async () => {
      seen.push('beforeRoute');
      await act();
    },
    beforeRelay: async ({ decision }: BeforeRelayContext) => {
      seen.push('beforeRelay');
      await act();
      if (mood === 'is wrong') return wrong;
      if (mood === 'reverses' && decision.kind === 'dispatch') {
        const plan = decision.plan.map(({ system, site, node }) => ({ system, site, node })).reverse();
        first.push(`${plan[0]!.system}/${plan[0]!.site}`);
        return { plan };
      }
      if (mood === 'changes')
        return {
          add: [
            ['User-Agent', 'the hook'],
            ['X-Hook', 'was here'],
          ],
          remove: ['X-Gone', 's'],
        };
      if (mood === 'protected')
        return { add: [['Route', '<sip:127.0.1.99;lr>']], remove: ['From', 'Call-ID'] };
      return mood === 'adds' ? { add: [['X-Hook', 'was here']] } : undefined;
    },
    onResponse: async () => {
      seen.push('onResponse');
      await act();
    },
  } as unknown as HookSet;
  beforeAll(async () => {
    lab = await DsbcLab.start({ hooks, config: { hooks: { timeout_ms: 50 } } });
  });
  afterEach(async () => {
    mood = 'well';
    seen.length = 0;
    await lab.tidy();
  });
  afterAll(() => lab.stop());

  it.each(['well', 'throws', 'rejects', 'is slow'] as const)(
    'one that %s breaks no call and no registration',
    async (next) => {
      mood = next;
      const phone = await lab.device();
      const register = await phone.request({ method: 'REGISTER' });
      const invite = await phone.request({ method: 'INVITE' });
      expect((await register.final()).message.status).toBe(200);
      expect((await invite.final()).message.status).toBe(200);
      expect(new Set(seen)).toEqual(
        new Set(['onRequest', 'beforeLookup', 'beforeRoute', 'beforeRelay', 'onResponse']),
      );
    },
  );

  it('one that answers ends the request there', async () => {
    mood = 'answers';
    const phone = await lab.device();
    const invite = await phone.request({ method: 'INVITE' });
    const { message } = await invite.final();
    expect([message.status, message.get('warning')]).toEqual([488, '399 lab "no"']);
    expect(lab.sitesOf(invite.callId)).toEqual([]);
  });

  it('one that adds a header: the site gets it', async () => {
    mood = 'adds';
    const phone = await lab.device();
    for (const method of ['REGISTER', 'INVITE']) {
      const request = await phone.request({ method });
      await request.final();
      const { site } = await lab.arrival(request.callId);
      expect((await site.waitForRequest(method)).message.get('x-hook')).toBe('was here');
    }
  });

  it.each(['REGISTER', 'INVITE', 'MESSAGE'])(
    'one that changes headers of %s: the site gets it so',
    async (method) => {
      const phone = await lab.device();
      const headers: [string, string][] = [
        ['User-Agent', 'phone'],
        ['X-Gone', '1'],
        ['X-Gone', '2'],
        ['Subject', 'hello'],
      ];
      mood = 'changes';
      const changed = await phone.request({ method, headers });
      expect((await changed.final()).message.status).toBe(200);
      // drachtio-server takes headers out of an INVITE with two dialogs: the site's has a Call-ID of its own.
      const received = Object.values(lab.sites).flatMap((site) => site.received);
      const { message } = received.find((one) => one.message.method === method)!;
      expect(['user-agent', 'x-hook', 'x-gone', 'subject'].map((name) => message.getAll(name))).toEqual([
        ['the hook'],
        ['was here'],
        [],
        [],
      ]);
    },
  );

  it('one that returns what it may not is left out, and the log says what and whose', async () => {
    const results: unknown[] = [
      { respond: { status: 9999 } },
      { plan: [] },
      { plan: [{ system: 'source', site: 'main', node: 'sip:127.0.1.99:5060' }] },
      { add: [['X-A', 'b\r\nX-Evil: 1']] },
      { add: { 'X-A': 'b' } },
      { foo: 1 },
      'no',
    ];
    mood = 'is wrong';
    for (const result of results) {
      wrong = result;
      const phone = await lab.device();
      const register = await phone.request({ method: 'REGISTER' });
      expect((await register.final()).message.status).toBe(200);
      const invite = await phone.request({ method: 'INVITE' });
      expect((await invite.final()).message.status).toBe(200);
    }
    expect(await lab.dsbc.metrics.text()).toContain(
      'dsbc_hook_failures_total{hook="beforeRelay",reason="result"} 14',
    );
  });

  it.each(['REGISTER', 'INVITE', 'MESSAGE'])(
    'one that changes protected headers of %s changes none',
    async (method) => {
      mood = 'protected';
      const phone = await lab.device();
      const request = await phone.request({ method });
      expect((await request.final()).message.status).toBe(200);
      // It arrives under its own Call-ID.
      const { site } = await lab.arrival(request.callId);
      const { message } = await site.waitForRequest(method);
      expect(message.from?.uri).toBe(/^From: *<([^>]+)>/m.exec(request.text)?.[1]);
      expect(message.list('route').filter((route) => route.includes('127.0.1.99'))).toEqual([]);
    },
  );

  it('one that puts another node first: the request goes there', async () => {
    mood = 'reverses';
    for (let i = 0; i < 6; i++) {
      const phone = await lab.device();
      const register = await phone.request({ method: 'REGISTER' });
      await register.final();
      expect((await lab.arrival(register.callId)).name).toBe(first.at(-1));
    }
  });

  it('with the policy fail the caller gets 500, and calls in progress go on', async () => {
    lab.sites['source/main'].script = () => [{ status: 180 }, { status: 200, afterMs: 300 }];
    lab.sites['source/a'].script = lab.sites['source/main'].script;
    lab.sites['source/b'].script = lab.sites['source/main'].script;
    const phone = await lab.device();
    const ringing = await phone.request({ method: 'INVITE' });
    await ringing.answer(180);
    lab.dsbc.reload({ ...lab.config(), hooks: { timeout_ms: 50, on_error: 'fail' } });
    mood = 'rejects';
    const register = await phone.request({ method: 'REGISTER' });
    expect((await register.final()).message.status).toBe(500);
    mood = 'well';
    expect((await ringing.final()).message.status).toBe(200);
  });
});
