import { FakeClock } from './fake-clock';
import { openLab, SECRET, type Lab } from './lab';
import { RawApplication } from './raw-application';
import { pause, requestOf, UdpPeer, until } from './sip-peer';
import { connectSrf, type AppRequest, type AppResponse, type SrfApp } from './srf-app';

describe('the control port', () => {
  let lab: Lab;
  let app: RawApplication;
  const clock = new FakeClock();

  beforeEach(async () => {
    lab = await openLab(() => undefined, { clock });
    app = new RawApplication(lab.server.controlPort);
  });
  afterEach(async () => {
    app.socket.destroy();
    await lab.close();
  });

  it('tells an accepted application the addresses, the version and what it can do', async () => {
    app.say(`1|authenticate|${SECRET}|tag`);
    await until(() => app.seen.includes('|response|1|'));
    const where = `127.0.0.1:${lab.us.port}`;
    expect(app.seen).toContain(
      `|OK|udp/${where},tcp/${where}|v0.9.10|udp/${where},tcp/${where}|dsbc-embedded;caps=`,
    );
    app.say('2|ping');
    await until(() => app.seen.includes('|response|2|OK|pong'));
  });

  it('refuses a wrong secret, and anything before it', async () => {
    app.say('1|authenticate|wrong|');
    await until(() => app.closed);
    expect(app.seen).toContain('|response|1|NO|incorrect secret');
    const eager = new RawApplication(lab.server.controlPort);
    eager.say('1|route|invite');
    await until(() => eager.closed);
    expect(eager.seen).toBe('');
    const mute = new RawApplication(lab.server.controlPort);
    await pause(30);
    clock.advance(5_000);
    await until(() => mute.closed);
  });

  it('closes on what is no frame and on an unknown command, and goes on for others', async () => {
    app.socket.write('what is this');
    await until(() => app.closed);
    const odd = new RawApplication(lab.server.controlPort);
    odd.say(`1|authenticate|${SECRET}|`);
    odd.say('2|dance');
    await until(() => odd.closed);
    expect(odd.seen).toContain('|response|2|NO|Unknown message type');
    lab.phone.send(requestOf('OPTIONS', 'sip:example.com', lab.phone.host), lab.us);
    await until(() => lab.phone.received.length > 0);
    expect(lab.phone.received[0]?.status).toBe(503);
  });

  it('answers NOK to commands that make no sense', async () => {
    app.say(`1|authenticate|${SECRET}|`);
    const commands = [
      'sip|nothing|\r\nSIP/2.0 200 OK\r\n\r\n',
      'sip||\r\nOPTIONS\r\n\r\n',
      `sip||\r\nOPTIONS sip:127.0.0.1:${lab.us.port} SIP/2.0\r\n\r\n`,
      'sip||\r\nMESSAGE sip:a@192.0.2.1 SIP/2.0\r\n\r\nbody without a type',
      'sip||no-such-dialog\r\nBYE sip:placeholder SIP/2.0\r\n\r\n',
      'sip|no-such-transaction|\r\nCANCEL sip:a@192.0.2.1 SIP/2.0\r\n\r\n',
      'sip|||\r\nOPTIONS sip:a@192.0.2.1 SIP/2.0\r\nX: a\rb\r\n\r\n',
      'proxy|nothing||||serial|||sip:a@192.0.2.1\r\nINVITE sip:a SIP/2.0\r\n\r\n',
    ];
    for (const [index, text] of commands.entries()) app.say(`c${index}|${text}`);
    await until(() => commands.every((_, index) => app.seen.includes(`|response|c${index}|NOK|`)));
    expect(app.closed).toBe(false);
    expect(lab.server.counts()).toMatchObject({ own: 0, pending: 0, dialogs: 0, clients: 0 });
  });

  it('gives an own request its time-out, and tells it as an answer without an address', async () => {
    app.say(`1|authenticate|${SECRET}|`);
    app.say(`2|sip||\r\nOPTIONS sip:x@${lab.sites[0]!.host} SIP/2.0\r\nX-Dsbc-Timeout: 1000\r\n\r\n`);
    await until(() => lab.sites[0]!.received.length === 1);
    expect(lab.sites[0]!.received[0]?.get('x-dsbc-timeout')).toBeUndefined();
    clock.advance(1_000);
    await until(() => app.seen.includes('SIP/2.0 408'));
    expect(app.seen).toMatch(/\|sip\|network\|\d+\|udp\|\|\|/);
    expect(lab.server.counts().own).toBe(0);
  });

  it('stops sending an own request that is cancelled, and tells no late answer', async () => {
    app.say(`1|authenticate|${SECRET}|`);
    app.say(`2|sip||\r\nOPTIONS sip:x@${lab.sites[0]!.host} SIP/2.0\r\n\r\n`);
    await until(() => app.seen.includes('|response|2|OK|') && lab.sites[0]!.received.length === 1);
    const id = /\|([0-9a-f-]{36})\|Msg sent/.exec(app.seen)?.[1] ?? '';
    app.say(`3|sip|${id}|\r\nCANCEL sip:x SIP/2.0\r\n\r\n`);
    await until(() => app.seen.includes('|response|3|OK|'));
    clock.advance(4_000);
    lab.sites[0]!.answerWith(200);
    lab.sites[0]!.onMessage?.(lab.sites[0]!.received[0]!, lab.us);
    await pause(50);
    expect(lab.sites[0]!.received).toHaveLength(1);
    expect(app.seen).not.toContain('|sip|network|');
  });
});

describe('several applications', () => {
  it('share requests out in turn; what one leaves undecided when it goes is refused', async () => {
    const seen: { app: number; req: AppRequest }[] = [];
    const hold =
      (app: number) =>
      (srf: SrfApp): void =>
        srf.invite((req) => seen.push({ app, req }));
    const lab = await openLab(hold(0));
    const other = await connectSrf(lab.server.controlPort, SECRET);
    hold(1)(other);
    await pause(30);
    for (let i = 0; i < 4; i += 1)
      lab.phone.send(requestOf('INVITE', 'sip:1002@example.com', lab.phone.host), lab.us);
    await until(() => seen.length === 4);
    expect(seen.map(({ app }) => app).sort()).toEqual([0, 0, 1, 1]);
    other.disconnect();
    await until(() => lab.phone.received.filter(({ status }) => status === 503).length === 2);
    lab.phone.send(requestOf('INVITE', 'sip:1002@example.com', lab.phone.host), lab.us);
    await until(() => seen.length === 5);
    expect(seen[4]?.app).toBe(0);
    await lab.close();
  });
});

describe('requests without an application for them', () => {
  it('get 503, unknown methods 501; one that drops a request keeps it dropped', async () => {
    let dropped = 0;
    const lab = await openLab((srf) =>
      srf.message((_req, res) => {
        dropped += 1;
        res.send(403, { headers: { 'X-Dsbc-Drop': 'yes' } });
      }),
    );
    const { phone, us } = lab;
    phone.send(requestOf('SUBSCRIBE', 'sip:example.com', phone.host), us);
    phone.send(requestOf('DANCE', 'sip:example.com', phone.host), us);
    const message = requestOf('MESSAGE', 'sip:example.com', phone.host);
    phone.send(message, us);
    await until(() => dropped === 1 && phone.received.length === 2);
    phone.send(message, us);
    await pause(50);
    expect(dropped).toBe(1);
    expect(phone.received.map(({ status }) => status).sort()).toEqual([501, 503]);
    expect(phone.received.find(({ status }) => status === 501)?.get('allow')).toContain('INVITE');
    // A method in lower case is another method (RFC 3261 §7.1).
    phone.send(requestOf('message', 'sip:example.com', phone.host), us);
    await until(() => phone.received.length === 3);
    expect(phone.received[2]?.status).toBe(501);
    expect(dropped).toBe(1);
    await lab.close();
  });

  it('an INVITE that the application drops, or leaves alone, has no 100 before 200 ms are over', async () => {
    const clock = new FakeClock();
    let came = 0;
    const lab = await openLab(
      (srf) =>
        srf.invite((_req, res) => {
          came += 1;
          if (came < 3) res.send(480, { headers: { 'X-Dsbc-Drop': 'forget' } });
        }),
      { clock },
    );
    const { phone, us } = lab;
    const invite = requestOf('INVITE', 'sip:1002@example.com', phone.host);
    // Forgotten: its retransmission is a new request.
    for (const time of [1, 2, 3]) {
      phone.send(invite, us);
      await until(() => came === time);
    }
    await until(() => lab.server.counts().pending === 1);
    clock.advance(199);
    await pause(30);
    expect(phone.received).toEqual([]);
    clock.advance(1);
    await until(() => phone.received.length === 1);
    expect(phone.received[0]?.status).toBe(100);
    await lab.close();
  });

  it('and too many at once get 503 with Retry-After, while those under way go on', async () => {
    const held: AppRequest[] = [];
    const lab = await openLab((srf) => srf.message((req) => held.push(req)), { limits: { transactions: 5 } });
    const { phone, us } = lab;
    for (let i = 0; i < 8; i += 1) phone.send(requestOf('MESSAGE', 'sip:example.com', phone.host), us);
    await until(() => phone.received.length === 3);
    expect(phone.received.every(({ status }) => status === 503)).toBe(true);
    expect(phone.received[0]?.get('retry-after')).toBe('5');
    expect(held).toHaveLength(5);
    await lab.close();
  });

  it('so does one address that holds too many, while others are served', async () => {
    const held: AppRequest[] = [];
    const answer = (req: AppRequest, res: AppResponse): void => {
      if (held.push(req) > 2) res.send(202);
    };
    const lab = await openLab((srf) => srf.message(answer), { limits: { transactionsPerSource: 2 } });
    const { phone, us } = lab;
    for (let i = 0; i < 3; i += 1) phone.send(requestOf('MESSAGE', 'sip:example.com', phone.host), us);
    await until(() => phone.received.length === 1);
    expect(phone.received[0]?.status).toBe(503);
    const other = await UdpPeer.open('127.0.0.2');
    other.send(requestOf('MESSAGE', 'sip:example.com', other.host), us);
    await until(() => other.received.length === 1);
    expect(other.received[0]?.status).toBe(202);
    await other.close();
    await lab.close();
  });

  it.each(['transactionBytes', 'transactionBytesPerSource'] as const)(
    'so do requests that are too large together (%s), until those before are forgotten',
    async (limit) => {
      const clock = new FakeClock();
      const answer = (_req: AppRequest, res: AppResponse): void => res.send(200);
      const lab = await openLab((srf) => srf.message(answer), { clock, limits: { [limit]: 25_000 } });
      const { phone, us } = lab;
      const send = (): void =>
        phone.send(
          requestOf('MESSAGE', 'sip:example.com', phone.host, { lines: [`X: ${'x'.repeat(10_000)}`] }),
          us,
        );
      for (let i = 0; i < 3; i += 1) send();
      await until(() => phone.received.length === 3);
      expect(phone.received.map(({ status }) => status).sort()).toEqual([200, 200, 503]);
      clock.advance(32_000);
      send();
      await until(() => phone.received.length === 4);
      expect(phone.received[3]?.status).toBe(200);
      await lab.close();
    },
  );
});
