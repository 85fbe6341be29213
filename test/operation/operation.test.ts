import { createSocket, type Socket } from 'node:dgram';
import { createDsbc, type Dsbc } from '../../plugin/main';
import type { Operation } from '../../plugin/admin/operation';
import { OrderRefused } from '../../plugin/admin/operation';
import { operationOf } from '../../plugin/operation/operation';
import { monotonicClock } from '../../plugin/telemetry/clock';
import { silentLogger } from '../../plugin/telemetry/logger';

/** A site that answers every request with 200, and counts. */
class Site {
  requests = 0;
  readonly #socket: Socket = createSocket('udp4', (message, from) => {
    this.requests++;
    const [head = ''] = message.toString('latin1').split('\r\n\r\n');
    const kept = head.split('\r\n').filter((line) => /^(via|from|to|call-id|cseq):/i.test(line));
    const answer = [
      'SIP/2.0 200 OK',
      ...kept.map((line) => (/^to:/i.test(line) && !line.includes('tag=') ? `${line};tag=s` : line)),
      'Content-Length: 0',
      '',
      '',
    ];
    this.#socket.send(answer.join('\r\n'), from.port, from.address);
  });
  bind = (): Promise<number> =>
    new Promise((done) => this.#socket.bind(0, '127.0.0.1', () => done(this.#socket.address().port)));
  close = (): Promise<void> => new Promise((done) => this.#socket.close(() => done()));
}

const until = async (done: () => boolean | Promise<boolean>): Promise<void> => {
  const end = Date.now() + 10_000;
  while (!(await done())) {
    if (Date.now() > end) throw new Error('not in time');
    await new Promise((r) => setTimeout(r, 20));
  }
};

describe('the operation of a running instance', () => {
  const sites = [new Site(), new Site()];
  let dsbc: Dsbc;
  let operation: Operation;
  let port: number;

  beforeAll(async () => {
    const [main, a] = await Promise.all(sites.map((site) => site.bind()));
    const probe = createSocket('udp4');
    port = await new Promise<number>((done) => probe.bind(0, '127.0.0.1', () => done(probe.address().port)));
    await new Promise<void>((done) => probe.close(done));
    dsbc = createDsbc({
      logger: silentLogger,
      config: {
        instance: 'dsbc-1',
        domains: ['example.com'],
        sip_servers: [{ name: 'main', server: 'embedded', entry: { address: '127.0.0.1', port } }],
        default_system: 'source',
        systems: {
          source: {
            load_distribution: { main: 70, a: 30 },
            sites: {
              main: { nodes: [{ uri: `sip:127.0.0.1:${main!}` }] },
              a: { nodes: [{ uri: `sip:127.0.0.1:${a!}` }] },
            },
          },
        },
        health: { interval_ms: 100, timeout_ms: 100 },
        // The sites share our address here: they must not count as the source of our phone's requests.
        limits: { per_source: { exempt_nets: ['127.0.0.0/8'] } },
      },
    });
    await dsbc.start();
    operation = operationOf(dsbc, {
      reload: () => Promise.resolve({ applied: true, needs_restart: [] }),
      now: monotonicClock,
    });
  }, 20_000);
  afterAll(async () => {
    await dsbc.stop();
    await Promise.all(sites.map((site) => site.close()));
  });

  it('is ready, and says so', async () => {
    expect(operation.readiness()).toEqual({ status: 'ready', reasons: [] });
    expect(await operation.status()).toMatchObject({
      instance: 'dsbc-1',
      ready: true,
      sip_servers: [{ name: 'main', address: '127.0.0.1', port, state: 'connected' }],
      registry: { driver: 'memory', up: true },
    });
  });

  it('shows sites with shares and health, and takes orders that other instances would follow', async () => {
    await until(async () =>
      (await operation.sites()).every((site) =>
        site.nodes.every((node) => node.healthy && node.last_code === 200),
      ),
    );
    expect(await operation.sites()).toMatchObject([
      { site: 'main', state: 'active', share_configured: 0.7, share_now: 0.7, operator: null },
      { site: 'a', state: 'active', share_now: 0.3 },
    ]);
    const order = { state: 'maintenance' as const, by: 'ada', why: 'update', force: false };
    expect(await operation.orderSite('source', 'main', order)).toMatchObject({
      state: 'maintenance',
      share_now: 0,
      operator: { by: 'ada', why: 'update' },
    });
    expect((await operation.sites())[1]).toMatchObject({ share_now: 1 });
    expect(await dsbc.registry?.listDecisions()).toMatchObject([
      { system: 'source', site: 'main', state: 'maintenance' },
    ]);
    await expect(operation.orderSite('source', 'a', order)).rejects.toThrow(OrderRefused);
    await expect(operation.orderSite('source', 'b', order)).rejects.toThrow(
      'There is no site source/b: system source has main, a.',
    );
    await expect(operation.orderSite('sorce', 'a', order)).rejects.toThrow(
      'There is no system sorce: the configuration has source.',
    );
    await expect(operation.orderSite('source', 'a', { ...order, node: 'sip:x' })).rejects.toThrow(
      /^source\/a has no node sip:x: it has sip:127\.0\.0\.1:\d+\.$/,
    );
    expect(await operation.orderSite('source', 'main', { ...order, state: 'active' })).toMatchObject({
      state: 'active',
      share_now: 0.7,
    });
  });

  it('takes provisioning events, and answers look-ups by them', async () => {
    expect(await operation.lookup('account', '1002')).toBeNull();
    const event = { event_type: 'Account/New', variables: { i_event: 1, account: '1002' } };
    expect(await operation.event?.(event, 'source')).toMatchObject({ status: 200 });
    expect(await operation.lookup('account', '1002')).toMatchObject({
      kind: 'account',
      value: '1002',
      system: 'source',
    });
    expect(await operation.event?.({ event_type: 'Account/New' }, 'source')).toMatchObject({
      status: 400,
      body: { detail: 'variables: expected a map by name; found nothing' },
    });
    expect((await operation.metrics()).text).toContain('dsbc_events_total{outcome="applied"} 1');
    expect(await operation.lookup('account', '4999')).toBeNull();
  });

  it('moves no customer to a system that is not configured', async () => {
    await dsbc.registry?.putCustomer({ id: 'c9', source: 'source', target: 'gone', exported: false });
    await expect(operation.exportCustomer('c9', true)).rejects.toThrow(
      'The configuration has no system gone: it has source.',
    );
    expect(await operation.customer('c9')).toMatchObject({ exported: false });
  });

  it('says whether there are more registrations than it was asked for', () => {
    const flow = {
      entry: { address: '127.0.0.1', port },
      transport: 'udp',
      remote: { address: '203.0.113.7', port: 40123 },
    } as const;
    for (const user of ['1001', '1002', '1003'])
      dsbc.bindings.take(
        {
          aor: `${user}@example.com`,
          all: false,
          contacts: [{ uri: `sip:${user}@192.0.2.33`, device: user, expires: 60 }],
        },
        flow,
        false,
      );
    const shown = (limit: number, search = '') => {
      const { list, more } = operation.flows(limit, search);
      return [list.length, more];
    };
    expect([shown(0), shown(2), shown(3), shown(1, '1003'), shown(1, '100')]).toEqual([
      [0, true],
      [2, true],
      [3, false],
      [1, false],
      [1, true],
    ]);
    dsbc.bindings.dropFlow(flow);
  });

  it('counts, in the metrics and in the status', async () => {
    const { text } = await operation.metrics();
    expect(text).toContain('dsbc_site_share{system="source",site="main"} 0.7');
    expect(text).toContain('dsbc_site_state{system="source",site="a",state="active"} 1');
    expect(text).toMatch(/dsbc_node_up\{system="source",site="main",node="sip:127\.0\.0\.1:\d+"\} 1/);
    expect(text).toContain('dsbc_registry_up 1');
    expect(text).toMatch(/dsbc_probe_seconds_count\{system="source",site="main"\} \d+/);
    expect(text).toMatch(/dsbc_build_info\{version="\d+\.\d+\.\d+",node="\d+\.\d+\.\d+"\} 1/);
    const { native } = await operation.status();
    expect(native).toMatchObject({ mode: 'auto', reason: expect.any(String) });
    expect(text).toContain(`dsbc_native_info{running="${native?.running}",mode="auto"} 1`);
    // Read twice, running totals are not added twice.
    const totals = (all: string) =>
      all.split('\n').filter((line) => line.startsWith('dsbc_registry_lookups_total'));
    expect(totals((await operation.metrics()).text)).toEqual(totals(text));
  });
});
