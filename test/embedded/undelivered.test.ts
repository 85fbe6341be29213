import { createServer, type AddressInfo } from 'node:net';
import { constants } from 'node:os';
import type { UdpErrorQueue, UdpErrorReport } from '../../plugin/embedded';
import { isSameAddress } from '../../plugin/embedded/transport/flow';
import { isUnreachable, quotedRequest } from '../../plugin/embedded/transport/udp-errors';
import { udpErrorQueues } from '../../plugin/native';
import { describeWith } from '../fixtures/needs';
import { freePort } from '../fixtures/sip-endpoint';
import { openLab, type Lab } from './lab';
import { pause, until, UdpPeer } from './sip-peer';

const { ECONNREFUSED } = constants.errno;
const REPORT: UdpErrorReport = {
  address: '127.0.0.1',
  port: 5060,
  error: ECONNREFUSED,
  origin: 2,
  type: 3,
  code: 3,
  quote: '',
};

describe('a report of what was not delivered', () => {
  it('is a transport error where ICMP says unreachable, and no other', () => {
    const says = (origin: number, type: number, code: number): boolean =>
      isUnreachable({ ...REPORT, origin, type, code });
    for (const code of [0, 1, 2, 3, 9, 10, 13]) expect(says(2, 3, code)).toBe(true);
    for (const code of [0, 1, 3, 4]) expect(says(3, 1, code)).toBe(true);
    // Too big, time exceeded, source quench, parameter problem; and what this host says by itself.
    for (const [type, code] of [
      [3, 4],
      [11, 0],
      [4, 0],
      [12, 0],
    ] as const) {
      expect(says(2, type, code)).toBe(false);
    }
    expect(says(3, 2, 0)).toBe(false);
    expect(says(3, 3, 0)).toBe(false);
    expect(says(1, 0, 0)).toBe(false);
  });

  it('is of one address, however that is written', () => {
    expect(isSameAddress('2001:DB8:0:0::1', '2001:db8::1')).toBe(true);
    expect(isSameAddress('fe80::1%eth0', 'fe80::1')).toBe(true);
    expect(isSameAddress('2001:db8::2', '2001:db8::1')).toBe(false);
    expect(isSameAddress('127.0.0.1', '127.0.0.2')).toBe(false);
  });

  it.each([
    [
      'INVITE sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP h:5060;branch=z9hG4bKx;rport\r\nVia: y;branch=2\r\n',
      'z9hG4bKx',
    ],
    ['INVITE sip:a@b SIP/2.0\r\nv: SIP/2.0/UDP h:5060;rport;branch=z9hG4bKx\r\n', 'z9hG4bKx'],
    ['INVITE sip:a@b SIP/2.0\r\nMax-Forwards: 70\r\nVIA : SIP/2.0/UDP h;branch=z9hG4bKx\r', 'z9hG4bKx'],
    // Cut short: it may go on.
    ['INVITE sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP h:5060;branch=z9hG4bKx', undefined],
    ['INVITE sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP h', undefined],
    ['INVITE sip:a@b SI', undefined],
    ['SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP h;branch=z9hG4bKx\r\n', undefined],
    ['', undefined],
  ])('names a request by its branch only if that is quoted whole: %j', (quote, branch) => {
    expect(quotedRequest(quote)).toEqual(branch === undefined ? undefined : { method: 'INVITE', branch });
  });
});

describeWith(['addon'], 'a request that is not delivered', () => {
  let lab: Lab;
  let forged: UdpErrorReport[] = [];
  /** The addon's queue, with what somebody made up in front. */
  const errorQueue = (): UdpErrorQueue => {
    const real = udpErrorQueues('auto')!();
    return {
      open: (address, port) => real.open(address, port),
      adopted: () => real.adopted(),
      read: () => (forged.length >= 64 ? forged.splice(0) : [...forged.splice(0), ...real.read()]),
      close: () => real.close(),
    };
  };
  beforeEach(async () => {
    lab = await openLab((srf) => srf.options((_req, res) => res.send(200)), { errorQueue });
  });
  afterEach(async () => {
    forged = [];
    await lab.close();
  });

  interface Outcome {
    readonly status: number;
    readonly milliseconds: number;
  }
  const ask = (method: string, uri: string): Promise<Outcome> =>
    new Promise((resolve, reject) => {
      const start = performance.now();
      lab.srf.request(uri, { method }, (error, sent) => {
        if (error) reject(new Error(String(error)));
        else
          sent.on('response', ({ status }: { status: number }) => {
            if (status >= 200) resolve({ status, milliseconds: performance.now() - start });
          });
      });
    });
  const closed = async (): Promise<string> => `sip:x@127.0.0.1:${await freePort()}`;

  it.each(['OPTIONS', 'REGISTER', 'MESSAGE', 'INVITE'])('%s ends at once, as 503', async (method) => {
    const outcome = await ask(method, await closed());
    expect(outcome.status).toBe(503);
    expect(outcome.milliseconds).toBeLessThan(400);
    expect(lab.server.counts()).toMatchObject({ undelivered: 1, strayReports: 0, clients: 0 });
  });

  it('does no harm to others, however many there are, and leaves the event loop at rest', async () => {
    lab.sites[0]!.answerWith(200);
    const gone = await closed();
    const requests: Promise<Outcome>[] = [];
    for (let i = 0; i < 300; i += 1) requests.push(ask('OPTIONS', i % 3 === 0 ? lab.target(0) : gone));
    const outcomes = await Promise.all(requests);
    expect(outcomes.map(({ status }) => status)).toEqual(requests.map((_, i) => (i % 3 === 0 ? 200 : 503)));
    expect(Math.max(...outcomes.map(({ milliseconds }) => milliseconds))).toBeLessThan(3000);
    expect(lab.server.counts().undelivered).toBe(200);
    const before = performance.eventLoopUtilization();
    await pause(200);
    expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.5);
  });

  it('is not ended by a report that somebody made up: it is counted', async () => {
    const site = lab.sites[0]!;
    const outcome = ask('OPTIONS', lab.target(0));
    await until(() => site.received.length > 0);
    const branch = site.received[0]!.via!.branch!;
    const quote = (method: string, named: string): string =>
      `${method} ${lab.target(0)} SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:5060;branch=${named};rport\r\n`;
    const { port } = site;
    forged = [
      { ...REPORT, port, quote: quote('OPTIONS', 'z9hG4bKguessed') },
      { ...REPORT, port, quote: quote('OPTIONS', branch).slice(0, -10) },
      { ...REPORT, port, quote: '' },
      { ...REPORT, port: port + 1, quote: quote('OPTIONS', branch) },
      { ...REPORT, port, address: '127.0.0.2', quote: quote('OPTIONS', branch) },
      { ...REPORT, port, quote: quote('INVITE', branch) },
      { ...REPORT, port, quote: quote('OPTIONS', branch), type: 11 },
      { ...REPORT, port, quote: '\0\r\n'.repeat(190) },
    ];
    // They are read with the next report.
    await ask('OPTIONS', await closed());
    expect(lab.server.counts()).toMatchObject({ undelivered: 1, strayReports: 8, clients: 1 });
    // Time is up for no one: the site's answer still counts.
    site.answerWith(200);
    expect((await outcome).status).toBe(200);
  });

  it('is found also behind a flood of made-up ones', async () => {
    forged = Array.from({ length: 64 }, () => ({ ...REPORT, quote: 'x'.repeat(500) }));
    const outcome = await ask('OPTIONS', await closed());
    expect(outcome.status).toBe(503);
    expect(outcome.milliseconds).toBeLessThan(400);
    expect(lab.server.counts()).toMatchObject({ undelivered: 1, strayReports: 64 });
  });

  it('once a provisional answer came, a report no longer ends it', async () => {
    const site = lab.sites[0]!;
    site.answerWith(100);
    const outcome = ask('INVITE', lab.target(0));
    await until(() => site.received.length > 0);
    await pause(20);
    const branch = site.received[0]!.via!.branch!;
    const via = `Via: SIP/2.0/UDP 127.0.0.1:5060;branch=${branch};rport\r\n`;
    forged = [{ ...REPORT, port: site.port, quote: `INVITE ${lab.target(0)} SIP/2.0\r\n${via}` }];
    await ask('OPTIONS', await closed());
    expect(lab.server.counts()).toMatchObject({ undelivered: 1, strayReports: 1 });
    expect(await Promise.race([outcome.then(() => 'ended'), pause(50).then(() => 'under way')])).toBe(
      'under way',
    );
  });

  it('over TCP ends when its connection is refused, reset or closed without an answer', async () => {
    for (const end of ['resetAndDestroy', 'destroy'] as const) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket[end]());
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const uri = `sip:x@127.0.0.1:${port};transport=tcp`;
      for (const method of ['OPTIONS', 'INVITE']) {
        const outcome = await ask(method, uri);
        expect(outcome.status).toBe(503);
        expect(outcome.milliseconds).toBeLessThan(400);
      }
      await new Promise((resolve) => server.close(resolve));
      expect((await ask('OPTIONS', uri)).status).toBe(503);
    }
    expect(lab.server.counts().clients).toBe(0);
  });

  it('over TCP an INVITE that got a 100 ends with its connection; one that rings goes on', async () => {
    for (const [statuses, ends] of [
      [[100], true],
      [[100, 180], false],
    ] as const) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', (bytes: Buffer) => {
          const text = bytes.toString('latin1');
          if (!text.startsWith('INVITE')) return;
          const copied = (text.match(/^(?:Via|From|To|Call-ID|CSeq):.*\r\n/gim) ?? []).join('');
          for (const status of statuses)
            socket.write(
              `SIP/2.0 ${status} X\r\n${copied.replace(/^To:.*/im, '$&;tag=x')}Content-Length: 0\r\n\r\n`,
            );
          setTimeout(() => socket.resetAndDestroy(), 30);
        });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const outcome = ask('INVITE', `sip:x@127.0.0.1:${port};transport=tcp`);
      const first = await Promise.race([outcome.then(({ status }) => status), pause(200)]);
      expect(first).toBe(ends ? 503 : undefined);
      expect(lab.server.counts().clients).toBe(ends ? 0 : 1);
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('leaves another server its port, and gives its own back', async () => {
    const { port } = lab.us;
    await expect(
      openLab(() => undefined, {
        addresses: [{ address: '127.0.0.1', port, transports: ['udp'] }],
        errorQueue,
      }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE', syscall: 'bind', address: '127.0.0.1', port });
    await lab.server.close();
    const peer = await UdpPeer.open('127.0.0.1', port);
    await peer.close();
  });
});
