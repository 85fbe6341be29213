import { startEmbeddedServer, type EmbeddedServer } from '../../plugin/embedded';
import { connectSrf, type AppMessage, type ProxyResult, type SrfApp } from './srf-app';
import { pause, requestOf, UdpPeer, until } from './sip-peer';

describe('an unmodified drachtio-srf application on the embedded server', () => {
  let server: EmbeddedServer;
  let srf: SrfApp;
  let phone: UdpPeer;
  let site: UdpPeer;
  let us: { address: string; port: number };

  beforeEach(async () => {
    server = await startEmbeddedServer({
      addresses: [{ address: '127.0.0.1', port: 0, transports: ['udp', 'tcp'] }],
      control: { port: 0, secret: 'topsecret' },
    });
    us = server.addresses[0]!;
    srf = await connectSrf(server.controlPort, 'topsecret');
    phone = await UdpPeer.open();
    site = await UdpPeer.open();
  });

  afterEach(async () => {
    srf.disconnect();
    await Promise.all([phone.close(), site.close(), server.close()]);
  });

  it('answers a request', async () => {
    srf.options((_req, res) => {
      res.send(200, { headers: { 'X-Answer': 'yes' } });
    });
    await pause(50);
    phone.send(requestOf('OPTIONS', 'sip:example.com', phone.host), us);
    await until(() => phone.received.length > 0);
    expect(phone.received[0]?.status).toBe(200);
    expect(phone.received[0]?.get('x-answer')).toBe('yes');
  });

  it('proxies a call', async () => {
    const results: ProxyResult[] = [];
    srf.invite((req) => {
      void srf.proxyRequest(req, [`sip:1002@${site.host}`], {}).then((result) => results.push(result));
    });
    await pause(50);
    site.answerWith(200, ['Contact: <sip:1002@127.0.0.1>']);
    phone.send(requestOf('INVITE', `sip:1002@${us.address}:${us.port}`, phone.host), us);
    await until(() => phone.received.length > 1 && results.length > 0);
    expect(phone.received.map(({ status }) => status)).toEqual([100, 200]);
    expect(site.received[0]?.uri).toBe(`sip:1002@${site.host}`);
    expect(site.received[0]?.vias).toHaveLength(2);
    expect(results[0]).toMatchObject({ connected: true, finalStatus: 200 });
  });

  it('forwards by an own transaction', async () => {
    srf.register((req, res) => {
      srf.request(
        'sip:example.com',
        {
          method: 'REGISTER',
          proxy: `sip:${site.host}`,
          headers: {
            m: '*',
            Expires: '0',
            'Call-ID': req.get('Call-ID'),
            From: req.get('From'),
            To: req.get('To'),
            CSeq: req.get('CSeq'),
          },
        },
        (_error, sent) => {
          sent.on('response', (answer: AppMessage) => {
            res.send(answer.status);
          });
        },
      );
    });
    await pause(50);
    site.answerWith(200);
    phone.send(
      requestOf('REGISTER', 'sip:example.com', phone.host, { lines: ['Contact: *', 'Expires: 0'] }),
      us,
    );
    await until(() => phone.received.length > 0);
    expect(phone.received[0]?.status).toBe(200);
    expect(site.received[0]?.raw).toContain('\r\nm: *\r\n');
  });
});
