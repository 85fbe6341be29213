import { FakeDevice } from '../fixtures/fake-device';
import { figure, isFull } from '../fixtures/load/figures';
import { LoadLab } from '../fixtures/load/load-lab';
import { bySite, now, pause, type Sent } from '../fixtures/load/phones';
import { handedFile } from '../fixtures/sip-files';
import { sipServerKind } from '../fixtures/sip-server';

/** Requests per case; DSBC_LOAD=full: 1,000. */
const COUNT = isFull ? 1000 : 100;
const RATE = 100;

/** All requests belong to `main`; `a` is a backup, so that whatever it gets is a second attempt. */
const MAIN_ONLY = { sites: { main: 1, a: 1 }, shares: { main: 100, a: 0 } } as const;

const statuses = (sent: readonly Sent[]): number[] => [...new Set(sent.map(({ status }) => status))];
const milliseconds = (sent: readonly Sent[]): number =>
  Math.round(Math.max(...sent.map(({ sentAt, finalAt }) => finalAt - sentAt)));

describe(`what sites answer (${sipServerKind})`, () => {
  let lab: LoadLab;
  afterEach(() => lab.close());

  const send = async (load: { registrations?: number; calls?: number }, limit = COUNT) => {
    lab.phones.start({ ...load, limit });
    return lab.phones.stop();
  };

  it('486, 404 and 603 to INVITE, 403 to REGISTER: never a second attempt', async () => {
    lab = await LoadLab.start(MAIN_ONLY);
    for (const status of [486, 404, 603]) {
      lab.site('main').behave({ invite: status });
      expect(statuses(await send({ calls: RATE }))).toEqual([status]);
    }
    lab.site('main').behave({ register: 403 });
    expect(statuses(await send({ registrations: RATE }))).toEqual([403]);
    const [main, a] = [await lab.site('main').counts(), await lab.site('a').counts()];
    figure(`show 2: 486, 404, 603, 403 (${sipServerKind})`, {
      calls: 3 * COUNT,
      registrations: COUNT,
      main,
      a,
    });
    expect(main).toMatchObject({ INVITE: 3 * COUNT, REGISTER: COUNT });
    expect({ INVITE: 0, REGISTER: 0, ...a }).toMatchObject({ INVITE: 0, REGISTER: 0 });
    expect(await lab.total('dsbc_failovers_total')).toBe(0);
    expect(await lab.total('dsbc_requests_delayed_total')).toBe(0);
    expect(await lab.total('dsbc_requests_lost_total')).toBe(0);
    expect(await lab.total('dsbc_ejections_total')).toBe(0);
  }, 120_000);

  it('503 with Retry-After: every request is served elsewhere, and the site is left alone for so long', async () => {
    lab = await LoadLab.start(MAIN_ONLY);
    lab.site('main').behave({ invite: 503, register: 503, retryAfter: 3 });
    const since = now();
    const sent = await send({ registrations: RATE, calls: RATE }, RATE);
    const { INVITE = 0, REGISTER = 0 } = await lab.site('main').counts();
    expect(now() - since).toBeLessThan(3000);
    figure(`show 2: 503 with Retry-After: 3 (${sipServerKind})`, {
      sent: sent.length,
      sites: bySite(sent),
      at503: { INVITE, REGISTER },
      worstMs: milliseconds(sent),
      delayed: await lab.total('dsbc_requests_delayed_total', { reason: 'unavailable' }),
    });
    expect(bySite(sent)).toEqual({ a: sent.length });
    // Those that were under way when the first 503 came; the rest of the second spared it.
    expect(INVITE + REGISTER).toBeGreaterThan(0);
    expect(INVITE + REGISTER).toBeLessThan(20);
    expect(await lab.total('dsbc_requests_delayed_total', { reason: 'unavailable' })).toBe(INVITE + REGISTER);
    lab.site('main').behave({ invite: 200, register: 200 });
    await pause(Math.max(0, since + 3200 - now()));
    await lab.becomes('main', 'active');
    expect(bySite(await send({ calls: RATE }, 50))).toEqual({ main: 50 });
  }, 60_000);

  it('a site that refuses TCP costs nobody a call', async () => {
    // Probes are as good as none: what is sent finds out.
    lab = await LoadLab.start({
      ...MAIN_ONLY,
      uriParameters: ';transport=tcp',
      tcp: ['a'],
      config: { health: { interval_ms: 60_000 } },
    });
    const sent = await send({ registrations: RATE, calls: RATE }, RATE);
    const delayed = await lab.metrics('dsbc_requests_delayed_total');
    figure(`show 2: TCP refused (${sipServerKind})`, {
      sent: sent.length,
      sites: bySite(sent),
      worstMs: milliseconds(sent),
      delayed: delayed.map(({ labels, value }) => [labels['relay'], labels['reason'], value]),
    });
    expect(bySite(sent)).toEqual({ a: sent.length });
    expect(milliseconds(sent)).toBeLessThan(1000);
    expect(delayed.some(({ labels }) => labels['reason'] === 'transport_error')).toBe(true);
    await lab.becomes('main', 'down');
    expect(milliseconds(await send({ registrations: RATE, calls: RATE }, 50))).toBeLessThan(1500);
    expect((await lab.site('a').counts())['over TCP']).toBeGreaterThan(0);
    expect((await lab.site('main').counts())['INVITE'] ?? 0).toBe(0);
  }, 60_000);

  it('one node of two out: the other takes all, and the site stays in', async () => {
    lab = await LoadLab.start({ sites: { main: 2, a: 1 }, shares: { main: 100, a: 0 } });
    for (const site of ['main', 'a']) await lab.becomes(site, 'active');
    lab.phones.start({ registrations: RATE, calls: RATE });
    await pause(2000);
    const outAt = now();
    await lab.site('main2').kill();
    await pause(4000);
    const sent = await lab.phones.stop();
    const after = sent.filter(({ sentAt }) => sentAt > outAt + 2000);
    const nodes = await lab.metrics('dsbc_node_up');
    figure(`show 2: one node of two killed (${sipServerKind})`, {
      sent: sent.length,
      sites: bySite(sent),
      after: bySite(after),
      slow: sent.filter(({ sentAt, finalAt }) => finalAt - sentAt > 400).length,
      lost: sent.filter(({ status }) => status !== 200).length,
    });
    const { main = 0, main2 = 0 } = bySite(sent.filter(({ sentAt }) => sentAt < outAt - 100));
    // Two nodes share their site's accounts.
    expect(Math.min(main, main2)).toBeGreaterThan((main + main2) / 4);
    expect(bySite(after)).toEqual({ main: after.length });
    expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
    expect(milliseconds(after)).toBeLessThan(1500);
    expect(nodes.filter(({ value }) => value === 0)).toHaveLength(1);
    expect((await lab.shares())['main']).toBe(1);
    expect((await lab.site('a').counts())['INVITE'] ?? 0).toBe(0);
  }, 60_000);

  it('H17: a call that outgrows a datagram reaches a site that takes only UDP, and is counted', async () => {
    lab = await LoadLab.start(MAIN_ONLY);
    const phone = await FakeDevice.open(
      { address: '127.0.3.10', port: lab.port, transport: 'udp' },
      { address: '127.0.3.101' },
    );
    try {
      const text = handedFile('17').replaceAll('192.0.2.33:5060', phone.hostport);
      const invite = await phone.sendText(text);
      const { message } = await invite.final(5000);
      expect(message.status).toBe(200);
      expect(await lab.site('main').counts()).toMatchObject({ INVITE: 1 });
      expect(await lab.total('dsbc_mtu_exceeded_total', { method: 'INVITE', sent_over: 'udp' })).toBe(1);
    } finally {
      await phone.close();
    }
  }, 30_000);

  it.each(['frozen', 'killed'] as const)(
    'H15: a site that is %s is given up, and not chosen again before a probe succeeds',
    async (how) => {
      lab = await LoadLab.start({ ...MAIN_ONLY, config: { health: { interval_ms: 60_000 } } });
      await send({ registrations: 20, calls: 20 }, 10);
      if (how === 'frozen') lab.site('main').freeze();
      else await lab.site('main').kill();
      const first = await send({ registrations: 5, calls: 5 }, 2);
      figure(`H15: ${how} (${sipServerKind})`, {
        ms: first.map(({ method, sentAt, finalAt }) => [method, Math.round(finalAt - sentAt)]),
      });
      expect(bySite(first)).toEqual({ a: first.length });
      // A closed port is told at once (handed-refused.test.ts: within 100 ms); silence takes the timer.
      expect(milliseconds(first)).toBeLessThan(how === 'killed' ? 1000 : 2600);
      await lab.becomes('main', 'down');
      const next = await send({ registrations: 20, calls: 20 }, 20);
      expect(bySite(next)).toEqual({ a: next.length });
      expect(milliseconds(next)).toBeLessThan(1500);
      // When no site is left, the caller hears it within the budget, with a time to come again.
      await lab.site('a').kill();
      const last = await send({ registrations: 5, calls: 5 }, 3);
      figure(`H15: nobody left (${sipServerKind})`, {
        statuses: statuses(last),
        worstMs: milliseconds(last),
      });
      expect(statuses(last)).toEqual([503]);
      expect(milliseconds(last)).toBeLessThan(8500);
      // A request is counted just behind its answer.
      for (let tries = 0; tries < 20 && (await lab.total('dsbc_requests_lost_total')) < last.length; tries++)
        await new Promise((resolve) => setTimeout(resolve, 50));
      expect(await lab.total('dsbc_requests_lost_total')).toBe(last.length);
    },
    60_000,
  );
});
