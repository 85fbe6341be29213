import { DRACHTIO_CAPABILITIES } from '../plugin/link/sip-link';
import { REQUEST_LINE } from '../plugin/dispatch/request-line';
import type { HookSet } from '../plugin/hooks';
import type { RegistryAnswer } from '../plugin/registry/registry';
import type { NodeStates } from '../plugin/routing/states';
import { answersWith, PipelineLab, labConfig, type PipelineLabOptions } from './fixtures/pipeline';
import { SOURCES, requestText, type SipRequest } from './fixtures/routing';

const register = (account = '1001', headers: readonly string[] = []): SipRequest => ({
  method: 'REGISTER',
  uri: 'sip:example.com',
  from: `<sip:${account}@example.com>;tag=a`,
  to: `<sip:${account}@example.com>`,
  headers: [`Contact: <sip:${account}@203.0.113.7:40812>`, ...headers],
});

describe('the life of a request', () => {
  it('REGISTER: to the account’s site, with our Path on top, and one record', async () => {
    const lab = new PipelineLab();
    const { order, record } = await lab.send(register());
    expect(order).toMatchObject({
      relay: 'forward',
      requestUri: 'sip:example.com',
      entry: { address: '198.51.100.10', port: 5060 },
    });
    expect(order!.headers.path).toMatch(/^<sip:[A-Za-z0-9_-]{36}@198\.51\.100\.10:5060;lr>$/);
    const token = /sip:([^@]+)@/.exec(order!.headers.path!)![1]!;
    expect(lab.tokens.read(token)).toMatchObject({
      kind: 'ok',
      flow: {
        transport: 'udp',
        remote: { address: '203.0.113.7', port: 40812 },
        entry: { address: '198.51.100.10' },
      },
    });
    expect(lab.records).toHaveLength(1);
    expect(record).toMatchObject({
      id: 'r1',
      method: 'REGISTER',
      role: 'endpoint',
      key: 'account 1001',
      system: 'source',
      relay: 'forward',
      status: 200,
      ending: 'answered',
      site: order!.targets[0]!.site,
    });
    expect(lab.admission.inFlight).toBe(0);
  });

  it('a 2xx to REGISTER is learnt as binding; one behind NAT is pinged', async () => {
    const lab = new PipelineLab({ carry: answersWith(200, ['Contact: <sip:1001@192.0.2.33>;expires=120']) });
    await lab.send(register('1001', ['Contact: <sip:1001@192.0.2.33>']));
    expect(lab.bindings.list(10)).toMatchObject([{ aor: '1001@example.com', pinged: true, expiresIn: 120 }]);
    await lab.send(register('1001', ['Contact: <sip:1001@192.0.2.33>', 'Expires: 0']));
    expect(lab.bindings.size).toBe(0);
  });

  it('INVITE behind NAT: on path under the caller’s flow token', async () => {
    const lab = new PipelineLab();
    const { order } = await lab.send({ headers: ['Contact: <sip:1001@192.0.2.33>'] });
    expect(order).toMatchObject({ relay: 'proxy', onPath: true });
    expect(lab.tokens.read(order!.recordRouteUser!)).toMatchObject({
      kind: 'ok',
      flow: { remote: { port: 40812 } },
    });
  });

  it('a site’s request along a token goes to its flow, and back along it', async () => {
    const lab = new PipelineLab();
    const token = lab.tokens.issue({
      entry: { address: '198.51.100.10', port: 5060 },
      transport: 'tcp',
      remote: { address: '203.0.113.9', port: 50001 },
    });
    const { order } = await lab.send(
      { uri: 'sip:1001@10.0.0.5', headers: [`Route: <sip:${token}@198.51.100.10;lr>`] },
      SOURCES.sourceMain,
    );
    expect(order).toMatchObject({
      relay: 'proxy',
      onPath: true,
      requestUri: 'sip:1001@10.0.0.5',
      targets: [{ uri: 'sip:203.0.113.9:50001;transport=tcp' }],
      existingFlow: true,
      recordRouteUser: token,
    });
  });

  it('a token somebody made up is 403', async () => {
    const lab = new PipelineLab();
    const { answers } = await lab.send(
      { headers: ['Route: <sip:bm90b3Vycw@198.51.100.10;lr>'] },
      SOURCES.sourceMain,
    );
    expect(answers).toMatchObject([{ status: 403 }]);
  });

  it('answers by itself what can’t be routed, and malformed requests', async () => {
    const lab = new PipelineLab();
    expect((await lab.send(register('4999'))).answers).toMatchObject([{ status: 404 }]);
    const broken = requestText(register()).replace('CSeq: 1 REGISTER\r\n', '');
    expect((await lab.send(broken)).answers).toMatchObject([{ status: 400 }]);
    expect((await lab.send({ uri: 'http://x' })).answers).toMatchObject([{ status: 416 }]);
    expect(lab.records.map(({ status }) => status)).toEqual([404, 400, 416]);
  });

  it('never answers an ACK', async () => {
    const lab = new PipelineLab();
    const { dropped, answers, record } = await lab.send({
      method: 'ACK',
      to: '<sip:1002@example.com>;tag=x',
    });
    expect([dropped, answers, record?.ending]).toEqual([true, [], 'dropped']);
  });

  it('leaves alone what comes back by our own guard', async () => {
    const lab = new PipelineLab();
    const { record, order } = await lab.send({ headers: ['X-Guard: 1'] });
    expect([record, order]).toEqual([undefined, undefined]);
  });

  it('does nothing more for a caller who hung up while the registry was asked', async () => {
    let cancel: () => void = () => undefined;
    const lab = new PipelineLab({
      lookup: (key) => {
        cancel();
        return Promise.resolve({ kind: key.kind, system: 'source' });
      },
    });
    const request = lab.request(requestText({}));
    cancel = () => Object.assign(request, { cancelled: true });
    await lab.pipeline.handle(request);
    expect(lab.records).toMatchObject([{ ending: 'cancelled' }]);
  });

  it('a system whose affinity is none takes turns', async () => {
    const lab = new PipelineLab();
    const sites = [];
    for (let i = 0; i < 6; i++) sites.push((await lab.send(register('1002'))).order!.targets[0]!.site);
    expect(sites.slice(0, 2).sort()).toEqual(['a', 'main']);
    expect(sites).toEqual([sites[0], sites[1], sites[0], sites[1], sites[0], sites[1]]);
  });

  it('a retry with credentials goes to the node that challenged, whatever its turn', async () => {
    const challenge = new PipelineLab({
      carry: answersWith(401, ['WWW-Authenticate: Digest realm="r", nonce="n-1"']),
    });
    const first = (await challenge.send(register('1002'))).order!.targets[0]!;
    for (let i = 0; i < 4; i++) {
      const retry = register('1002', [
        'Authorization: Digest username="1002", realm="r", nonce="n-1", uri="sip:x", response="0"',
      ]);
      expect((await challenge.send(retry)).order!.targets[0]).toEqual(first);
    }
  });

  it.each([
    ['INVITE', true, true],
    ['SUBSCRIBE', true, true],
    ['MESSAGE', false, true],
    ['REFER', false, true],
  ])('%s: another site after a silent one: %s; with message_on_silence: %s', async (method, usual, asked) => {
    for (const [expected, config] of [
      [usual, {}],
      [asked, { failover: { message_on_silence: true } }],
    ] as const) {
      const { order } = await new PipelineLab({ config }).send({ method, to: '<sip:1002@example.com>' });
      expect(order?.limits.onSilence).toBe(expected);
    }
  });

  it('remembers where an account is served', async () => {
    const lab = new PipelineLab();
    const { order } = await lab.send(register());
    expect(lab.recentSites.siteOf('source', '1001')).toBe(order!.targets[0]!.site);
  });

  it('a registry that can’t be asked: the default system, or 503', async () => {
    const lookup = (): Promise<null> => Promise.reject(new Error('away'));
    const reject = new PipelineLab({ lookup });
    expect((await reject.send(register())).answers).toMatchObject([
      { status: 503, headers: [['Retry-After', '5']] },
    ]);
    const fallback = new PipelineLab({ lookup, config: { default_system: 'source' } });
    expect((await fallback.send(register())).record).toMatchObject({ system: 'source', status: 200 });
  });

  it('H38: asks the registry once for an account that is not there', async () => {
    const lab = new PipelineLab();
    for (let i = 0; i < 200; i++)
      expect((await lab.send(register('4999'))).answers).toMatchObject([{ status: 404 }]);
    expect(lab.lookups).toBe(1);
    lab.now += 5001;
    await lab.send(register('4999'));
    expect(lab.lookups).toBe(2);
  });

  it('H39: 1,000 callers that miss one key at once make one query', async () => {
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const lab = new PipelineLab({
      lookup: async (key) => {
        await gate;
        return { kind: key.kind, system: 'source' };
      },
    });
    const all = Promise.all(
      Array.from({ length: 1000 }, () =>
        lab.pipeline.handle(lab.request(requestText(register('1001')), SOURCES.sourceMain)),
      ),
    );
    release();
    await all;
    expect(lab.lookups).toBe(1);
    expect(lab.records).toHaveLength(1000);
    expect(new Set(lab.records.map(({ site }) => site)).size).toBe(1);
  });

  it('sees one configuration from beginning to end', async () => {
    const lab = new PipelineLab({
      lookup: (key) => {
        lab.config = labConfig({
          systems: { other: { sites: { x: { nodes: [{ uri: 'sip:192.0.2.9' }] } } } },
        });
        return Promise.resolve({ kind: key.kind, system: 'source' });
      },
    });
    expect((await lab.send(register())).record).toMatchObject({ system: 'source', status: 200 });
    expect((await lab.send(register())).answers).toMatchObject([{ status: 503 }]);
  });
});

describe('what does not fit into a datagram', () => {
  const long = { ...register(), headers: [...register().headers!, `X-Long: ${'x'.repeat(1200)}`] };

  it('goes over TCP where the node takes it; in fragments after all if nobody takes it so', async () => {
    const { order, record } = await new PipelineLab().send(long);
    const transports = order!.targets.map(({ uri }) => /transport=tcp$/.test(uri));
    expect(transports).toEqual([true, true, true, false, false, false]);
    expect(order!.targets.slice(3).map(({ site }) => site)).toEqual(
      order!.targets.slice(0, 3).map(({ site }) => site),
    );
    expect(record!.oversize).toMatchObject({ sentOver: 'tcp' });
  });

  it('H17: stays on UDP where it does not, and is reported with its size', async () => {
    const config = { systems: { source: { sites: { main: { nodes: [{ uri: 'sip:198.51.100.21' }] } } } } };
    const { order, record } = await new PipelineLab({ config }).send(long);
    expect(order!.targets[0]!.uri).toBe('sip:198.51.100.21');
    expect(record!.oversize).toMatchObject({ sentOver: 'udp' });
    expect(record!.oversize!.bytes).toBeGreaterThan(1300);
  });
});

it('an outbound destination gets no more than its rule allows', async () => {
  const lab = new PipelineLab({
    config: { outbound: { allow: [{ host: 'sip.vendor.example', max_requests_per_s: 2 }] } },
  });
  const call = (): ReturnType<typeof lab.send> =>
    lab.send({ uri: 'sip:+442079460000@sip.vendor.example' }, SOURCES.sourceMain);
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await call()).record!.status);
  expect(statuses).toEqual([200, 200, 503]);
  lab.now += 500;
  expect((await call()).record!.status).toBe(200);
});

describe('who is not let in', () => {
  it.each([
    ['standby', true, undefined],
    ['draining', false, 503],
  ] as const)('%s', async (mode, dropped, status) => {
    const lab = new PipelineLab();
    lab.admission.setMode(mode);
    const outcome = await lab.send(register());
    expect(outcome.dropped).toBe(dropped);
    expect(outcome.answers.map((one) => one.status)).toEqual(status === undefined ? [] : [status]);
    expect(outcome.record).toMatchObject({ reason: mode });
    expect(lab.admission.inFlight).toBe(0);
  });

  it('a scanner is blocked in silence after enough failures', async () => {
    const lab = new PipelineLab();
    for (let i = 0; i < 50; i++) await lab.send(register(`9${i}`));
    expect((await lab.send(register())).dropped).toBe(true);
    expect((await lab.send(register(), SOURCES.vendorA)).record).toMatchObject({ status: 200 });
  });
});

describe('hooks', () => {
  it('see the request at each step, and can change what happens', async () => {
    const lab = new PipelineLab();
    const seen: string[] = [];
    lab.hooks.addAll({
      onRequest: ({ role }) => void seen.push(`onRequest ${role}`),
      beforeLookup: ({ keys }) => {
        seen.push(`beforeLookup ${keys[0]!.value}`);
        return { keys: [{ kind: 'account', value: '1002' }] };
      },
      beforeRoute: ({ key, answer }) => void seen.push(`beforeRoute ${key!.value} ${answer!.system}`),
      beforeRelay: ({ decision }) => {
        seen.push(`beforeRelay ${decision.kind}`);
        return { add: [['X-Added', '1']], remove: ['User-Agent'] };
      },
      onResponse: ({ status }) => void seen.push(`onResponse ${status}`),
    });
    const { order, record } = await lab.send(register());
    expect(seen).toEqual([
      'onRequest endpoint',
      'beforeLookup 1001',
      'beforeRoute 1002 target',
      'beforeRelay dispatch',
      'onResponse 200',
    ]);
    expect(record).toMatchObject({ system: 'target', status: 200 });
    expect(order!.headers).toMatchObject({ add: [['X-Added', '1']], remove: ['User-Agent'] });
  });

  it('change headers the same by every relay', async () => {
    for (const [method, capabilities, relay] of [
      ['REGISTER', DRACHTIO_CAPABILITIES, 'forward'],
      ['INVITE', DRACHTIO_CAPABILITIES, 'b2bua'],
      ['INVITE', undefined, 'proxy'],
    ] as const) {
      const lab = new PipelineLab(capabilities === undefined ? {} : { capabilities });
      lab.hooks.add('beforeRelay', () => ({
        add: [
          ['Expires', '1'],
          ['X-Added', '1'],
          ['expires', '2'],
          ['X-Added', '2'],
        ],
        remove: ['User-Agent'],
      }));
      // Not behind NAT, so that drachtio-server would proxy it.
      const { order, record } = await lab.send({
        ...(method === 'REGISTER' ? register() : {}),
        method,
        headers: [
          'Via: SIP/2.0/UDP 203.0.113.7:40812;branch=z9hG4bK-t1',
          'User-Agent: phone',
          'Expires: 3600',
        ],
      });
      expect(record!.relay).toBe(relay);
      // What is proxied has the header that occurs once replaced by the SIP server itself.
      expect(order).toMatchObject({
        relay,
        headers: {
          add: [
            ['X-Added', '1'],
            ['expires', '2'],
            ['X-Added', '2'],
          ],
          remove: relay === 'proxy' ? ['User-Agent'] : ['User-Agent', 'expires'],
        },
      });
    }
  });

  it('that write to what they are given are refused it, and the request goes its way', async () => {
    const plain = await new PipelineLab().send(register());
    const lab = new PipelineLab();
    const writable = (value: unknown) => value as Record<string, unknown>;
    lab.hooks.add('onRequest', (it) => {
      'use strict';
      writable(it.message)['uri'] = 'sip:evil@other.org';
    });
    lab.hooks.add('onRequest', (it) => {
      'use strict';
      writable(it.source)['address'] = '198.51.100.21';
    });
    lab.hooks.add('beforeRelay', (it) => {
      'use strict';
      (writable(it.decision)['plan'] as unknown[]).reverse();
    });
    lab.hooks.add('beforeRelay', (it) => {
      'use strict';
      writable(it.decision)['kind'] = 'drop';
    });
    const { order, record } = await lab.send(register());
    expect(record).toMatchObject({ status: 200, role: 'endpoint' });
    expect(order).toMatchObject({
      requestUri: plain.order!.requestUri,
      targets: plain.order!.targets,
    });
  });

  it('can answer instead', async () => {
    for (const name of ['onRequest', 'beforeLookup', 'beforeRoute', 'beforeRelay'] as const) {
      const lab = new PipelineLab();
      lab.hooks.add(name, () => ({
        respond: { status: 603, reason: 'No', headers: [['Warning', '399 x "y"']] },
      }));
      const { answers, order } = await lab.send(register());
      expect(order).toBeUndefined();
      expect(answers).toEqual([{ status: 603, reason: 'No', headers: [['Warning', '399 x "y"']] }]);
    }
  });

  it('can replace the registry’s answer and the plan', async () => {
    const lab = new PipelineLab();
    lab.hooks.add('beforeRoute', () => ({ answer: null }));
    expect((await lab.send(register())).answers).toMatchObject([{ status: 404 }]);
    const other = new PipelineLab();
    const plan = [
      { system: 'source', site: 'b', node: 'sip:198.51.100.23:5060', uri: 'sip:198.51.100.23:5060' },
    ];
    other.hooks.add('beforeRelay', () => ({ plan }));
    expect((await other.send(register())).order!.targets).toMatchObject(plan);
  });

  it('that fail are skipped; with the policy fail the caller gets 500 and onError is told', async () => {
    const lab = new PipelineLab();
    lab.hooks.add('beforeLookup', () => Promise.reject(new Error('boom')));
    expect((await lab.send(register())).record).toMatchObject({ status: 200 });

    const errors: unknown[] = [];
    lab.hooks.add('beforeRoute', () => Promise.reject(new Error('bang')), { onError: 'fail' });
    lab.hooks.add('onError', ({ error }) => void errors.push(error));
    const { answers, record } = await lab.send(register());
    expect(answers).toMatchObject([{ status: 500 }]);
    expect(record).toMatchObject({ status: 500, reason: 'bang' });
    expect(errors).toMatchObject([{ message: 'bang' }]);
    expect(lab.admission.inFlight).toBe(0);
  });

  it('can add headers to answers of ours', async () => {
    const lab = new PipelineLab();
    lab.hooks.add('onResponse', () => ({ add: [['X-Why', 'unknown']] }));
    expect((await lab.send(register('4999'))).answers).toEqual([
      { status: 404, reason: 'Not Found', headers: [['X-Why', 'unknown']] },
    ]);
  });
});

describe('the line of a request', () => {
  const unknownSystem = (): Promise<RegistryAnswer> => Promise.resolve({ kind: 'account', system: 'sorce' });
  const refusals: [string, PipelineLabOptions, HookSet, SipRequest, object][] = [
    [
      'a system that is not configured',
      { lookup: unknownSystem },
      {},
      register(),
      { status: 503, because: 'the registry names system sorce, which is not configured' },
    ],
    [
      'a hook that names such a system',
      {},
      { beforeRoute: [() => undefined, () => ({ answer: { system: 'sorce' } })] },
      register(),
      {
        status: 503,
        because: "hook beforeRoute 'beforeRoute#2' names system sorce, which is not configured",
        hook: 'beforeRoute',
        hookName: 'beforeRoute#2',
      },
    ],
    [
      'every site in maintenance',
      { states: { size: 1, get: () => 'maintenance' } as unknown as NodeStates },
      {},
      register(),
      { status: 503, because: 'every site of system source is in maintenance' },
    ],
    [
      'an account that is blocked',
      {},
      {},
      register('1009'),
      { status: 403, because: 'the registry says that it is blocked' },
    ],
    [
      'an unknown account',
      {},
      {},
      register('4999'),
      { status: 404, because: 'the registry knows none of them' },
    ],
    [
      'a hook that answers',
      {},
      {
        onRequest: function closed() {
          return { respond: { status: 603 } };
        },
      },
      register(),
      { status: 603, because: "hook onRequest 'closed' answered it", hook: 'onRequest', hookName: 'closed' },
    ],
    [
      'a malformed message',
      {},
      {},
      { uri: 'http://x' },
      { status: 416, reason: 'Unsupported URI Scheme', because: 'the message is malformed' },
    ],
  ];

  it.each(refusals)('says why it was refused: %s', async (_, options, hooks, request, line) => {
    const lab = new PipelineLab(options);
    lab.hooks.addAll(hooks);
    await lab.send(request);
    const said = lab.lines.filter(({ msg }) => msg === 'request');
    expect(said).toMatchObject([{ level: 'info', ...line }]);
    for (const field of Object.keys(said[0]!))
      expect(['level', 'msg', ...Object.keys(REQUEST_LINE)]).toContain(field);
  });

  it('says where a site may not call', async () => {
    const lab = new PipelineLab();
    await lab.send({ uri: 'sip:1@premium.example' }, SOURCES.sourceMain);
    expect(lab.lines.at(-1)).toMatchObject({
      status: 403,
      because: 'outbound.allow does not name premium.example',
    });
  });

  it('names the hook that ended it by failing', async () => {
    const lab = new PipelineLab();
    lab.hooks.add('beforeRoute', () => Promise.reject(new Error('bang')), { onError: 'fail', name: 'crm' });
    await lab.send(register());
    expect(lab.lines.at(-1)).toMatchObject({ status: 500, hook: 'beforeRoute', hookName: 'crm' });
  });

  it('has no word of these for what was carried as it came', async () => {
    const lab = new PipelineLab();
    await lab.send(register());
    expect(lab.lines.at(-1)).toMatchObject({ msg: 'request', status: 200 });
    expect(lab.lines.at(-1)!['because']).toBeUndefined();
    expect(lab.lines.at(-1)!['hook']).toBeUndefined();
  });
});

describe('admission', () => {
  const foreign = (user: string): SipRequest => ({
    method: 'REGISTER',
    uri: 'sip:victim.example',
    from: `<sip:${user}@victim.example>;tag=a`,
    to: `<sip:${user}@victim.example>`,
  });
  const invite = (from: string, to: string): SipRequest => ({
    uri: `sip:${to}@example.com`,
    from: `<sip:${from}@example.com>;tag=a`,
    to: `<sip:${to}@example.com>`,
    headers: [`Contact: <sip:${from}@203.0.113.7:40812>`],
  });
  const limits = { per_source: { failed_requests: 50 } };
  const blockedAfter = async (
    lab: PipelineLab,
    request: (i: number) => SipRequest | string,
  ): Promise<number> => {
    for (let i = 0; i < 130; i++) if ((await lab.send(request(i))).dropped) return i;
    return Infinity;
  };

  it('blocks who tries many users, at whatever domain, refused by whomever', async () => {
    expect(await blockedAfter(new PipelineLab({ config: { limits } }), (i) => foreign(`u${i}`))).toBe(50);
    expect(await blockedAfter(new PipelineLab({ config: { limits } }), (i) => register(`4${i}`))).toBe(50);
    const hooked = new PipelineLab({ config: { limits } });
    hooked.hooks.add('onRequest', () => ({ respond: { status: 403 } }));
    expect(await blockedAfter(hooked, (i) => register(`4${i}`))).toBe(50);
    const malformed = (i: number): string =>
      requestText(register(`4${i}`)).replace('CSeq: 1 REGISTER\r\n', '');
    expect(await blockedAfter(new PipelineLab({ config: { limits } }), malformed)).toBe(50);
  });

  it('blocks who is nobody here and dials many numbers', async () => {
    const lab = new PipelineLab({ config: { limits } });
    expect(await blockedAfter(lab, (i) => invite('4100', `9011${i}`))).toBe(50);
  });

  it('lets a phone try on with a wrong account, whatever it subscribes to, and one whose calls a site refuses', async () => {
    const lab = new PipelineLab({ config: { limits } });
    const phone = (i: number): SipRequest =>
      i % 2 === 0 ? register('4999') : { ...invite('4999', `20${i}`), method: 'SUBSCRIBE' };
    expect(await blockedAfter(lab, phone)).toBe(Infinity);
    expect(await blockedAfter(lab, () => foreign('4999'))).toBe(Infinity);
    const calls = new PipelineLab({ config: { limits }, carry: answersWith(403) });
    expect(await blockedAfter(calls, (i) => invite('1001', `1202555${i}`))).toBe(Infinity);
  });

  it('tells of the first request of a source that it refuses, and counts the others', async () => {
    const lab = new PipelineLab({ config: { limits: { per_source: { burst: 2, requests_per_s: 1 } } } });
    for (let i = 0; i < 100; i++) await lab.send(register());
    const refused = lab.lines.filter(({ msg }) => msg === 'requests refused');
    const who = { source: '203.0.113.7', server: 'main', role: 'endpoint' };
    expect(refused).toMatchObject([{ level: 'warn', reason: 'too_fast', status: 503, count: 1, ...who }]);
    lab.now = 30_000;
    for (let i = 0; i < 3; i++) await lab.send(register());
    const again = lab.lines.filter(({ msg }) => msg === 'requests refused');
    expect(again.slice(1)).toMatchObject([{ reason: 'too_fast', count: 98, ...who }]);
  });

  it('leaves room for others while the calls of one source ring, and tells of what it refuses', async () => {
    const ringing: (() => void)[] = [];
    const lab = new PipelineLab({
      config: { limits: { max_in_flight: 4 } },
      carry: (order) => new Promise((resolve) => ringing.push(() => resolve(answersWith(200)(order)))),
    });
    const calls = [lab.send({}), lab.send({})];
    for (let i = 0; i < 20 && ringing.length < 2; i++) await new Promise((resolve) => setImmediate(resolve));
    expect((await lab.send({})).answers).toEqual([{ status: 503, headers: [['Retry-After', '5']] }]);
    expect(lab.records.at(-1)).toMatchObject({ status: 503, reason: 'too_many_of_source' });
    expect(lab.lines.at(-1)).toMatchObject({
      msg: 'requests refused',
      level: 'warn',
      reason: 'too_many_of_source',
      source: '203.0.113.7',
    });
    const other = lab.send({}, { ...SOURCES.phone, address: '203.0.113.8' });
    for (let i = 0; i < 20 && ringing.length < 3; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(ringing).toHaveLength(3);
    for (const end of ringing.splice(0)) end();
    await Promise.all([...calls, other]);
    const again = lab.send({});
    for (let i = 0; i < 20 && ringing.length < 1; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(ringing).toHaveLength(1);
    ringing[0]!();
    await again;
    expect(lab.admission.inFlight).toBe(0);
  });

  it.each([
    ['draining', 'info'],
    ['standby', undefined],
  ] as const)('while it is %s', async (mode, level) => {
    const lab = new PipelineLab();
    lab.admission.setMode(mode);
    await lab.send(register());
    const refused = lab.lines.filter(({ msg }) => msg === 'requests refused');
    expect(refused.map((line) => [line['reason'], line.level])).toEqual(
      level === undefined ? [] : [[mode, level]],
    );
  });
});

describe('faults', () => {
  it('of a relay end in 500 and a log line, not in the process', async () => {
    const lab = new PipelineLab({ carry: () => Promise.reject(new Error('relay broke')) });
    const { answers, record } = await lab.send(register());
    expect(answers).toEqual([{ status: 500 }]);
    expect(record).toMatchObject({ status: 500, reason: 'relay broke' });
  });

  it('of a relay that had answered get no second answer', async () => {
    const lab = new PipelineLab({
      carry: (_, request) => {
        Object.assign(request, { settled: true });
        return Promise.reject(new Error('late'));
      },
    });
    const { answers, record } = await lab.send(register());
    expect(answers).toEqual([]);
    expect(record).toMatchObject({ ending: 'lost' });
  });
});

it.each([
  ['X-Name: a\0b', 400],
  ['X-Name: "a\\\\\0b"', 400],
  ['X-Name: "a\\\0b"', 200],
])('NUL in a header is 400 unless it is escaped: %j is %i', async (line, status) => {
  const lab = new PipelineLab();
  const { answers, order, record } = await lab.send(register('1001', [line]));
  expect(record!.status).toBe(status);
  expect(order === undefined).toBe(status === 400);
  if (status === 400) expect(answers).toEqual([{ status, reason: 'NUL in a header field' }]);
  const body = requestText({ method: 'MESSAGE', headers: ['Content-Type: text/plain'], body: 'a\0b' });
  expect((await lab.send(body)).record).toMatchObject({ status: 200 });
});

it('an identity an endpoint makes up is taken out, and our own header too', async () => {
  const lab = new PipelineLab();
  const { order } = await lab.send(
    register('1001', ['P-Asserted-Identity: <sip:boss@example.com>', 'X-DSBC-Flow: sip:1.2.3.4']),
  );
  expect(order!.headers.remove).toEqual(['p-asserted-identity', 'x-dsbc-flow']);
});

it('drachtio-server: an INVITE behind NAT goes by b2bua', async () => {
  const lab = new PipelineLab({ capabilities: DRACHTIO_CAPABILITIES });
  const { order } = await lab.send({ headers: ['Contact: <sip:1001@192.0.2.33>'] });
  expect(order).toMatchObject({ relay: 'b2bua', onPath: true });
});

describe('while the addresses go to another instance', () => {
  const call: SipRequest = { uri: 'sip:1002@example.com' };
  const NEAR = ['Contact: <sip:1001@203.0.113.7:40812>'];

  it('a proxied call is carried to the last moment, a registration is left to the other', async () => {
    const lab = new PipelineLab({ holds: () => true });
    lab.admission.setMode('handing_over');
    expect((await lab.send({ ...call, headers: NEAR })).order).toMatchObject({ relay: 'proxy' });
    const outcome = await lab.send(register());
    expect(outcome).toMatchObject({ order: undefined, answers: [], dropped: true, takenAgain: true });
    expect(outcome.record).toMatchObject({ ending: 'dropped', reason: 'standby' });
    expect(lab.admission.inFlight).toBe(0);
  });

  it('nothing that comes now is waited for', async () => {
    let answer: (() => void) | undefined;
    const lab = new PipelineLab({
      holds: () => true,
      lookup: () => new Promise((resolve) => (answer = () => resolve(null))),
    });
    lab.admission.setMode('handing_over');
    const sent = lab.send(register());
    while (answer === undefined) await new Promise(setImmediate);
    expect(await lab.admission.idle(0)).toBe(true);
    answer();
    await sent;
    expect(lab.admission.inFlight).toBe(0);
  });

  it('a call that needs two dialogs is 503 where the server has said 100, else left in silence', async () => {
    const hidden: SipRequest = { ...call, headers: ['Contact: <sip:1001@192.168.1.20:5060>'] };
    const modes = [
      [{ ...DRACHTIO_CAPABILITIES }, [503], false],
      [{ ...DRACHTIO_CAPABILITIES, dropRequests: true }, [], true],
    ] as const;
    for (const [capabilities, statuses, dropped] of modes) {
      const lab = new PipelineLab({ holds: () => true, capabilities });
      lab.admission.setMode('handing_over');
      const outcome = await lab.send(hidden);
      expect(outcome.record).toMatchObject({ relay: 'b2bua', reason: 'standby' });
      expect(outcome.order).toBeUndefined();
      expect(outcome.answers.map(({ status }) => status)).toEqual(statuses);
      expect(outcome.dropped).toBe(dropped);
    }
  });

  it('a call that something of ours holds to the last moment is 503 where the server has said 100', async () => {
    const holders = ['lookup', 'onRequest', 'beforeRelay', 'onResponse'] as const;
    for (const holder of holders) {
      for (const dropRequests of [false, true]) {
        let release: (() => void) | undefined;
        const held = () => new Promise<void>((resolve) => (release = resolve));
        const lab = new PipelineLab({
          holds: () => true,
          capabilities: { ...DRACHTIO_CAPABILITIES, dropRequests },
          lookup: async () => {
            if (holder === 'lookup') await held();
            // What is not found is answered by us, past the hook for answers.
            return holder === 'onResponse' ? null : { kind: 'account', system: 'source' };
          },
        });
        if (holder !== 'lookup') lab.hooks.add(holder, () => held().then(() => undefined));
        const sent = lab.send({ ...call, headers: NEAR });
        while (release === undefined) await new Promise(setImmediate);
        lab.admission.setMode('handing_over');
        await lab.pipeline.refuseUndecided();
        release();
        const { answers, record } = await sent;
        expect({ holder, refused: answers.filter(({ status }) => status === 503).length }).toEqual({
          holder,
          refused: dropRequests ? 0 : 1,
        });
        if (!dropRequests) {
          expect(answers).toEqual([{ status: 503, headers: [['Retry-After', '1']] }]);
          expect(record).toMatchObject({ status: 503, reason: 'standby' });
        }
        expect(lab.admission.inFlight).toBe(0);
      }
    }
  });

  it('what is on its way or answered at the last moment is left alone', async () => {
    let end: (() => void) | undefined;
    const lab = new PipelineLab({
      holds: () => true,
      capabilities: DRACHTIO_CAPABILITIES,
      carry: () =>
        new Promise((resolve) => {
          end = () => resolve({ kind: 'answered', answer: { status: 200 }, attempts: [] });
        }),
    });
    const sent = lab.send({ ...call, headers: NEAR });
    while (end === undefined) await new Promise(setImmediate);
    await lab.pipeline.refuseUndecided();
    end();
    expect((await sent).answers).toEqual([]);
    await lab.pipeline.refuseUndecided();
    expect(lab.records.at(-1)).toMatchObject({ status: 200 });
  });

  it('what was being looked up when they went is not sent', async () => {
    for (const request of [register(), { ...call, headers: NEAR }]) {
      let holds = true;
      const lab = new PipelineLab({
        holds: () => holds,
        lookup: () => {
          holds = false;
          return Promise.resolve({ kind: 'account', system: 'source' });
        },
      });
      const outcome = await lab.send(request);
      expect(outcome).toMatchObject({ order: undefined, answers: [], dropped: true, takenAgain: true });
    }
  });
});
