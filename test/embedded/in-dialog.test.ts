import type { TokenFlow } from '../../plugin/embedded';
import { FakeClock } from './fake-clock';
import { openLab, type Lab } from './lab';
import { answerTo, pause, requestOf, TcpPeer, UdpPeer, until } from './sip-peer';

describe('a dialog on path', () => {
  let lab: Lab;
  let flow: TokenFlow | undefined;
  const routeKeys = ['first', 'second'];

  const open = async (keys: string[], user?: string): Promise<void> => {
    lab = await openLab(
      (srf) =>
        srf.invite((req) => {
          const headers = user === undefined ? {} : { 'X-Dsbc-Record-Route-User': user };
          void srf.proxyRequest(req, [lab.target(0)], { recordRoute: true, headers });
        }),
      {
        routeKeys: keys,
        verifyFlow: (text) => (text === 'token' ? flow : undefined),
        clock: new FakeClock(),
      },
    );
  };
  afterEach(() => lab.close());

  /** Sets a call up; gives the Route for requests inside it. */
  const call = async (callId: string): Promise<string> => {
    const site = lab.sites[0]!;
    site.onMessage = (message, from) => {
      if (message.kind === 'request' && message.method !== 'ACK')
        site.send(answerTo(message, 200, [`Contact: <sip:1002@${site.host}>`]), from);
    };
    lab.phone.send(requestOf('INVITE', 'sip:1002@example.com', lab.phone.host, { callId }), lab.us);
    await until(() => lab.phone.received.some(({ status }) => status === 200));
    return lab.phone.received.at(-1)?.get('record-route') ?? '';
  };

  const inside = (method: string, callId: string, route: string, uri?: string): string =>
    requestOf(method, uri ?? `sip:1002@${lab.sites[0]!.host}`, lab.phone.host, {
      callId,
      toTag: 'peer',
      cseq: 2,
      lines: [`Route: ${route}`],
    });

  it('is forwarded along our Route, both ways, the ACK too, and the application never sees it', async () => {
    await open(routeKeys);
    const site = lab.sites[0]!;
    const route = await call('dialog-1');
    expect(route).toMatch(/^<sip:127\.0\.0\.1:\d+;lr;dsbc=n[\w-]{16}>$/);
    lab.phone.send(inside('ACK', 'dialog-1', route), lab.us);
    lab.phone.send(inside('BYE', 'dialog-1', route), lab.us);
    await until(() =>
      lab.phone.received.some(({ cseq, status }) => cseq?.method === 'BYE' && status === 200),
    );
    expect(site.received.map(({ method }) => method)).toEqual(['INVITE', 'ACK', 'BYE']);
    expect(site.received[2]?.get('route')).toBeUndefined();
    expect(site.received[2]?.maxForwards).toBe(69);
    expect(site.received[2]?.vias).toHaveLength(2);
    // From the other side: tags the other way round.
    lab.phone.onMessage = (message, from) => {
      if (message.method === 'INFO') lab.phone.send(answerTo(message, 200), from);
    };
    site.onMessage = undefined;
    site.send(
      requestOf('INFO', `sip:1001@${lab.phone.host}`, site.host, {
        callId: 'dialog-1',
        fromTag: 'peer',
        toTag: 'caller',
        lines: [`Route: ${route}`],
      }),
      lab.us,
    );
    await until(() => site.received.some(({ status }) => status === 200));
  });

  it('is nobody’s relay: without the right seal nothing is forwarded', async () => {
    await open(routeKeys);
    const site = lab.sites[0]!;
    const route = await call('dialog-2');
    site.received.length = 0;
    lab.phone.received.length = 0;
    const plain = `<sip:127.0.0.1:${lab.us.port};lr>`;
    const forged = route.replace(/dsbc=n.{4}/, 'dsbc=nAAAA');
    lab.phone.send(inside('BYE', 'dialog-2', plain), lab.us);
    lab.phone.send(inside('BYE', 'dialog-2', forged), lab.us);
    lab.phone.send(inside('BYE', 'another-call', route), lab.us);
    lab.phone.send(inside('ACK', 'another-call', route), lab.us);
    await until(() => lab.phone.received.length === 3);
    await pause(50);
    expect(lab.phone.received.map(({ status }) => status)).toEqual([481, 481, 481]);
    expect(site.received).toHaveLength(0);
  });

  it('is not harmed by a Request-URI or Route without a host, or one that names us', async () => {
    await open(routeKeys);
    const route = await call('dialog-3');
    lab.phone.received.length = 0;
    lab.phone.send(inside('BYE', 'dialog-3', route, 'tel:+12025550123'), lab.us);
    lab.phone.send(inside('BYE', 'dialog-3', `${route}, <tel:+12025550123>`), lab.us);
    lab.phone.send(inside('BYE', 'dialog-3', route, `sip:127.0.0.1:${lab.us.port}`), lab.us);
    await until(() => lab.phone.received.length === 3);
    expect(lab.phone.received.map(({ status }) => status)).toEqual([481, 481, 481]);
  });

  it('goes on through another server with the same keys, after a rotation too', async () => {
    await open(['old']);
    const route = await call('dialog-4');
    const { port } = lab.us;
    await lab.close();
    const other = { address: '127.0.0.1', port, transports: ['udp', 'tcp'] as const };
    lab = await openLab(() => undefined, { addresses: [other], routeKeys: ['new', 'old'] });
    lab.sites[0]!.answerWith(200);
    lab.phone.send(inside('BYE', 'dialog-4', route), lab.us);
    await until(() => lab.phone.received.length === 1);
    expect(lab.phone.received[0]?.status).toBe(200);
  });

  it('takes off what an endpoint says of who it is, and leaves it where a site says it', async () => {
    await open(routeKeys, 'token');
    const site = lab.sites[0]!;
    flow = { entry: lab.us, transport: 'udp', address: '127.0.0.1', port: lab.phone.port };
    const route = await call('dialog-8');
    site.onMessage = undefined;
    const who = ['p-asserted-identity: <sip:boss@example.com>', 'Remote-Party-ID: <sip:boss@example.com>'];
    const update = (callId: string, uri: string, host: string, tags: object): string =>
      requestOf('UPDATE', uri, host, { callId, ...tags, lines: [`Route: ${route}`, ...who, 'X-A: 1'] });
    const names = (peer: UdpPeer): string[] =>
      peer.received
        .at(-1)
        ?.headers.map(({ key }) => key)
        .filter((key) => /identity|remote|x-a/.test(key)) ?? [];
    lab.phone.send(
      update('dialog-8', `sip:1002@${site.host}`, lab.phone.host, { toTag: 'peer', cseq: 2 }),
      lab.us,
    );
    await until(() => site.received.at(-1)?.method === 'UPDATE');
    expect(names(site)).toEqual(['x-a']);
    const tags = { fromTag: 'peer', toTag: 'caller' };
    site.send(update('dialog-8', 'sip:1001@192.0.2.33:5060', site.host, tags), lab.us);
    await until(() => lab.phone.received.at(-1)?.method === 'UPDATE');
    expect(names(lab.phone)).toEqual(['p-asserted-identity', 'remote-party-id', 'x-a']);
  });

  it('follows the flow of its token to the device, and the Route away from it', async () => {
    await open(routeKeys, 'token');
    const site = lab.sites[0]!;
    flow = { entry: lab.us, transport: 'udp', address: '127.0.0.1', port: lab.phone.port };
    const route = await call('dialog-5');
    expect(route).toMatch(/^<sip:token@127/);
    lab.phone.answerWith(200);
    site.onMessage = undefined;
    // The site's BYE: the Contact is a private address, the flow is where the phone is.
    site.send(
      requestOf('BYE', 'sip:1001@192.0.2.33:5060', site.host, {
        callId: 'dialog-5',
        fromTag: 'peer',
        toTag: 'caller',
        lines: [`Route: ${route}`],
      }),
      lab.us,
    );
    await until(() => site.received.some(({ status }) => status === 200));
    expect(lab.phone.received.at(-1)).toMatchObject({ method: 'BYE', uri: 'sip:1001@192.0.2.33:5060' });
    // The phone's own goes to the Request-URI.
    site.answerWith(200);
    lab.phone.onMessage = undefined;
    lab.phone.send(inside('INFO', 'dialog-5', route), lab.us);
    await until(() => site.received.some(({ method }) => method === 'INFO'));
  });

  /** A call over TCP; gives the Route for requests of the site inside it. */
  const streamCall = async (peer: TcpPeer, callId: string): Promise<string> => {
    const site = lab.sites[0]!;
    site.answerWith(200, [`Contact: <sip:1002@${site.host}>`]);
    peer.send(requestOf('INVITE', 'sip:1002@example.com', '192.0.2.33:5060', { callId, transport: 'TCP' }));
    await until(() => peer.data.includes('SIP/2.0 200'));
    return site.received[0]!.list('record-route').join(', ');
  };

  it('gives each side a Route by its own transport', async () => {
    await open(routeKeys, 'token');
    const peer = await TcpPeer.open(lab.us);
    flow = { entry: lab.us, transport: 'tcp', address: '127.0.0.1', port: peer.socket.localPort! };
    // The site's requests meet the first Route first, the caller's the last (RFC 3261 §12.1).
    const [toSite, toCaller, ...more] = (await streamCall(peer, 'dialog-8')).split(', ');
    expect(toSite).toMatch(/^<sip:token@127\.0\.0\.1:\d+;lr;dsbc=r/);
    expect(toCaller).toMatch(/^<sip:token@127\.0\.0\.1:\d+;transport=tcp;lr;dsbc=r/);
    expect(more).toEqual([]);
    const site = lab.sites[0]!;
    const bye = requestOf('BYE', `sip:1002@${site.host}`, '192.0.2.33:5060', {
      callId: 'dialog-8',
      toTag: 'peer',
      transport: 'TCP',
      lines: [`Route: ${toCaller!}, ${toSite!}`],
    });
    peer.send(bye);
    await until(() => site.received.some(({ method }) => method === 'BYE'));
    expect(site.received.at(-1)?.get('route')).toBeUndefined();
    peer.close();
  });

  it('goes away from the phone although its NAT has given it another port', async () => {
    await open(routeKeys, 'token');
    flow = { entry: lab.us, transport: 'udp', address: '127.0.0.1', port: lab.phone.port };
    const route = await call('dialog-9');
    const moved = await UdpPeer.open();
    const site = lab.sites[0]!;
    site.answerWith(200);
    moved.send(inside('BYE', 'dialog-9', route), lab.us);
    await until(() => moved.received.some(({ status }) => status === 200));
    expect(site.received.at(-1)?.method).toBe('BYE');
    await moved.close();
  });

  it('answers 403 to a token that is not ours, 430 when its stream is gone', async () => {
    await open(routeKeys, 'token');
    const site = lab.sites[0]!;
    const peer = await TcpPeer.open(lab.us);
    flow = { entry: lab.us, transport: 'tcp', address: '127.0.0.1', port: peer.socket.localPort! };
    const route = await streamCall(peer, 'dialog-6');
    site.onMessage = undefined;
    site.received.length = 0;
    const bye = (with_: string): string =>
      requestOf('BYE', 'sip:1001@192.0.2.33', site.host, {
        callId: 'dialog-6',
        fromTag: 'peer',
        toTag: 'caller',
        lines: [`Route: ${with_}`],
      });
    site.send(bye(route), lab.us);
    await until(() => peer.data.includes('BYE sip:1001@192.0.2.33'));
    peer.close();
    await until(() => lab.server.counts().connections === 0);
    site.send(bye(route), lab.us);
    site.send(bye(route.replaceAll('token', 'forged')), lab.us);
    await until(() => site.received.length === 2);
    expect(site.received.map(({ status }) => status).sort()).toEqual([403, 430]);
  });

  it('brings an answer back to a caller on a stream, without keeping state', async () => {
    await open(routeKeys);
    const site = lab.sites[0]!;
    const route = await call('dialog-7');
    site.answerWith(200);
    const peer = await TcpPeer.open(lab.us);
    peer.send(
      requestOf('BYE', `sip:1002@${site.host}`, '192.0.2.33:5060', {
        callId: 'dialog-7',
        toTag: 'peer',
        transport: 'TCP',
        lines: [`Route: ${route}`],
      }).replace(';rport', ''),
    );
    await until(() => peer.data.includes('SIP/2.0 200'));
    peer.close();
  });
});

describe('an answer that belongs to no transaction', () => {
  const answerOf = (lines: string[]): string =>
    ['SIP/2.0 200 OK', ...lines, 'Content-Length: 0', '\r\n'].join('\r\n');

  /** A server at work, the INVITE as its site saw it, and then another server in its place. */
  const takeOver = async (keys: string[], keysOfOther: string[]) => {
    const first: Lab = await openLab(
      (srf) => srf.invite((req) => void srf.proxyRequest(req, [first.target(0)]).catch(() => undefined)),
      { routeKeys: keys },
    );
    const { us, phone, sites } = first;
    const site = sites[0]!;
    phone.send(requestOf('INVITE', 'sip:1002@example.com', phone.host), us);
    await until(() => site.received.length > 0);
    first.srf.disconnect();
    await first.server.close();
    const second = await openLab(() => undefined, {
      addresses: [{ address: us.address, port: us.port, transports: ['udp', 'tcp'] }],
      routeKeys: keysOfOther,
    });
    const close = async (): Promise<void> => {
      await second.close();
      await Promise.all([phone.close(), site.close()]);
    };
    phone.received.length = 0;
    return { us, phone, site, invite: site.received[0]!, close };
  };

  it('reaches the caller through a server that took over, by the second Via', async () => {
    const { us, phone, site, invite, close } = await takeOver(['shared'], ['new', 'shared']);
    site.send(answerTo(invite, 180), us);
    site.send(answerTo(invite, 200), us);
    await until(() => phone.received.length === 2);
    expect(phone.received.map(({ status, vias }) => [status, vias.length])).toEqual([
      [180, 1],
      [200, 1],
    ]);
    await close();
  });

  it('goes nowhere unless its first Via is one that we gave to that very request', async () => {
    const { us, phone, site, invite, close } = await takeOver(['shared'], ['shared']);
    const [top, next] = invite.vias.map(({ text }) => text) as [string, string];
    const rest = ['from', 'to', 'call-id', 'cseq'].map((key) => `${key}: ${invite.get(key) ?? ''}`);
    const victim = `SIP/2.0/UDP 127.0.0.1:${phone.port};branch=z9hG4bKother`;
    const forged = [
      [`Via: ${top}`, `Via: ${victim}`],
      [`Via: SIP/2.0/UDP ${us.address}:${us.port};branch=z9hG4bKmadeup`, `Via: ${next}`],
      [`Via: SIP/2.0/UDP 192.0.2.99;branch=z9hG4bKmadeup`, `Via: ${next}`],
      [`Via: ${top}`],
      [`Via: ${top}`, 'Via: SIP/2.0/UDP 255.255.255.255;branch=z9hG4bKb'],
    ];
    for (const vias of forged) site.send(answerOf([...vias, ...rest]), us);
    site.send(answerOf([`Via: ${top}`, `Via: ${next}`, ...rest.slice(0, 2), 'Call-ID: other', rest[3]!]), us);
    await pause(60);
    expect(phone.received).toHaveLength(0);
    site.send(answerOf([`Via: ${top}`, `Via: ${next}`, ...rest]), us);
    await until(() => phone.received.length === 1);
    await close();
  });
});
