import { connect, createServer } from 'node:net';
import { parseMessage } from '../../plugin/message/parse';
import { startEmbeddedServer, type EmbeddedServer } from '../../plugin/embedded';
import { FakeClock } from './fake-clock';
import { openLab, SECRET, type Lab } from './lab';
import { answerTo, pause, requestOf, TcpPeer, UdpPeer, until } from './sip-peer';
import { connectSrf, type AppMessage, type AppRequest, type SrfApp } from './srf-app';

const overTcp = (method: string, sentBy: string, lines: string[] = [], body = ''): string =>
  requestOf(method, 'sip:example.com', sentBy, { transport: 'TCP', lines, body });

describe('TCP', () => {
  let lab: Lab;
  const clock = new FakeClock();
  const events: string[] = [];

  beforeAll(async () => {
    lab = await openLab(
      (srf) => {
        srf.options((req, res) => {
          res.send(200, {
            headers: { 'X-Source': `${req.protocol}/${req.source_address}:${req.source_port}` },
          });
        });
        srf.register((_req, res) => setTimeout(() => res.send(200), 100));
        srf.message((req, _res) => void lab.srf.proxyRequest(req, [lab.target(0)]));
        srf.invite((req, _res) => void lab.srf.proxyRequest(req, [`${lab.target(0)};transport=tcp`]));
      },
      { clock },
    );
    events.length = 0;
  });
  afterAll(() => lab.close());

  it('answers by the connection a request came by', async () => {
    const peer = await TcpPeer.open(lab.us);
    peer.send(overTcp('OPTIONS', '192.0.2.33:5060'));
    await until(() => peer.data.includes('SIP/2.0 200'));
    expect(peer.data).toContain(`X-Source: tcp/127.0.0.1:${peer.socket.localPort}`);
    expect(peer.data).toContain('received=127.0.0.1');
    peer.close();
  });

  it('H20: answers a ping with one CRLF, also in front of a request', async () => {
    const peer = await TcpPeer.open(lab.us);
    peer.send('\r\n\r\n');
    await until(() => peer.data === '\r\n');
    peer.send(`\r\n\r\n${overTcp('OPTIONS', peer.sentBy)}`);
    await until(() => peer.data.startsWith('\r\n\r\nSIP/2.0 200'));
    expect(peer.closed).toBe(false);
    peer.close();
  });

  it('H21: refuses a Content-Length of 2^31 and closes', async () => {
    const peer = await TcpPeer.open(lab.us);
    peer.send(overTcp('OPTIONS', peer.sentBy).replace('Content-Length: 0', 'Content-Length: 2147483648'));
    await until(() => peer.closed);
    expect(peer.data).toMatch(/^SIP\/2\.0 400 /);
  });

  it('H27: survives a client that is gone before its answer', async () => {
    const peer = await TcpPeer.open(lab.us);
    peer.send(overTcp('REGISTER', peer.sentBy));
    await pause(30);
    peer.close();
    await pause(150);
    const other = await TcpPeer.open(lab.us);
    other.send(overTcp('OPTIONS', other.sentBy));
    await until(() => other.data.includes('SIP/2.0 200'));
    other.close();
  });

  it('carries binary bodies and many messages in one segment', async () => {
    lab.sites[0]!.received.length = 0;
    lab.sites[0]!.answerWith(200);
    const body = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('latin1');
    const peer = await TcpPeer.open(lab.us);
    const lines = ['Content-Type: application/octet-stream'];
    peer.send([1, 2, 3].map(() => overTcp('MESSAGE', peer.sentBy, lines, body)).join(''));
    await until(() => peer.data.split('SIP/2.0 200').length === 4);
    expect(lab.sites[0]!.received.map((message) => message.body)).toEqual([body, body, body]);
    peer.close();
  });

  it('opens one connection to a target and uses it again; an answer comes back by it', async () => {
    const target = lab.sites[0]!;
    const accepted: string[] = [];
    const listener = createServer((socket) => {
      accepted.push(`${socket.remoteAddress}`);
      socket.on('data', (chunk) => {
        const parsed = parseMessage(chunk);
        if (parsed.ok && parsed.message.method === 'INVITE')
          socket.write(answerTo(parsed.message, 486), 'latin1');
      });
    });
    await new Promise<void>((resolve) => listener.listen(target.port, target.address, resolve));
    for (let i = 0; i < 2; i += 1) {
      lab.phone.received.length = 0;
      lab.phone.send(requestOf('INVITE', 'sip:1002@example.com', lab.phone.host), lab.us);
      await until(() => lab.phone.received.some(({ status }) => status === 486));
    }
    expect(accepted).toEqual(['127.0.0.1']);
    listener.close();
  });

  it('closes what trickles or says nothing', async () => {
    const slow = await TcpPeer.open(lab.us);
    const mute = await TcpPeer.open(lab.us);
    slow.send('OPTIONS sip:example.com SIP/2.0\r\n');
    await pause(50);
    for (let second = 0; second < 34; second += 1) {
      slow.send('X');
      clock.advance(1_000);
    }
    await until(() => slow.closed && mute.closed);
  });

  it('tells applications that ask when a connection is gone', async () => {
    const socket = connect(lab.server.controlPort, '127.0.0.1');
    let seen = '';
    socket.on('data', (chunk: Buffer) => (seen += chunk.toString('latin1')));
    const frame = (text: string): string => `${text.length}#${text}`;
    socket.write(frame(`1|authenticate|${SECRET}|`) + frame('2|route|flow_closed'));
    await until(() => seen.includes('|response|2|OK'));
    const peer = await TcpPeer.open(lab.us);
    const { localPort } = peer.socket;
    peer.close();
    await until(() => seen.includes('|event|'));
    expect(seen).toContain(`|event|flow_closed|tcp|127.0.0.1|${localPort}|127.0.0.1|${lab.us.port}`);
    socket.destroy();
  });

  it('fails at once towards a flow that is gone, when only an open one will do', async () => {
    const answer = await new Promise<AppMessage & { source_address: string }>((resolve) => {
      lab.srf.request(
        'sip:1001@192.0.2.33',
        {
          method: 'OPTIONS',
          proxy: 'sip:127.0.0.1:9;transport=tcp',
          headers: { 'X-Dsbc-Existing-Flow': 'yes' },
        },
        (_error, sent) => sent.on('response', resolve),
      );
    });
    expect(answer.status).toBe(430);
    expect(answer.source_address).toBe('');
  });
});

describe('a stream that can’t be followed any more', () => {
  it('is closed within seconds, also when its sender takes nothing of what was written', async () => {
    const clock = new FakeClock();
    const server = await startEmbeddedServer({
      addresses: [{ address: '127.0.0.1', port: 0, transports: ['tcp'] }],
      control: { port: 0, secret: SECRET },
      clock,
      limits: { writeBytes: 64 * 1024 * 1024 },
    });
    const peer = await TcpPeer.open(server.addresses[0]!);
    peer.socket.pause();
    // 12 MB of answers: more than the kernel takes for a peer that does not read.
    const branch = `z9hG4bK${'b'.repeat(60_000)}`;
    const request = overTcp('DANCE', peer.sentBy).replace(/branch=[^;\r]*/, `branch=${branch}`);
    for (let sent = 0; sent < 200; sent += 1) peer.send(request);
    await until(() => server.counts().refused === 200);
    peer.send('NONSENSE\r\n\r\n');
    await until(() => server.counts().malformed === 1);
    await pause(100);
    clock.advance(4_000);
    await pause(50);
    expect(server.counts().connections).toBe(1);
    clock.advance(1_000);
    await until(() => server.counts().connections === 0);
    peer.close();
    await server.close();
  });
});

describe('limits on connections', () => {
  it('hold per source', async () => {
    const server = await startEmbeddedServer({
      addresses: [{ address: '127.0.0.1', port: 0, transports: ['tcp'] }],
      control: { port: 0, secret: SECRET },
      limits: { connectionsPerSource: 2 },
    });
    const [us] = server.addresses;
    const first = await TcpPeer.open(us!);
    const second = await TcpPeer.open(us!);
    const third = await TcpPeer.open(us!);
    await until(() => third.closed);
    expect([first.closed, second.closed]).toEqual([false, false]);
    first.close();
    await until(() => server.counts().connections === 1);
    const fourth = await TcpPeer.open(us!);
    await pause(30);
    expect(fourth.closed).toBe(false);
    second.close();
    fourth.close();
    await server.close();
  });
});

describe('several entry addresses in one server', () => {
  let server: EmbeddedServer;
  let phone: UdpPeer;
  let site: UdpPeer;
  let site6: UdpPeer;
  let phone6: UdpPeer;
  let srf: SrfApp;
  const seen: AppRequest[] = [];

  beforeAll(async () => {
    server = await startEmbeddedServer({
      addresses: [
        { address: '127.0.0.1', port: 0, transports: ['udp', 'tcp'] },
        { address: '127.0.0.2', port: 0, transports: ['udp', 'tcp'] },
        { address: '::1', port: 0, transports: ['udp', 'tcp'] },
      ],
      control: { port: 0, secret: SECRET },
    });
    [phone, site, phone6, site6] = await Promise.all([
      UdpPeer.open(),
      UdpPeer.open(),
      UdpPeer.open('::1'),
      UdpPeer.open('::1'),
    ]);
    site.answerWith(200);
    site6.answerWith(200);
    srf = await connectSrf(server.controlPort, SECRET);
    srf.message((req) => {
      seen.push(req);
      const to = req.uri.includes('six') ? site6 : site;
      void srf.proxyRequest(req, [`sip:${to.host}`]);
    });
    srf.options((_req, res) => res.send(200));
    await pause(30);
  });
  afterAll(async () => {
    srf.disconnect();
    await Promise.all([phone, site, phone6, site6].map((peer) => peer.close()));
    await server.close();
  });

  it('sends from the one a request came in on, and answers from it', async () => {
    const alias = server.addresses[1]!;
    phone.send(requestOf('MESSAGE', 'sip:1002@example.com', phone.host), alias);
    await until(() => phone.received.length === 1);
    expect(phone.from[0]).toEqual({ address: alias.address, port: alias.port });
    expect(site.from.at(-1)).toEqual({ address: alias.address, port: alias.port });
    expect(site.received.at(-1)?.via).toMatchObject({ host: alias.address, port: alias.port });
    expect(seen.at(-1)?.receivedOn).toBe(`${alias.address}:${alias.port}`);
  });

  it('H05: without rport it answers to the source address at the sent-by port, and invents no rport', async () => {
    const request = requestOf('OPTIONS', 'sip:example.com', `192.0.2.33:${phone.port}`).replace(';rport', '');
    const sender = await UdpPeer.open();
    phone.received.length = 0;
    sender.send(request, server.addresses[0]!);
    await until(() => phone.received.length === 1);
    expect(phone.received[0]?.via?.text).toContain('received=127.0.0.1');
    expect(phone.received[0]?.via?.rport).toBeUndefined();
    await sender.close();
  });

  it('H06: speaks IPv6, with brackets where they belong', async () => {
    const [, , six] = server.addresses;
    phone6.send(requestOf('MESSAGE', 'sip:six@example.com', '[2001:db8::33]:5070'), six!);
    await until(() => phone6.received.length === 1);
    expect(phone6.received[0]?.status).toBe(200);
    expect(site6.received[0]?.vias[0]).toMatchObject({ host: '[::1]', port: six!.port });
    expect(site6.received[0]?.vias[1]).toMatchObject({ received: '::1', rport: phone6.port });
    expect(seen.at(-1)).toMatchObject({ source_address: '::1', source_port: phone6.port });
  });

  it('crosses from IPv6 to IPv4 by the entry address that can', async () => {
    phone6.received.length = 0;
    phone6.send(requestOf('MESSAGE', 'sip:1002@example.com', phone6.host), server.addresses[2]!);
    await until(() => phone6.received.length === 1);
    expect(site.from.at(-1)).toEqual({ address: '127.0.0.1', port: server.addresses[0]!.port });
    expect(phone6.from.at(-1)?.address).toBe('::1');
  });
});

describe('a port that is taken', () => {
  it('is the system’s error, and leaves nothing open', async () => {
    const first = await startEmbeddedServer({
      addresses: [{ address: '127.0.0.1', port: 0, transports: ['udp', 'tcp'] }],
      control: { port: 0, secret: SECRET },
    });
    const port = first.addresses[0]!.port;
    await expect(
      startEmbeddedServer({
        addresses: [{ address: '127.0.0.1', port, transports: ['udp', 'tcp'] }],
        control: { port: 0, secret: SECRET },
      }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await first.close();
  });
});
