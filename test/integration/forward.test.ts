import { forward, type ForwardOptions } from '../../plugin/relay/forward';
import type { RelayResult } from '../../plugin/relay/relay';
import type { FakeSite } from '../fixtures/fake-site';
import { LIMITS, RelayLab } from '../fixtures/relay-lab';

describe('a request relayed by own transactions', () => {
  let lab: RelayLab;
  let results: Promise<RelayResult>[] = [];
  beforeAll(async () => {
    lab = await RelayLab.start();
  });
  afterEach(async () => {
    results = [];
    await lab.tidy();
  });
  afterAll(() => lab.stop());

  const relayTo = (sites: readonly FakeSite[], options: Partial<ForwardOptions> = {}): void => {
    lab.handle((request) => {
      const result = forward(
        request,
        {
          requestUri: 'sip:example.com',
          targets: sites.map((site, index) => ({ uri: site.uri, site: `site${index}` })),
          limits: LIMITS,
          ...options,
        },
        lab.dependencies,
      );
      results.push(result);
      return result;
    });
  };

  it('is left without an answer when nothing was reached since the addresses went; sent again, it is carried', async () => {
    const site = await lab.site(() => undefined);
    let maySend = false;
    relayTo([site], { maySend: () => maySend });
    const device = await lab.device();
    const sent = await device.request({ method: 'REGISTER' });
    await site.waitForRequest('REGISTER');
    expect(await results[0]).toMatchObject({ kind: 'lost', cause: 'caller_gone' });
    // drachtio-server swallows what comes again.
    if (lab.link.capabilities.dropRequests) {
      maySend = true;
      site.script = () => ({ status: 200 });
      await sent.retransmit();
      expect((await sent.final()).message.status).toBe(200);
    }
    expect(device.received.filter(({ message }) => message.status >= 300)).toEqual([]);
  });

  it('reaches the site with every end-to-end header as it was, and the answer comes back', async () => {
    const site = await lab.site(() => ({
      status: 200,
      headers: [
        ['Contact', '<sip:1001@192.0.2.33>;expires=60'],
        ['Contact', '<sip:1001@192.0.2.34>;expires=61'],
        ['X-Answer', 'a;b="c,d"'],
      ],
    }));
    relayTo([site], { headers: { path: '<sip:tok@192.0.2.1;lr>' } });
    const device = await lab.device();
    const sent = await device.request({
      method: 'REGISTER',
      contact: '"Doe, John" <sip:1001@192.0.2.33:5060>;q=0.5',
      headers: [
        ['Path', '<sip:edge@192.0.2.9;lr>'],
        ['Expires', '60'],
        ['Authorization', 'Digest username="a", nonce="1"'],
        ['Authorization', 'Digest username="b", nonce="2"'],
        ['X-One', '1'],
        ['X-One', '2'],
        ['Supported', 'path, outbound'],
      ],
    });
    const answer = await sent.final();
    const { message } = await site.waitForRequest('REGISTER');
    expect(message.uri).toBe('sip:example.com');
    expect(message.callId).toBe(sent.callId);
    expect(message.get('cseq')).toBe('1 REGISTER');
    expect(message.get('from')).toMatch(/^<sip:1001@example\.com>;tag=[0-9a-f]{8}$/);
    expect(message.list('contact')).toEqual(['"Doe, John" <sip:1001@192.0.2.33:5060>;q=0.5']);
    expect(message.list('path')).toEqual(['<sip:tok@192.0.2.1;lr>', '<sip:edge@192.0.2.9;lr>']);
    expect(message.get('expires')).toBe('60');
    expect(message.maxForwards).toBe(69);
    expect(message.getAll('authorization')).toHaveLength(2);
    expect(message.getAll('x-one')).toEqual(['1', '2']);
    expect(message.vias.map((via) => via.branch)).toContain(sent.branch);
    expect(answer.message.status).toBe(200);
    expect(answer.message.list('contact')).toEqual([
      '<sip:1001@192.0.2.33>;expires=60',
      '<sip:1001@192.0.2.34>;expires=61',
    ]);
    expect(answer.message.get('x-answer')).toBe('a;b="c,d"');
    expect(answer.message.to?.params).toEqual(site.received.length > 0 ? [['tag', expect.any(String)]] : []);
    expect((await results[0]!).kind).toBe('answered');
  });

  it('passes several challenges on lines of their own', async () => {
    const challenges = ['Digest realm="a", nonce="1"', 'Digest realm="b", nonce="2"'];
    const site = await lab.site(() => ({
      status: 401,
      headers: challenges.map((value) => ['WWW-Authenticate', value] as const),
    }));
    relayTo([site]);
    const device = await lab.device();
    const answer = await (await device.request({ method: 'REGISTER' })).final();
    expect(answer.message.getAll('www-authenticate')).toEqual(challenges);
  });

  it.each([
    ['*', 'H01'],
    ['<tel:+12025550123>', 'de-registering a number'],
    ['<sip:1001@192.0.2.33>, "a, b" <sip:1001@192.0.2.34>;x="1,2"', 'H08'],
    ['sip:1001@192.0.2.33;+sip.instance="<urn:uuid:0>"', 'H09'],
  ])('brings the Contact %s to the site byte for byte, and the server lives (%s)', async (contact) => {
    const site = await lab.site(() => ({ status: 200 }));
    relayTo([site]);
    for (const transport of ['udp', 'tcp'] as const) {
      const device = await lab.device(transport);
      const sent = await device.request({ method: 'REGISTER', contact, headers: [['Expires', '0']] });
      expect((await sent.final()).message.status).toBe(200);
      const { message } = await site.waitFor((one) => one.message.callId === sent.callId);
      expect(message.getAll('contact').join(', ')).toBe(contact);
      expect(message.get('expires')).toBe('0');
    }
    const again = await (await lab.device()).request({ method: 'OPTIONS', contact: false });
    expect((await again.final()).message.status).toBe(200);
    expect(lab.server.alive).toBe(true);
  });

  it('carries a body without NUL byte for byte, with the type it came with or a neutral one', async () => {
    const site = await lab.site(() => ({
      status: 200,
      headers: [['Content-Type', 'x/y']],
      body: '\xfe\x80',
    }));
    relayTo([site], { requestUri: 'sip:1002@example.com' });
    const device = await lab.device();
    const body = '\xff\xfe\x80\u00f0\u009f\u0098\u0080 end';
    const sent = await device.request({ method: 'MESSAGE', contact: false, body });
    const answer = await sent.final();
    const { message } = await site.waitForRequest('MESSAGE');
    expect(message.body).toBe(body);
    expect(message.get('content-type')).toBe('application/octet-stream');
    expect(answer.message.body).toBe('\xfe\x80');
  });

  it('a folded line smuggles nothing', async () => {
    const site = await lab.site();
    relayTo([site], { requestUri: 'sip:1002@example.com' });
    const device = await lab.device();
    const plain = await device.request({ method: 'MESSAGE', contact: false, body: 'x' });
    await plain.final();
    const text = plain.text
      .replace(/branch=[^;]+/, 'branch=z9hG4bKfold')
      .replace(/Call-ID: .*\r\n/, 'Call-ID: fold@x\r\nSubject: x\r\n P-Asserted-Identity: <sip:evil@x>\r\n');
    const answer = await (await device.sendText(text)).final();
    expect(answer.message.status).toBe(200);
    const { message } = await site.waitFor((one) => one.message.callId === 'fold@x');
    expect(message.get('p-asserted-identity')).toBeUndefined();
    expect(message.get('subject')).toBe('x P-Asserted-Identity: <sip:evil@x>');
  });

  it.each([
    ['P_Asserted_Identity', '<sip:evil@x>', 'p-asserted-identity'],
    ['p_asserted-identity', '<sip:evil@x>', 'p-asserted-identity'],
    ['%50-Asserted-Identity', '<sip:evil@x>', 'p-asserted-identity'],
    ['Payload', 'evil body', ''],
  ])('a header named %s does not become another one', async (name, value, other) => {
    const site = await lab.site();
    relayTo([site], { requestUri: 'sip:1002@example.com' });
    const device = await lab.device();
    const sent = await device.request({ method: 'OPTIONS', contact: false, headers: [[name, value]] });
    await sent.final();
    const { message } = await site.waitForRequest('OPTIONS');
    if (other !== '') expect(message.get(other)).toBeUndefined();
    expect(message.body).toBe('');
  });

  describe('fails over', () => {
    it('from a silent site, with a branch of its own for each attempt', async () => {
      const silent = await lab.site(() => undefined);
      const good = await lab.site();
      relayTo([silent, good]);
      const device = await lab.device();
      const start = performance.now();
      const sent = await device.request({ method: 'REGISTER' });
      expect((await sent.final()).message.status).toBe(200);
      expect(performance.now() - start).toBeLessThan(1500);
      const first = silent.received[0]!.message.via?.branch;
      expect(good.received[0]!.message.via?.branch).not.toBe(first);
      expect(lab.attempts.map(({ outcome, status }) => [outcome, status])).toEqual([
        ['silence', undefined],
        ['answer', 200],
      ]);
    });

    it('H15: from a closed port and from a site that says 503 or 408', async () => {
      const closed = await lab.site();
      await closed.close();
      const busy = await lab.site(() => ({ status: 503, headers: [['Retry-After', '7 (soon)']] }));
      const late = await lab.site(() => ({ status: 408 }));
      const good = await lab.site();
      relayTo([closed, busy, late, good], { limits: { ...LIMITS, maxAttempts: 4 } });
      const device = await lab.device();
      const sent = await device.request({ method: 'REGISTER' });
      expect((await sent.final()).message.status).toBe(200);
      expect(lab.attempts.map(({ outcome, status }) => status ?? outcome)).toEqual([
        expect.stringMatching(/silence|transport_error/),
        503,
        408,
        200,
      ]);
      expect(lab.attempts[1]?.retryAfterS).toBe(7);
    });

    it.each([401, 403, 404, 486, 500, 603])('never on %i', async (status) => {
      const first = await lab.site(() => ({ status, headers: [['WWW-Authenticate', 'Digest realm="a"']] }));
      const second = await lab.site();
      relayTo([first, second]);
      const device = await lab.device();
      expect((await (await device.request({ method: 'REGISTER' })).final()).message.status).toBe(status);
      expect(second.count('REGISTER')).toBe(0);
    });

    it('never on silence for MESSAGE unless it is told to, nor more often than allowed', async () => {
      const silent = await lab.site(() => undefined);
      const good = await lab.site();
      const device = await lab.device();
      relayTo([silent, good], {
        requestUri: 'sip:1002@example.com',
        limits: { ...LIMITS, onSilence: false, totalMs: 900 },
      });
      const message = await device.request({ method: 'MESSAGE', contact: false, body: 'x' });
      expect((await message.final()).message.status).toBe(503);
      expect(good.count('MESSAGE')).toBe(0);
      relayTo([silent, silent, good], { limits: { ...LIMITS, timeoutMs: 100, maxAttempts: 2 } });
      const register = await device.request({ method: 'REGISTER' });
      expect((await register.final()).message.status).toBe(503);
      expect(good.count('REGISTER')).toBe(0);
    });

    it('and says 503 with Retry-After, never 408, when nobody answered', async () => {
      const silent = await lab.site(() => undefined);
      relayTo([silent, silent], { limits: { ...LIMITS, timeoutMs: 150 } });
      const device = await lab.device();
      const answer = await (await device.request({ method: 'REGISTER' })).final();
      expect(answer.message.status).toBe(503);
      expect(Number(answer.message.get('retry-after'))).toBeGreaterThan(0);
    });
  });

  it('gives an attacker’s REGISTER over TCP no hold on later requests to that Contact', async () => {
    const site = await lab.site(({ message }) => ({
      status: 200,
      headers: [
        ['Contact', message.get('contact') ?? ''],
        ['Expires', '600'],
      ],
    }));
    relayTo([site]);
    const attacker = await lab.device('tcp');
    const registered = await (
      await attacker.request({ method: 'REGISTER', contact: '<sip:victim@192.0.2.77:5060>' })
    ).final();
    // The lifetime reaches the device one way or the other.
    expect(
      `${registered.message.get('contact') ?? ''}, Expires: ${registered.message.get('expires') ?? ''}`,
    ).toMatch(/^<sip:victim@192\.0\.2\.77:5060>(;expires=600, Expires: |, Expires: 600)$/);
    const victim = await lab.site();
    const outcome = await lab.link.request({
      method: 'MESSAGE',
      uri: 'sip:victim@192.0.2.77:5060',
      nextHop: victim.uri,
      headers: [
        ['From', '<sip:a@example.com>;tag=1'],
        ['To', '<sip:victim@192.0.2.77>'],
        ['Content-Type', 'text/plain'],
      ],
      body: 'secret',
      timeoutMs: 1500,
    });
    expect(outcome.kind).toBe('answer');
    expect(victim.count('MESSAGE')).toBe(1);
    expect(attacker.received.some(({ message }) => message.kind === 'request')).toBe(false);
  });

  it('leaves nothing behind after a thousand requests', async () => {
    const site = await lab.site();
    relayTo([site]);
    const device = await lab.device();
    for (let round = 0; round < 20; round++) {
      const sent = await Promise.all(
        Array.from({ length: 50 }, (_, i) => device.request({ method: 'REGISTER', from: String(1000 + i) })),
      );
      await Promise.all(sent.map((one) => one.final()));
    }
    expect(lab.link.load).toMatchObject({ clientTransactions: 0, inboundRequests: 0 });
  });
});
