import { CancelInjector } from '../../plugin/relay/cancel-injector';
import { ProxyRelay, type ProxyRelayOptions } from '../../plugin/relay/proxy';
import { Refuser } from '../../plugin/relay/refuser';
import type { RelayResult } from '../../plugin/relay/relay';
import { silentLogger } from '../../plugin/telemetry/logger';
import type { FakeSite, SiteScript } from '../fixtures/fake-site';
import { RelayLab } from '../fixtures/relay-lab';
import { sipServerKind } from '../fixtures/sip-server';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const LIMITS = { timeoutMs: 2000, maxAttempts: 3, totalMs: 10_000, onSilence: true };

/** INVITEs that a site got, each once: on a busy machine some come again. */
const attemptsAt = (site: FakeSite): number =>
  new Set(site.received.flatMap(({ message }) => (message.method === 'INVITE' ? [message.via?.branch] : [])))
    .size;

describe('a request relayed by proxy', () => {
  let lab: RelayLab;
  let cancels: CancelInjector;
  let relay: ProxyRelay;
  let refuser: Refuser;
  let results: Promise<RelayResult>[] = [];
  let received = 0;
  beforeAll(async () => {
    lab = await RelayLab.start();
    cancels = new CancelInjector(silentLogger);
    refuser = await Refuser.open(silentLogger);
    relay = new ProxyRelay({ ...lab.dependencies, cancels });
  });
  afterEach(async () => {
    // What a server never tells the end of (a call cancelled before any answer) is not waited for.
    await Promise.race([Promise.all(results), pause(300)]);
    results = [];
    received = 0;
    await lab.tidy();
  });
  afterAll(async () => {
    cancels.close();
    await refuser.close();
    await lab.stop();
  });

  const relayTo = (
    sites: readonly FakeSite[],
    options: Partial<ProxyRelayOptions> = {},
    beforeRelay: () => Promise<void> = () => Promise.resolve(),
  ): void => {
    lab.handle(async (request) => {
      const resumed = relay.resume(request);
      if (resumed) return resumed;
      received += 1;
      await beforeRelay();
      const result = relay.relay(request, {
        requestUri: 'sip:1002@example.com',
        targets: sites.map(({ uri }, index) => ({ uri, site: `site${index}` })),
        limits: LIMITS,
        failover: true,
        onPath: false,
        ...options,
      });
      results.push(result);
      return result;
    });
  };
  const says =
    (status: number, headers: readonly (readonly [string, string])[] = []): SiteScript =>
    () => ({ status, headers });

  it('reaches the site with Via and without Record-Route, and the dialog bypasses us', async () => {
    const site = await lab.site();
    relayTo([site]);
    const device = await lab.device();
    const invite = await device.request({ method: 'INVITE', headers: [['X-One', '1']], body: 'v=0\r\n' });
    const answer = await invite.answer(200);
    const { message } = await site.waitForRequest('INVITE');
    expect(message.vias).toHaveLength(2);
    expect(message.get('record-route')).toBeUndefined();
    expect(message.maxForwards).toBe(69);
    expect(message.get('x-one')).toBe('1');
    await device.ack(invite, answer, { address: site.address, port: site.port, transport: 'udp' });
    await site.waitForRequest('ACK');
    expect(await results[0]).toMatchObject({ kind: 'answered', answer: { status: 200 } });
    expect(received).toBe(1);
  });

  it('stays on path with Record-Route when it should', async () => {
    const site = await lab.site();
    relayTo([site], { onPath: true });
    const device = await lab.device();
    const invite = await device.request({ method: 'INVITE' });
    const answer = await invite.answer(200);
    const entry = lab.server.entries[0]!;
    expect(answer.message.list('record-route')).toHaveLength(1);
    expect(answer.message.get('record-route')).toContain(`${entry.address}:${entry.port}`);
    await device.ack(invite, answer);
    await site.waitForRequest('ACK');
    const bye = await device.inDialog('BYE', invite, answer, 2);
    expect((await bye.final()).message.status).toBe(200);
    expect(site.count('BYE')).toBe(1);
  });

  it.each([
    [
      'the entry address',
      () => `sip:+12025550123@${lab.server.entries[0]!.address}:${lab.server.entries[0]!.port}`,
    ],
    ['a domain', () => 'sip:+12025550123@example.com'],
    ['a tel URI', () => 'tel:+12025550123'],
    ['a urn', () => 'urn:service:sos'],
    ['a ported number', () => 'sip:+12025550123;npdi;rn=+12025550199@example.com'],
  ])('brings a Request-URI that is %s to the site, user included', async (_name, uri) => {
    const site = await lab.site();
    const sent = uri();
    const isLocal = sent.includes(String(lab.server.entries[0]!.port));
    const requestUri = isLocal ? 'sip:+12025550123@example.com' : sent;
    relayTo([site], { requestUri });
    const device = await lab.device();
    const invite = await device.request({ method: 'INVITE', uri: sent });
    await invite.answer(200);
    const { message } = await site.waitForRequest('INVITE');
    // drachtio-server can't be told the Request-URI: it puts the destination in the place of its own address.
    const isReplaced = isLocal && sipServerKind === 'drachtio';
    expect(message.uri).toBe(isReplaced ? `sip:+12025550123@${site.hostport}` : requestUri);
    expect(lab.server.alive).toBe(true);
  });

  it('gives the Request-URI asked for, where the server can be told it', async () => {
    const site = await lab.site();
    relayTo([site], { requestUri: 'sip:+12025550123@elsewhere.example' });
    const device = await lab.device();
    const invite = await device.request({
      method: 'INVITE',
      uri: 'sip:0012025550123@example.com;maddr=192.0.2.1',
    });
    await invite.answer(200);
    const { message } = await site.waitForRequest('INVITE');
    expect(message.uri === 'sip:+12025550123@elsewhere.example').toBe(sipServerKind === 'embedded');
  });

  describe('fails over', () => {
    it('from a silent site and from a 503 to the next, and asks the application once', async () => {
      const silent = await lab.site(() => undefined);
      const busy = await lab.site(says(503, [['Retry-After', '9']]));
      const good = await lab.site();
      relayTo([silent, busy, good]);
      const device = await lab.device();
      const start = performance.now();
      const invite = await device.request({ method: 'INVITE' });
      await invite.answer(180);
      expect(performance.now() - start).toBeGreaterThan(1900);
      expect(performance.now() - start).toBeLessThan(3000);
      expect((await invite.final()).message.status).toBe(200);
      expect(await results[0]).toMatchObject({ kind: 'answered', answer: { status: 200 } });
      expect(received).toBe(1);
      expect(lab.attempts.map(({ outcome, status }) => status ?? outcome)).toEqual(['silence', 503, 200]);
      expect(lab.attempts[1]?.retryAfterS).toBe(9);
      expect(relay.size).toBe(0);
    });

    it.each([
      [302, 'Contact'],
      [404, 'Warning'],
      [486, 'X-Why'],
      [500, 'Reason-Phrase'],
      [603, 'X-Why'],
    ])('never on %i: the caller hears it with its %s, no second site is tried', async (status, name) => {
      const values = name === 'Contact' ? ['<sip:a@192.0.2.1>', '<sip:b@192.0.2.2>'] : ['399 x "why"'];
      const first = await lab.site(
        says(
          status,
          values.map((value) => [name, value] as const),
        ),
      );
      const second = await lab.site();
      relayTo([first, second]);
      const device = await lab.device();
      const answer = await (await device.request({ method: 'INVITE' })).final();
      expect(answer.message.status).toBe(status);
      expect(answer.message.list(name)).toEqual(values);
      expect(second.count('INVITE')).toBe(0);
      expect(first.count('INVITE')).toBe(1);
      expect(await results[0]).toMatchObject({ kind: 'answered', answer: { status } });
    });

    it('also gives the last site’s own answer: 302 after silence', async () => {
      const silent = await lab.site(() => undefined);
      const moved = await lab.site(says(302, [['Contact', '<sip:a@192.0.2.1>']]));
      relayTo([silent, moved]);
      const device = await lab.device();
      const answer = await (await device.request({ method: 'INVITE' })).final();
      expect(answer.message.status).toBe(302);
      expect(answer.message.list('contact')).toEqual(['<sip:a@192.0.2.1>']);
    });

    it('passes a challenge and goes where it is told with the retry', async () => {
      const first = await lab.site(({ message }) =>
        message.get('authorization') === undefined
          ? { status: 401, headers: [['WWW-Authenticate', 'Digest realm="a", nonce="n1"']] }
          : { status: 200 },
      );
      const second = await lab.site();
      relayTo([first, second]);
      const device = await lab.device();
      const challenged = await device.request({ method: 'INVITE', callId: 'auth-1@device', fromTag: 't' });
      expect((await challenged.final()).message.status).toBe(401);
      const retry = await device.request({
        method: 'INVITE',
        callId: 'auth-1@device',
        fromTag: 't',
        cseq: 2,
        headers: [
          ['Authorization', 'Digest username="1001", realm="a", nonce="n1", uri="sip:x", response="0"'],
        ],
      });
      expect((await retry.final()).message.status).toBe(200);
      expect(second.count('INVITE')).toBe(0);
    });

    it('and says 503 with Retry-After when nobody answered', async () => {
      const silent = await lab.site(() => undefined);
      relayTo([silent, silent]);
      const device = await lab.device();
      const answer = await (await device.request({ method: 'INVITE' })).final(8000);
      expect(answer.message.status).toBe(503);
      expect(Number(answer.message.get('retry-after'))).toBeGreaterThan(0);
      await results[0];
      expect(lab.attempts.map(({ outcome }) => outcome)).toEqual(['silence', 'silence']);
    });

    it('never more often than allowed', async () => {
      const busy = await lab.site(says(503));
      const good = await lab.site();
      relayTo([busy, busy, good], { limits: { ...LIMITS, maxAttempts: 2 } });
      const device = await lab.device();
      expect((await (await device.request({ method: 'INVITE' })).final()).message.status).toBe(503);
      expect(good.count('INVITE')).toBe(0);
    });

    it('not for an INVITE with 100rel where the server would lose its PRACK', async () => {
      const busy = await lab.site(says(503));
      const good = await lab.site();
      relayTo([busy, good], { onPath: true });
      const device = await lab.device();
      const invite = await device.request({ method: 'INVITE', headers: [['Supported', 'timer, 100rel']] });
      const { status } = (await invite.final()).message;
      expect(status).toBe(sipServerKind === 'drachtio' ? 503 : 200);
    });
  });

  describe('CANCEL', () => {
    const ringing: SiteScript = () => ({ status: 180 });

    const cancelAfter = async (delayMs: number | undefined): Promise<void> => {
      const device = await lab.device();
      const invite = await device.request({ method: 'INVITE' });
      if (delayMs !== undefined) await pause(delayMs);
      await invite.cancel();
      expect((await invite.final()).message.status).toBe(487);
    };

    it('while it rings reaches the site once, and the caller hears one 487', async () => {
      const site = await lab.site(ringing);
      relayTo([site]);
      const device = await lab.device();
      const invite = await device.request({ method: 'INVITE' });
      await invite.answer(180);
      await invite.cancel();
      expect((await invite.final()).message.status).toBe(487);
      await site.waitForRequest('CANCEL');
      expect(await results[0]).toMatchObject({ kind: 'cancelled' });
    });

    it('before it is relayed lets no site ring', async () => {
      const site = await lab.site(ringing);
      relayTo([site], {}, () => pause(100));
      await cancelAfter(20);
      await pause(200);
      expect(site.count('INVITE')).toBe(0);
    });

    it('in the loop to the second site lets no site ring', async () => {
      const silent = await lab.site(() => undefined);
      const second = await lab.site(ringing);
      relayTo([silent, second]);
      const device = await lab.device();
      const calls = await Promise.all(Array.from({ length: 40 }, () => device.request({ method: 'INVITE' })));
      const start = performance.now();
      // Around the moment at which the time-out of the first site fires.
      await Promise.all(
        calls.map(async (call, i) => {
          await pause(Math.max(0, 1985 + i - (performance.now() - start)));
          await call.cancel();
        }),
      );
      for (const call of calls) expect((await call.final()).message.status).toBe(487);
      await pause(1500);
      expect(second.cancelledCalls.length).toBe(attemptsAt(second));
    });

    it('at any moment of the hand-over lets no site ring', async () => {
      const site = await lab.site(ringing);
      relayTo([site, site]);
      const device = await lab.device();
      // In small groups: a burst would be lost in the sockets, and these raw phones do not repeat.
      for (let group = 0; group < 20; group++) {
        const calls = await Promise.all(
          Array.from({ length: 10 }, async (_, i) => {
            const call = await device.request({ method: 'INVITE' });
            if (i % 2 === 0) await pause(i / 2);
            await call.cancel();
            return call;
          }),
        );
        for (const call of calls) expect((await call.final()).message.status).toBe(487);
      }
      await pause(1000);
      // drachtio-server forgets whose a request is when it reads `proxy`, and proxies it a moment later on another
      // thread: a CANCEL in between is answered and told to nobody. Its copy (`capture_port`) tells us, and we repeat it.
      expect(site.cancelledCalls.length).toBe(attemptsAt(site));
    });
  });

  describe('with a Contact that ends drachtio-server', () => {
    it.each([
      ['INVITE', '*'],
      ['INVITE', '<tel:+12025550123>'],
      ['SUBSCRIBE', '*'],
      ['SUBSCRIBE', '<tel:+12025550123>'],
    ])('%s with %s is refused and the server lives', async (method, contact) => {
      lab.handle((request) =>
        refuser.answer(request, { status: 403, reason: 'No', headers: [['X-Why', 'contact']] }),
      );
      const device = await lab.device();
      const sent = await device.request({ method, contact, headers: [['Event', 'presence']] });
      const answer = await sent.final();
      // A star is no Contact for them at all, so the embedded server refuses it by itself.
      if (contact !== '*' || sipServerKind === 'drachtio') {
        expect(answer.message.status).toBe(403);
        expect(answer.message.get('x-why')).toBe('contact');
      } else {
        expect(answer.message.status).toBe(400);
      }
      const site = await lab.site();
      relayTo([site]);
      const call = await device.request({ method: 'INVITE' });
      expect((await call.final()).message.status).toBe(200);
      expect(lab.server.alive).toBe(true);
    });
  });
});
