import { Carrier, type CarryOrder } from '../../plugin/relay/carrier';
import type { RelayResult } from '../../plugin/relay/relay';
import type { FakeDevice, DeviceTransaction } from '../fixtures/fake-device';
import type { FakeSite, SiteScript } from '../fixtures/fake-site';
import { RelayLab } from '../fixtures/relay-lab';
import type { Received } from '../fixtures/sip-endpoint';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const LIMITS = { timeoutMs: 600, maxAttempts: 3, totalMs: 10_000, onSilence: true };
const SDP = 'v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\n';
const sdp = { headers: [['Content-Type', 'application/sdp']] as const, body: SDP };

describe('a call relayed as two dialogs', () => {
  let lab: RelayLab;
  let carrier: Carrier;
  let results: RelayResult[] = [];
  let carrying = 0;
  beforeAll(async () => {
    lab = await RelayLab.start();
    carrier = await Carrier.open(lab.dependencies);
  });
  afterEach(async () => {
    for (let i = 0; i < 20 && (carrying > 0 || carrier.bridges > 0); i++) await pause(10);
    expect(lab.server.alive).toBe(true);
    results = [];
    await lab.tidy();
  });
  afterAll(async () => {
    await carrier.close();
    await lab.stop();
  });

  const relayTo = (sites: readonly FakeSite[], order: Partial<CarryOrder> = {}): void => {
    lab.handle(async (request) => {
      if (carrier.takesBack(request)) return;
      carrying += 1;
      try {
        results.push(
          await carrier.carry(request, {
            relay: 'b2bua',
            requestUri: 'sip:1002@example.com',
            targets: sites.map(({ uri }, index) => ({ uri, site: `site${index}` })),
            limits: LIMITS,
            headers: {},
            onPath: true,
            ...order,
          }),
        );
      } finally {
        carrying -= 1;
      }
    });
  };

  interface Call {
    device: FakeDevice;
    site: FakeSite;
    invite: DeviceTransaction;
    answer: Received;
    atSite: Received;
  }
  const establish = async (script?: SiteScript, transport: 'udp' | 'tcp' = 'udp'): Promise<Call> => {
    const site = await lab.site(
      script ??
        (({ message }) =>
          message.method === 'INVITE'
            ? [
                { status: 180 },
                {
                  status: 200,
                  headers: [
                    ['Content-Type', 'application/sdp'],
                    ['X-A', '1'],
                    ['X-A', '2'],
                  ],
                  body: `${SDP}a=site\r\n`,
                },
              ]
            : { status: 200 }),
    );
    relayTo([site]);
    const device = await lab.device(transport);
    device.onRequest = (received): void => {
      if (received.message.method === 'ACK') return;
      received.reply(
        `SIP/2.0 200 OK\r\n${['via', 'from', 'to', 'call-id', 'cseq'].flatMap((name) => received.message.getAll(name).map((value) => `${name}: ${value}\r\n`)).join('')}Contact: <sip:1001@${device.hostport}>\r\nContent-Length: 0\r\n\r\n`,
      );
    };
    const invite = await device.request({
      method: 'INVITE',
      headers: [...sdp.headers, ['X-One', '1'], ['X-One', '2'], ['Subject', 'hello']],
      body: SDP,
    });
    const answer = await invite.answer(200);
    await device.ack(invite, answer);
    const atSite = await site.waitForRequest('INVITE');
    await site.waitForRequest('ACK');
    for (let i = 0; i < 100 && carrying > 0; i++) await pause(10);
    return { device, site, invite, answer, atSite };
  };
  const hangUp = async ({ device, invite, answer }: Call, cseq = 90): Promise<void> => {
    expect((await (await device.inDialog('BYE', invite, answer, cseq)).final()).message.status).toBe(200);
  };

  it('has everything end to end on both legs, and each leg its own Call-ID and Contact', async () => {
    const call = await establish();
    const { message } = call.atSite;
    expect(message.callId).not.toBe(call.invite.callId);
    expect(message.get('from')).toMatch(/^<sip:1001@example\.com>;tag=/);
    expect(message.get('to')).toBe('<sip:1002@example.com>');
    expect(message.uri).toBe('sip:1002@example.com');
    expect(message.maxForwards).toBe(69);
    expect(message.getAll('x-one')).toEqual(['1', '2']);
    expect(message.get('subject')).toBe('hello');
    expect(message.body).toBe(SDP);
    expect(message.vias).toHaveLength(1);
    expect(call.answer.message.getAll('x-a')).toEqual(['1', '2']);
    expect(call.answer.message.body).toBe(`${SDP}a=site\r\n`);
    const { port } = lab.server.entries[0]!;
    expect(call.answer.message.contacts[0]?.uri).toContain(`:${port}`);
    expect(message.contacts[0]?.uri).toContain(`:${port}`);
    expect(results[0]).toMatchObject({ kind: 'answered', answer: { status: 200 } });
    expect(carrier.bridges).toBe(1);
    await hangUp(call);
    await call.site.waitForRequest('BYE');
  });

  it('is hung up by the far side too, also over TCP', async () => {
    const call = await establish(undefined, 'tcp');
    const bye = await call.site.inDialog(call.atSite, 'BYE', 1, { headers: [['Reason', 'Q.850;cause=16']] });
    expect((await bye.final()).message.status).toBe(200);
    const { message } = await call.device.waitForRequest('BYE');
    expect(message.get('reason')).toBe('Q.850;cause=16');
    for (let i = 0; i < 50 && carrier.bridges > 0; i++) await pause(10);
    expect(carrier.bridges).toBe(0);
    expect(lab.link.dialogs).toBe(0);
  });

  it('survives both sides hanging up at once', async () => {
    const call = await establish();
    const [own, other] = await Promise.all([
      call.device.inDialog('BYE', call.invite, call.answer, 2),
      call.site.inDialog(call.atSite, 'BYE', 1),
    ]);
    const [a, b] = await Promise.all([own.final(), other.final()]);
    // 500 is what drachtio-server says to a BYE that meets its own.
    expect([200, 481, 500]).toContain(a.message.status);
    expect([200, 481, 500]).toContain(b.message.status);
    expect(lab.link.dialogs).toBe(0);
  });

  it('takes a hang-up that comes right behind the 200, though the caller heard ringing before', async () => {
    const site = await lab.site(({ message }) =>
      message.method === 'INVITE' ? [{ status: 180 }, { status: 200, ...sdp }] : { status: 200 },
    );
    relayTo([site]);
    // A server may tell that our 200 left only after the ACK and the BYE have come; this one always does.
    const respond = lab.link.respondInDialog.bind(lab.link);
    const late = jest.spyOn(lab.link, 'respondInDialog').mockImplementation(async (...given) => {
      const leg = await respond(...given);
      await pause(20);
      return leg;
    });
    try {
      for (let round = 1; round <= 3; round += 1) {
        const device = await lab.device();
        const invite = await device.request({ method: 'INVITE', ...sdp });
        const answer = await invite.answer(200);
        const [, bye] = await Promise.all([
          device.ack(invite, answer),
          device.inDialog('BYE', invite, answer, 2),
        ]);
        expect((await bye.final()).message.status).toBe(200);
        for (let i = 0; i < 50 && site.count('BYE') < round; i++) await pause(20);
        expect(site.count('BYE')).toBe(round);
      }
    } finally {
      late.mockRestore();
    }
  });

  it('carries what happens inside the dialog both ways, with the answers', async () => {
    const call = await establish(({ message }) => {
      if (message.method === 'INFO') return { status: 415, headers: [['Accept', 'x/y']] };
      if (message.method === 'INVITE' && message.to?.params.length === 0) return { status: 200, ...sdp };
      if (message.method === 'INVITE')
        return [{ status: 100 }, { status: 200, headers: sdp.headers, body: `${SDP}a=re\r\n` }];
      return { status: 200 };
    });
    const { device, site, invite, answer } = call;
    const info = await device.inDialog('INFO', invite, answer, 2, device.server, [['Info-Package', 'p']]);
    expect((await info.final()).message).toMatchObject({ status: 415 });
    expect((await site.waitForRequest('INFO')).message.get('info-package')).toBe('p');
    const reinvite = await device.inDialog('INVITE', invite, answer, 3, device.server, [
      ['Contact', `<sip:1001@${device.hostport}>`],
    ]);
    const again = await reinvite.final();
    expect(again.message.body).toBe(`${SDP}a=re\r\n`);
    await device.ack(reinvite, again);
    await pause(50);
    expect(site.received.filter(({ message }) => message.method === 'ACK').length).toBeGreaterThan(1);
    const update = await site.inDialog(call.atSite, 'UPDATE', 1, { headers: [['X-Up', '1']] });
    expect((await update.final()).message.status).toBe(200);
    expect((await device.waitForRequest('UPDATE')).message.get('x-up')).toBe('1');
    const message = await site.inDialog(call.atSite, 'MESSAGE', 2, {
      headers: [['Content-Type', 'text/plain']],
      body: 'hi \xfc',
    });
    expect((await message.final()).message.status).toBe(200);
    expect((await device.waitForRequest('MESSAGE')).message.body).toBe('hi \xfc');
    await hangUp(call);
  });

  it('a re-INVITE that rings leaves the session as it was where its end would not be told', async () => {
    const call = await establish(({ message }) => {
      const again = message.to?.params.length !== 0;
      if (message.method !== 'INVITE') return { status: 200 };
      return again ? [{ status: 180 }, { status: 200, ...sdp, afterMs: 20 }] : { status: 200, ...sdp };
    });
    const { device, invite, answer } = call;
    const reinvite = await device.inDialog('INVITE', invite, answer, 2, device.server, [
      ['Contact', `<sip:1001@${device.hostport}>`],
    ]);
    const { status } = (await reinvite.final()).message;
    expect(status).toBe(lab.server.kind === 'drachtio' ? 503 : 200);
    await hangUp(call);
  });

  it('an offer that comes late crosses with the ACK', async () => {
    const site = await lab.site(() => ({ status: 200, ...sdp }));
    relayTo([site]);
    const device = await lab.device();
    const invite = await device.request({ method: 'INVITE' });
    const answer = await invite.answer(200);
    expect(answer.message.body).toBe(SDP);
    const ack = [
      `ACK ${answer.message.contacts[0]!.uri} SIP/2.0`,
      `Via: SIP/2.0/UDP ${device.hostport};branch=z9hG4bKack1;rport`,
      'Max-Forwards: 70',
      `From: ${answer.message.get('from')!}`,
      `To: ${answer.message.get('to')!}`,
      `Call-ID: ${invite.callId}`,
      'CSeq: 1 ACK',
      'Content-Type: application/sdp',
      `Content-Length: ${SDP.length}`,
      '',
      SDP,
    ].join('\r\n');
    await device.send(ack, device.server);
    const crossed = await site.waitForRequest('ACK');
    expect(crossed.message.body).toBe(SDP);
    await (await device.inDialog('BYE', invite, answer, 2)).final();
  });

  it('a reliable provisional answer and its PRACK cross', async () => {
    const site = await lab.site(({ message }) =>
      message.method === 'INVITE'
        ? [
            { status: 183, headers: [['Require', '100rel'], ['RSeq', '7'], ...sdp.headers], body: SDP },
            { status: 200, afterMs: 300 },
          ]
        : { status: 200 },
    );
    relayTo([site]);
    const device = await lab.device();
    const invite = await device.request({
      method: 'INVITE',
      headers: [['Supported', '100rel'], ...sdp.headers],
      body: SDP,
    });
    const progress = await invite.answer(183);
    expect(progress.message.body).toBe(SDP);
    expect(progress.message.get('require')).toContain('100rel');
    const rack = `${progress.message.get('rseq')!} 1 INVITE`;
    const prack = await device.inDialog('PRACK', invite, progress, 2, device.server, [['RAck', rack]]);
    expect((await prack.final()).message.status).toBe(200);
    expect((await site.waitForRequest('PRACK')).message.get('rack')).toBe(
      '7 1 INVITE'.replace('1', String(site.received[0]!.message.cseq!.number)),
    );
    const answer = await invite.answer(200);
    await device.ack(invite, answer);
    expect((await (await device.inDialog('BYE', invite, answer, 3)).final()).message.status).toBe(200);
  });

  it('moves on from a silent site and from a 503, and hangs up what answers too late', async () => {
    const slow = await lab.site(({ message }) =>
      message.method === 'INVITE' ? { status: 200, afterMs: 1500 } : { status: 200 },
    );
    const busy = await lab.site(() => ({ status: 503 }));
    const good = await lab.site();
    relayTo([slow, busy, good]);
    const device = await lab.device();
    const invite = await device.request({ method: 'INVITE', ...sdp });
    const answer = await invite.answer(200);
    await device.ack(invite, answer);
    await slow.waitForRequest('BYE', 4000);
    expect(slow.count('ACK')).toBe(1);
    expect(good.count('BYE')).toBe(0);
    expect(lab.attempts.map(({ outcome, status }) => status ?? outcome)).toEqual(['silence', 503, 200]);
    await (await device.inDialog('BYE', invite, answer, 2)).final();
    await good.waitForRequest('BYE');
  });

  it.each([302, 401, 404, 486, 603])('passes %i with all it says and tries no other site', async (status) => {
    const values =
      status === 302 ? ['<sip:a@192.0.2.1>', '<sip:b@192.0.2.2>'] : ['Digest realm="a"', 'Digest realm="b"'];
    const name = status === 302 ? 'Contact' : 'Proxy-Authenticate';
    const first = await lab.site(() => ({ status, headers: values.map((value) => [name, value] as const) }));
    const second = await lab.site();
    relayTo([first, second]);
    const device = await lab.device();
    const answer = await (await device.request({ method: 'INVITE', ...sdp })).final();
    expect(answer.message.status).toBe(status);
    expect(
      answer.message.getAll(name).flatMap((line) => (status === 302 ? line.split(', ') : [line])),
    ).toEqual(values);
    expect(second.count('INVITE')).toBe(0);
  });

  it('says 503 with Retry-After when nobody answered', async () => {
    const silent = await lab.site(() => undefined);
    relayTo([silent, silent]);
    const device = await lab.device();
    const answer = await (await device.request({ method: 'INVITE', ...sdp })).final();
    expect(answer.message.status).toBe(503);
    expect(Number(answer.message.get('retry-after'))).toBeGreaterThan(0);
  });

  it.each([undefined, 0, 5, 50])(
    'is cancelled, whenever the CANCEL comes (%s ms after ringing)',
    async (delay) => {
      const site = await lab.site(() => ({ status: 180 }));
      relayTo([site]);
      const device = await lab.device();
      const invite = await device.request({ method: 'INVITE', ...sdp });
      if (delay !== undefined) {
        await invite.answer(180);
        await pause(delay);
      }
      await invite.cancel();
      expect((await invite.final()).message.status).toBe(487);
      await pause(300);
      expect(site.cancelledCalls.length).toBe(site.count('INVITE'));
      expect(lab.link.dialogs).toBe(0);
    },
  );

  it('leaves nothing behind when a CANCEL meets the 200', async () => {
    const site = await lab.site(({ message }) =>
      message.method === 'INVITE' ? [{ status: 180 }, { status: 200, afterMs: 20 }] : { status: 200 },
    );
    relayTo([site]);
    const device = await lab.device();
    for (let i = 0; i < 20; i++) {
      const invite = await device.request({ method: 'INVITE', ...sdp });
      await pause(18 + (i % 6));
      await invite.cancel();
      const answer = await invite.final();
      if (answer.message.status === 200) {
        await device.ack(invite, answer);
        await (await device.inDialog('BYE', invite, answer, 2)).final();
      }
    }
    await pause(500);
    expect(site.count('BYE') + site.cancelledCalls.length).toBe(site.count('INVITE'));
    expect(carrier.bridges).toBe(0);
    expect(lab.link.dialogs).toBe(0);
  });

  it('a subscription lives and ends through us, its NOTIFYs too', async () => {
    const site = await lab.site(({ message }) =>
      message.method === 'SUBSCRIBE' ? { status: 202, headers: [['Expires', '300']] } : { status: 200 },
    );
    relayTo([site]);
    const device = await lab.device();
    device.onRequest = (received): void => {
      received.reply(
        `SIP/2.0 200 OK\r\n${['via', 'from', 'to', 'call-id', 'cseq'].flatMap((name) => received.message.getAll(name).map((value) => `${name}: ${value}\r\n`)).join('')}Content-Length: 0\r\n\r\n`,
      );
    };
    const subscribe = await device.request({
      method: 'SUBSCRIBE',
      headers: [
        ['Event', 'presence'],
        ['Expires', '300'],
      ],
    });
    const answer = await subscribe.final();
    expect(answer.message.status).toBe(202);
    expect(answer.message.get('expires')).toBe('300');
    const atSite = await site.waitForRequest('SUBSCRIBE');
    expect(atSite.message.get('event')).toBe('presence');
    const active = await site.inDialog(atSite, 'NOTIFY', 1, {
      headers: [
        ['Event', 'presence'],
        ['Subscription-State', 'active;expires=300'],
        ['Content-Type', 'a/b'],
      ],
      body: 'state',
    });
    expect((await active.final()).message.status).toBe(200);
    expect((await device.waitForRequest('NOTIFY')).message.body).toBe('state');
    const refresh = await device.inDialog('SUBSCRIBE', subscribe, answer, 2, device.server, [
      ['Event', 'presence'],
      ['Expires', '0'],
      ['Contact', `<sip:1001@${device.hostport}>`],
    ]);
    expect((await refresh.final()).message.status).toBe(202);
    const last = await site.inDialog(atSite, 'NOTIFY', 2, {
      headers: [
        ['Event', 'presence'],
        ['Subscription-State', 'terminated;reason=timeout'],
      ],
    });
    // drachtio-server answers the last NOTIFY of a subscription 500 by itself before the application can.
    expect([200, 500]).toContain((await last.final()).message.status);
    for (let i = 0; i < 50 && carrier.bridges > 0; i++) await pause(10);
    expect(carrier.bridges).toBe(0);
    expect(lab.link.dialogs).toBe(0);
  });

  it('a transfer names the dialog as the other side knows it', async () => {
    const first = await establish();
    const second = await establish();
    const named = second.answer.message;
    const replaces = encodeURIComponent(
      `${second.invite.callId};to-tag=${named.to!.params[0]![1]!};from-tag=${named.from!.params[0]![1]!}`,
    );
    const refer = await first.device.inDialog('REFER', first.invite, first.answer, 2, first.device.server, [
      ['Refer-To', `<sip:1002@example.com?Replaces=${replaces}>`],
      ['Contact', `<sip:1001@${first.device.hostport}>`],
    ]);
    expect((await refer.final()).message.status).toBe(200);
    const referTo = (await first.site.waitForRequest('REFER')).message.get('refer-to') ?? '';
    const mapped = decodeURIComponent(/Replaces=([^>]+)/.exec(referTo)?.[1] ?? '');
    const far = second.atSite.message;
    expect(mapped.split(';')[0]).toBe(far.callId);
    expect(mapped).toContain(`from-tag=${far.from!.params[0]![1]!}`);
    await hangUp(first);
    await hangUp(second);
  });
});
