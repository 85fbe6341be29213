import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAdmin, type AdminServer } from '../../plugin/admin/server';
import { OrderRefused } from '../../plugin/admin/operation';
import { main } from '../../plugin/cli/main';
import { runUpdate } from '../../plugin/cli/update/update';
import { silentLogger } from '../../plugin/telemetry/logger';
import { RecordedIo } from '../fixtures/io';
import { FakeOperation, groupView } from '../fixtures/operation';

const TOKEN = 'a token of 16 and more';
const quick = { pollMs: 5, limitMs: 500, quietMs: 5 };

describe('commands for the running instance', () => {
  let dir: string;
  let file: string;
  let operation: FakeOperation;
  let server: AdminServer;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dsbc-operator-'));
    operation = new FakeOperation();
    server = await startAdmin({
      config: { enabled: true, address: '127.0.0.1', port: 0, token: TOKEN },
      operation,
      version: '0.1.0',
      log: silentLogger,
    });
    file = join(dir, 'dsbc.yaml');
    await writeConfig();
  });
  afterEach(async () => {
    await server.close();
    await rm(dir, { recursive: true });
  });
  const writeConfig = (more = '', token = TOKEN) =>
    writeFile(
      file,
      `instance: dsbc-1
domains: [example.com]
sip_servers: [{ name: main, server: embedded, entry: { address: 127.0.0.1 } }]
systems:
  source:
    sites:
      main: { nodes: [{ uri: 'sip:198.51.100.21:5060' }] }
      a: { nodes: [{ uri: 'sip:198.51.100.22:5060' }] }
admin: { port: ${server.port}, token: ${token} }
${more}`,
    );
  const dsbc = async (...argv: string[]) => {
    const io = new RecordedIo();
    const code = await main([...argv, '-c', file], io);
    return { code, out: io.stdout, err: io.stderr };
  };

  it('status shows sites, shares and traffic, and exits 1 when not ready', async () => {
    const { code, out } = await dsbc('status');
    expect(code).toBe(0);
    expect(out).toMatch(/^dsbc-1 \(version 0\.1\.0, up 12 s\): ready\n3 requests under way, 27 since start/);
    expect(out).toContain('\nnative addon (native: auto): the addon is loaded\n');
    expect(out).toMatch(/source\/main +active +50 % +50 % +7/);
    operation.ready = false;
    expect(await dsbc('status')).toMatchObject({
      code: 1,
      out: expect.stringContaining('no SIP server is connected'),
    });
  });

  it('status exits 0 on a standby that could take over, and 1 on one that could not', async () => {
    operation.ready = false;
    let group: typeof groupView = { ...groupView, state: 'STANDBY', holds_vips: false };
    operation.group = {
      group: () => Promise.resolve(group),
      handOver: () => Promise.resolve(),
      maintain: () => Promise.resolve(),
    };
    expect(await dsbc('status')).toMatchObject({
      code: 0,
      out: expect.stringContaining(': standby, ready to take over\n'),
    });
    for (const state of ['FAULT', 'MAINT', 'INIT']) {
      group = { ...group, state };
      expect(await dsbc('status')).toMatchObject({ code: 1, out: expect.stringContaining('not ready: ') });
    }
  });

  it.each([
    ['connected', 'SIP server main does not listen on its entry address 192.0.2.1:5060', '$trouble'],
    ['lost', 'connect ECONNREFUSED', 'SIP server main is lost: connect ECONNREFUSED'],
    ['connecting', '', 'SIP server main is connecting'],
  ])(
    'status says at the top that a server is %s with trouble "%s", and exits 1',
    async (state, trouble, said) => {
      const { status } = operation;
      operation.status = async () => {
        const view = await status();
        return { ...view, sip_servers: view.sip_servers.map((one) => ({ ...one, state, trouble })) };
      };
      const { code, out } = await dsbc('status');
      expect([code, out.split('\n')[0]]).toEqual([
        1,
        `dsbc-1 (version 0.1.0, up 12 s): ready; but ${said.replace('$trouble', trouble)}`,
      ]);
    },
  );

  it('status shows the group, its alarms, and heartbeats that were not taken', async () => {
    const heartbeats_refused = { ...groupView.heartbeats_refused, forged: 3 };
    const alarms = [{ name: 'conflict', about: 'dsbc-2' }];
    operation.group = {
      group: () => Promise.resolve({ ...groupView, alarms, heartbeats_refused }),
      handOver: () => Promise.resolve(),
      maintain: () => Promise.resolve(),
    };
    const { out } = await dsbc('status');
    expect(out).toMatch(/dsbc-1 +ACTIVE +1 service links +holds 198\.51\.100\.10/);
    expect(out).toMatch(/dsbc-2 +STANDBY +1 service links +heard 120 ms ago/);
    expect(out).toContain('Alarm: conflict dsbc-2');
    expect(out).toContain('\nHeartbeats refused: 3 forged\n');
    expect(JSON.parse((await dsbc('status', '--json')).out)).toMatchObject({
      status: { ready: true },
      group: { group: 'g' },
    });
  });

  it('site takes a site out and brings it back, and says who it was', async () => {
    expect(await dsbc('site', 'maintenance', 'source/main', '--why', 'update')).toMatchObject({
      code: 0,
      out: 'source/main is maintenance\n',
    });
    expect(operation.orders).toMatchObject([
      { system: 'source', name: 'main', state: 'maintenance', why: 'update', by: expect.stringMatching(/./) },
    ]);
    expect(await dsbc('site', 'drain', 'source/a')).toMatchObject({
      code: 1,
      err: 'Refused: source would have no active site.\n',
    });
    expect(await dsbc('site', 'drain', 'source/a', '--force')).toMatchObject({ code: 0 });
    expect(await dsbc('site', 'active', 'source/main')).toMatchObject({ code: 0 });
    expect((await dsbc('site', 'list')).out).toMatch(/source\/main +active\nsource\/a +drain/);
  });

  it('site tells which nodes are held back by a state of their own, and who said it', async () => {
    const [main] = operation.siteViews;
    const [node] = main!.nodes;
    const at = '2026-11-30T03:00:00.000Z';
    node!.operator = { state: 'drain', by: 'ada', at, why: 'new disk' };
    operation.orderSite = () =>
      Promise.resolve({ ...main!, state: 'drain', nodes: [{ ...node!, state: 'drain' }] });
    const uri = node!.uri;
    expect(await dsbc('site', 'active', 'source/main')).toMatchObject({
      code: 1,
      out: `source/main is drain
  node ${uri} is in drain of its own by ada, ${at}: new disk (dsbc site active source/main --node ${uri} ends that)
`,
    });
    expect((await dsbc('site', 'list')).out).toContain(`  ${uri}  active  drain by ada, ${at}: new disk\n`);
    // One of the node is told of the node, and of the site that rules it.
    operation.orderSite = () =>
      Promise.resolve({
        ...main!,
        state: 'maintenance',
        operator: { state: 'maintenance', by: 'bob', at, why: '' },
        nodes: [{ ...node!, state: 'maintenance', operator: null }],
      });
    expect(await dsbc('site', 'active', 'source/main', '--node', uri)).toMatchObject({
      code: 1,
      out: `source/main: node ${uri} is maintenance, the site maintenance
  the whole site is in maintenance by bob, ${at} (dsbc site active source/main ends that)
`,
    });
  });

  it('status shows of nodes who took them out, and why they are down', async () => {
    const [main] = operation.siteViews;
    const [node] = main!.nodes;
    const operator = { state: 'drain', by: 'ada', at: 'noon', why: 'new disk' } as const;
    const reason = 'the name "nosuch.invalid" does not resolve';
    main!.nodes = [
      { ...node!, uri: 'sip:a', state: 'drain', operator },
      { ...node!, uri: 'sip:b', state: 'down', healthy: false, reason },
    ];
    const { out } = await dsbc('status');
    expect(out).toMatch(/\n {2}sip:a +drain +drain by ada, noon: new disk\n/);
    expect(out).toMatch(new RegExp(`\n {2}sip:b +down +down for 12 s: ${reason}\n`));
  });

  it.each([
    [['site', 'sleep', 'source/main'], '"sleep" is none of'],
    [['site', 'active'], 'say which site'],
    [['site', 'active', 'main'], 'say which site'],
    [['site'], 'missing: maintenance|drain|active|list'],
    [['update'], 'missing: plan|next|status'],
    [['ha'], 'missing: maintenance on|off'],
    [['ha', 'maintenance'], 'missing: on|off'],
    [['flows', '--limit', 'x'], '--limit is a number from 0 to 10000, not "x"'],
    [['flows', '--limit', '-1'], '--limit'],
    [['flows', '--limit', '10001'], '--limit'],
  ])('says what is wrong with %j', async (argv, text) => {
    expect(await dsbc(...argv)).toMatchObject({ code: 2, err: expect.stringContaining(text) });
  });

  it('site says that there is no such site', async () => {
    expect(await dsbc('site', 'active', 'source/b')).toMatchObject({
      code: 1,
      err: 'Refused: There is no site source/b.\n',
    });
  });

  it('reload and handover carry the order and the refusal', async () => {
    expect(await dsbc('reload')).toMatchObject({ code: 0, out: 'Reloaded.\n' });
    expect(await dsbc('handover')).toMatchObject({
      code: 1,
      err: expect.stringContaining('not part of a group'),
    });
    operation.group = {
      group: () => Promise.resolve(groupView),
      handOver: () => Promise.reject(new OrderRefused('conflict', 'not active')),
      maintain: () => Promise.resolve(),
    };
    expect(await dsbc('handover', 'dsbc-2')).toMatchObject({ code: 1, err: 'Refused: not active\n' });
  });

  it('ha maintenance carries the order and the refusal', async () => {
    const orders: boolean[] = [];
    operation.group = {
      group: () => Promise.resolve(groupView),
      handOver: () => Promise.resolve(),
      maintain: (on) => {
        orders.push(on);
        return on ? Promise.reject(new OrderRefused('conflict', 'nobody else')) : Promise.resolve();
      },
    };
    expect(await dsbc('ha', 'maintenance', 'on')).toMatchObject({ code: 1, err: 'Refused: nobody else\n' });
    expect(await dsbc('ha', 'maintenance', 'off')).toMatchObject({
      code: 0,
      out: `${groupView.instance} is ${groupView.state}\n`,
    });
    expect(orders).toEqual([true, false]);
    expect(await dsbc('ha', 'maintenance', 'maybe')).toMatchObject({ code: 2 });
  });

  it('flows lists registrations', async () => {
    expect((await dsbc('flows')).out).toMatch(
      /^1 registrations over 1 flows\n1001@example\.com +udp +203\.0\.113\.7:40123 +via 198\.51\.100\.10 +60 s +pinged\n$/,
    );
    expect((await dsbc('flows', '--search', 'nobody')).out).toBe(
      '1 registrations over 1 flows, none with "nobody"\n',
    );
    expect((await dsbc('flows', '--limit', '0')).out).toBe(
      '1 registrations over 1 flows\n… the first 0 of 1; --limit N shows more, --search TEXT fewer\n',
    );
  });

  it.each([
    ['an unknown key', 'colour: red\n'],
    ['a variable that is not set', 'mtu: ${DSBC_TEST_NOT_SET}\n'],
    ['a section of the wrong kind', 'cache: 7\n'],
    ['a list without its end', 'domains: [example.com\n'],
    ['an alias without its anchor', 'instance: *name\n'],
    ['a second document', '---\nmtu: 1400\n'],
  ])('works while the file is being edited and has %s', async (_, more) => {
    await writeConfig(more);
    for (const words of [
      ['status'],
      ['site', 'drain', 'source/a', '--force'],
      ['site', 'list'],
      ['flows'],
      ['reload'],
    ])
      expect(await dsbc(...words)).toMatchObject({
        code: 0,
        err: expect.stringMatching(
          /^note: the configuration is not valid; what it says of the admin API is used\n {2}\/.*\/dsbc.yaml:\d+: .*expected .*\n/,
        ),
      });
  });

  it('does not guess where the admin API is', async () => {
    await writeConfig('admin: {}\n');
    expect(await dsbc('status')).toMatchObject({
      code: 3,
      err: expect.stringContaining('admin a second time'),
    });
    for (const text of ['mtu: [\n  admin: { port: 1 }\n', 'admin: { port: 1\nmtu: 1\n']) {
      await writeFile(file, text);
      const { code, err } = await dsbc('status');
      expect([code, err]).toEqual([
        3,
        expect.stringContaining('note: --url URL and --token-file FILE reach'),
      ]);
      expect(err).toContain('expected YAML');
    }
    await writeConfig('', 'short');
    expect(await dsbc('status')).toMatchObject({ code: 3, err: expect.stringContaining('admin.token') });
  });

  it('needs no file where it is told the address and the token', async () => {
    const url = `http://127.0.0.1:${server.port}`;
    const token = join(dir, 'token');
    await writeFile(token, `${TOKEN}\n`);
    const run = async (...argv: string[]) => {
      const io = new RecordedIo();
      return { code: await main(argv, io), out: io.stdout, err: io.stderr };
    };
    expect(await run('status', '--url', url, '--token-file', token)).toMatchObject({ code: 0, err: '' });
    const bare = await run('status', '--url', url);
    expect(bare.code).toBe(5);
    for (const word of ['none was given', '--token-file', 'DSBC_ADMIN_TOKEN'])
      expect(bare.err).toContain(word);
    expect(bare.err).not.toContain('does not accept');
    process.env['DSBC_ADMIN_TOKEN'] = TOKEN;
    try {
      expect(await run('status', '--url', url)).toMatchObject({ code: 0 });
      process.env['DSBC_ADMIN_URL'] = url;
      expect(await run('site', 'list')).toMatchObject({ code: 0 });
      expect(await run('site', 'list', '-c', join(dir, 'none.yaml'))).toMatchObject({ code: 3 });
    } finally {
      delete process.env['DSBC_ADMIN_TOKEN'];
      delete process.env['DSBC_ADMIN_URL'];
    }
    expect(await run('status', '--url', 'ftp://x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('no address of an admin API'),
    });
    expect(await run('status', '--url', url, '--token-file', join(dir, 'none'))).toMatchObject({
      code: 2,
      err: expect.stringContaining('--token-file cannot be read'),
    });
    await writeConfig('', 'another token of 16');
    expect(await dsbc('reload', '--token-file', token)).toMatchObject({ code: 0 });
  });

  it('exits 5 when the instance is away, is another program, or has another token', async () => {
    await writeConfig('', 'another token of 16');
    expect(await dsbc('status')).toMatchObject({
      code: 5,
      err: expect.stringContaining('does not accept the token'),
    });
    await writeConfig();
    await server.close();
    expect(await dsbc('status')).toMatchObject({
      code: 5,
      err: expect.stringContaining('DSBC_ADMIN_UNREACHABLE'),
    });
  });

  describe('update', () => {
    const state = () => join(dir, 'plan.json');
    const update = async (...argv: string[]) => {
      const io = new RecordedIo();
      const code = await runUpdate([...argv, '-c', file, '--state', state()], io, quick);
      return { code, out: io.stdout, err: io.stderr };
    };
    const stateOf = (name: string) => operation.siteViews.find((site) => site.site === name)?.state;

    it('leads through the sites of a single instance, the main one first', async () => {
      expect((await update('plan')).out).toMatch(
        /next {2}1\. take site source\/main out[\s\S]*2\. bring site source\/main back[\s\S]*3\. take site source\/a out[\s\S]*4\. bring site source\/a back/,
      );
      expect(await update('next')).toMatchObject({
        code: 0,
        out: expect.stringContaining('Now update site source/main'),
      });
      expect([stateOf('main'), stateOf('a')]).toEqual(['maintenance', 'active']);
      expect((await update('next')).code).toBe(0);
      expect([stateOf('main'), stateOf('a')]).toEqual(['active', 'active']);
      await update('next');
      expect([stateOf('main'), stateOf('a')]).toEqual(['active', 'maintenance']);
      expect((await update('next')).out).toContain('The update is complete.');
      expect(await update('next')).toMatchObject({ code: 0, out: 'The update is complete.\n' });
      expect(JSON.parse((await update('status', '--json')).out)).toMatchObject({ done: 4 });
    });

    it('does not take out the last healthy site, and marks nothing as done', async () => {
      await update('plan', '--main', 'a');
      operation.siteViews.find((site) => site.site === 'main')!.nodes[0]!.healthy = false;
      expect(await update('next')).toMatchObject({
        code: 1,
        err: expect.stringContaining('nobody would take its calls'),
      });
      expect(operation.orders).toEqual([]);
      expect(JSON.parse(await readFile(state(), 'utf8'))).toMatchObject({ done: 0 });
    });

    it('does not bring back a site that does not answer', async () => {
      await update('plan');
      await update('next');
      const [node] = operation.siteViews[0]!.nodes;
      node!.healthy = false;
      node!.reason = '2 probes without an answer';
      expect(await update('next')).toMatchObject({
        code: 1,
        err: expect.stringContaining('does not answer (2 probes'),
      });
      expect(stateOf('main')).toBe('maintenance');
      node!.healthy = true;
      expect((await update('next')).code).toBe(0);
    });

    it('does not overwrite a plan that is under way', async () => {
      await update('plan');
      await update('next');
      expect(await update('plan')).toMatchObject({ code: 1, err: expect.stringContaining('under way') });
    });

    it('says that there is no plan, and what may be updated', async () => {
      await expect(update('next')).rejects.toThrow('there is no plan');
      await expect(update('plan', '--system', 'x')).rejects.toThrow('--system is one of source');
      await expect(update('plan', '--main', 'x')).rejects.toThrow('--main is one of main, a');
    });

    it('updates the active instance last, after the virtual IP has moved', async () => {
      await writeConfig(`ha:
  group: g
  key: 0123456789abcdef
  listen: { m1: '127.0.0.3:7001' }
  peers: [{ instance: dsbc-2, m1: '127.0.0.2:7001' }]
  vips: [{ address: 127.0.0.1, interface: lo }]
nat: { keys: [{ id: 1, secret: 0123456789abcdef }] }
`);
      let group = groupView;
      operation.group = {
        group: () => Promise.resolve(group),
        handOver: () => {
          group = { ...groupView, state: 'STANDBY', peers: [{ ...groupView.peers[0]!, state: 'ACTIVE' }] };
          return Promise.resolve();
        },
        maintain: () => Promise.resolve(),
      };
      const { out } = await update('plan');
      expect([...out.matchAll(/instance (dsbc-\d) is not active/g)].map(([, name]) => name)).toEqual([
        'dsbc-2',
        'dsbc-1',
      ]);
      await update('next');
      await update('next');
      expect((await update('next')).out).toContain(
        'Now update and restart dsbc and drachtio-server on dsbc-2',
      );
      group = { ...groupView, peers: [{ ...groupView.peers[0]!, state: 'unheard' }] };
      expect(await update('next')).toMatchObject({
        code: 1,
        err: expect.stringContaining('dsbc-2 is unheard'),
      });
      group = groupView;
      expect((await update('next')).out).toContain('dsbc-2 is back as STANDBY');
      group = { ...groupView, peers: [{ ...groupView.peers[0]!, state: 'FAULT' }] };
      expect(await update('next')).toMatchObject({
        code: 1,
        err: expect.stringContaining('nobody could take over'),
      });
      group = groupView;
      expect((await update('next')).out).toContain('the virtual IP has moved from dsbc-1');
      expect((await update('next')).out).toContain('dsbc-1 is back as STANDBY');
    });
  });
});
