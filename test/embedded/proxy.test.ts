import { createServer, type AddressInfo } from 'node:net';
import { parseMessage } from '../../plugin/message/parse';
import { answerTo, pause, requestOf, until } from './sip-peer';
import { FakeClock } from './fake-clock';
import { openLab, type Lab } from './lab';
import type { AppRequest, ProxyResult } from './srf-app';

const statuses = (lab: Lab): number[] => lab.phone.received.map(({ status }) => status);

describe('a proxied request', () => {
  let lab: Lab;
  let results: ProxyResult[];
  let targets: () => string[];
  let options: object;
  let requests: AppRequest[];

  const open = async (clock?: FakeClock, sites = 2): Promise<void> => {
    results = [];
    requests = [];
    options = {};
    const proxy = (req: AppRequest): void => {
      requests.push(req);
      void lab.srf.proxyRequest(req, targets(), options).then((result) => results.push(result));
    };
    lab = await openLab(
      (srf) => {
        srf.invite(proxy);
        srf.message(proxy);
        srf.register(proxy);
      },
      { sites, ...(clock && { clock }) },
    );
    targets = () => lab.sites.map((_, site) => lab.target(site));
  };

  afterEach(() => lab.close());

  it('is another one with another Call-ID or CSeq number, though its device used the branch before', async () => {
    await open();
    const site = lab.sites[0]!;
    site.answerWith(401);
    const register = (callId: string, cseq: number): void =>
      lab.phone.send(
        requestOf('REGISTER', 'sip:example.com', lab.phone.host, { branch: 'z9hG4bK1', callId, cseq }),
        lab.us,
      );
    for (const [callId, cseq, answers] of [
      ['a', 1, 1],
      ['a', 2, 2],
      ['b', 1, 3],
      ['b', 1, 4],
    ] as const) {
      register(callId, cseq);
      await until(() => statuses(lab).length === answers);
    }
    // The last one was a retransmission.
    expect(site.received.map(({ callId, cseq }) => [callId, cseq?.number])).toEqual([
      ['a', 1],
      ['a', 2],
      ['b', 1],
    ]);
  });

  const call = (lines: string[] = []): string =>
    requestOf('INVITE', 'sip:1002@example.com', lab.phone.host, { lines });

  it('keeps its Request-URI, headers and body, gets our Via, and one hop less', async () => {
    await open(undefined, 1);
    lab.sites[0]!.answerWith(200);
    const body = Buffer.from([0, 255, 254, 128, 0xf0, 0x9f, 0x98, 0x80]).toString('latin1');
    lab.phone.send(
      requestOf('MESSAGE', 'sip:1002@example.com', lab.phone.host, {
        lines: ['Content-Type: application/octet-stream', 'X.Odd~Name: Value  two', 'Subject:', 's: again'],
        body,
      }),
      lab.us,
    );
    await until(() => results.length > 0);
    const [seen] = lab.sites[0]!.received;
    expect(seen?.uri).toBe('sip:1002@example.com');
    expect(seen?.body).toBe(body);
    expect(seen?.maxForwards).toBe(69);
    expect(seen?.raw).toContain('\r\nX.Odd~Name: Value  two\r\nSubject: \r\ns: again\r\n');
    expect(seen?.vias.map(({ port }) => port)).toEqual([lab.us.port, lab.phone.port]);
    expect(seen?.vias[1]).toMatchObject({ received: '127.0.0.1', rport: lab.phone.port });
    expect(statuses(lab)).toEqual([200]);
    expect(lab.phone.received[0]?.vias).toHaveLength(1);
    // H24: the 2xx to a MESSAGE is not acknowledged.
    await pause(50);
    expect(lab.sites[0]!.received).toHaveLength(1);
  });

  it('moves on after a refusal, and the caller hears the best answer', async () => {
    await open();
    lab.sites[0]!.answerWith(503);
    lab.sites[1]!.answerWith(486);
    lab.phone.send(call(), lab.us);
    await until(() => results.length > 0);
    expect(statuses(lab)).toEqual([100, 486]);
    expect(results[0]).toMatchObject({ connected: false, finalStatus: 486 });
    const told = results[0]?.responses.flatMap(({ msgs }) => msgs.map(({ status }) => status));
    expect(told).toEqual([503, 486]);
    await until(() => lab.sites.every(({ received }) => received.at(-1)?.method === 'ACK'));
    expect(lab.sites[0]?.received[1]?.via?.branch).toBe(lab.sites[0]?.received[0]?.via?.branch);
  });

  it('stops at a challenge, and passes it with all its lines', async () => {
    await open();
    lab.sites[0]!.answerWith(401, [
      'WWW-Authenticate: Digest realm="a"',
      'WWW-Authenticate: Digest realm="b"',
    ]);
    lab.phone.send(call(), lab.us);
    await until(() => results.length > 0);
    expect(statuses(lab)).toEqual([100, 401]);
    expect(lab.phone.received[1]?.getAll('www-authenticate')).toHaveLength(2);
    expect(lab.sites[1]?.received).toHaveLength(0);
  });

  it('fails over only on the statuses ordered', async () => {
    await open();
    options = { headers: { 'X-Dsbc-Failover': '408,503' } };
    lab.sites[0]!.answerWith(486);
    lab.phone.send(call(), lab.us);
    await until(() => results.length > 0);
    expect(statuses(lab)).toEqual([100, 486]);
    expect(lab.sites[1]?.received).toHaveLength(0);
    expect(lab.sites[0]?.received[0]?.raw).not.toContain('X-Dsbc');
    lab.sites[0]!.answerWith(503);
    lab.sites[1]!.answerWith(200);
    lab.phone.send(call(), lab.us);
    await until(() => results.length > 1);
    expect(results[1]?.finalStatus).toBe(200);
  });

  it('goes on from a target that says 100 and closes its connection, at once and as from one that is not there', async () => {
    await open(new FakeClock());
    const closing = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (bytes: Buffer) => {
        const { message } = parseMessage(bytes);
        socket.write(answerTo(message!, 100));
        setTimeout(() => socket.resetAndDestroy(), 20);
      });
    });
    await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve));
    const first = `sip:site@127.0.0.1:${(closing.address() as AddressInfo).port};transport=tcp`;
    targets = () => [first, lab.target(1)];
    options = { headers: { 'X-Dsbc-Failover': '408,503' } };
    lab.sites[1]!.answerWith(200);
    lab.phone.send(call(), lab.us);
    // The clock stands still: no timer has done it.
    await until(() => results.length > 0);
    expect(statuses(lab)).toEqual([100, 200]);
    await new Promise((resolve) => closing.close(resolve));
  });

  it('gives a silent target up after the provisional time-out, cancels it, and says so when ordered', async () => {
    const clock = new FakeClock();
    await open(clock);
    options = { provisionalTimeout: '2s', headers: { 'X-Dsbc-Failover': '408,503' } };
    lab.sites[1]!.answerWith(200);
    lab.phone.send(call(), lab.us);
    await until(() => lab.sites[0]!.received.length > 0);
    clock.advance(2_000);
    await until(() => results.length > 0);
    expect(statuses(lab)).toEqual([100, 200]);
    const [first] = results[0]!.responses;
    expect(first).toMatchObject({ address: '', port: 0 });
    expect(first?.msgs[0]?.msg.get('X-Dsbc-Target')).toBe(lab.target(0));
    // It wakes up too late: no ringing from there, and a CANCEL towards it.
    lab.sites[0]!.send(answerTo(lab.sites[0]!.received[0]!, 180), lab.us);
    await until(() => lab.sites[0]!.received.some(({ method }) => method === 'CANCEL'));
    expect(statuses(lab)).toEqual([100, 200]);
  });

  it('has a final time-out for every method, and settles', async () => {
    const clock = new FakeClock();
    await open(clock);
    options = { finalTimeout: '3s' };
    lab.sites[1]!.answerWith(202);
    lab.phone.send(requestOf('MESSAGE', 'sip:1002@example.com', lab.phone.host), lab.us);
    await until(() => lab.sites[0]!.received.length > 0);
    clock.advance(3_000);
    await until(() => results.length > 0);
    expect(statuses(lab)).toEqual([202]);
  });

  it('settles when nobody answers: 408 for INVITE, silence for others (RFC 4320)', async () => {
    const clock = new FakeClock();
    await open(clock, 1);
    lab.phone.send(call(), lab.us);
    lab.phone.send(requestOf('MESSAGE', 'sip:1002@example.com', lab.phone.host), lab.us);
    await until(() => lab.sites[0]!.received.length > 1);
    clock.advance(33_000);
    await until(() => results.length > 1);
    await until(() => statuses(lab).includes(408));
    expect(statuses(lab).filter((status) => status >= 200 && status !== 408)).toEqual([]);
    clock.advance(120_000);
    expect(lab.server.counts()).toMatchObject({ servers: 0, clients: 0, pending: 0 });
  });

  it('sends again over UDP until answered, and answers a copy of the request by itself', async () => {
    const clock = new FakeClock();
    await open(clock, 1);
    const request = call();
    lab.phone.send(request, lab.us);
    await until(() => lab.sites[0]!.received.length > 0);
    clock.advance(500);
    clock.advance(1_000);
    await until(() => lab.sites[0]!.received.length === 3);
    lab.sites[0]!.send(answerTo(lab.sites[0]!.received[0]!, 180), lab.us);
    await until(() => statuses(lab).includes(180));
    lab.phone.send(request, lab.us);
    await until(() => statuses(lab).filter((status) => status === 180).length === 2);
    clock.advance(8_000);
    await pause(30);
    expect(lab.sites[0]!.received).toHaveLength(3);
    expect(requests).toHaveLength(1);
  });

  it('forks to all at once, and the first 2xx cancels the others', async () => {
    await open();
    options = { forking: 'simultaneous' };
    const [a, b] = lab.sites as [(typeof lab.sites)[0], (typeof lab.sites)[0]];
    a.onMessage = (message, from) => {
      if (message.method === 'INVITE') a.send(answerTo(message, 180), from);
      if (message.method === 'CANCEL') a.send(answerTo(message, 200), from);
    };
    b.onMessage = (message, from) => {
      if (message.method === 'INVITE') setTimeout(() => b.send(answerTo(message, 200), from), 100);
    };
    lab.phone.send(call(), lab.us);
    await until(() => results.length > 0 && a.received.some(({ method }) => method === 'CANCEL'));
    expect(statuses(lab)).toEqual([100, 180, 200]);
  });

  it('stops everything at a 6xx', async () => {
    await open();
    lab.sites[0]!.answerWith(603);
    lab.phone.send(call(), lab.us);
    await until(() => results.length > 0);
    expect(statuses(lab)).toEqual([100, 603]);
    expect(lab.sites[1]?.received).toHaveLength(0);
  });

  it('replaces or appends the headers of the application by their kind, and drops what is the server’s', async () => {
    await open(undefined, 1);
    options = {
      headers: {
        'User-Agent': 'ours',
        Contact: '<sip:second@example.com>',
        Path: '<sip:path@example.com;lr>',
        'X-More': 'yes',
        Via: 'SIP/2.0/UDP evil',
        Route: '<sip:evil.example.com;lr>',
        'X-Dsbc-Remove': 'P-Asserted-Identity, Subject',
      },
    };
    lab.sites[0]!.answerWith(200);
    lab.phone.send(
      call([
        'User-Agent: theirs',
        'Contact: <sip:first@example.com>',
        'P-Asserted-Identity: <sip:x@y>',
        's: z',
      ]),
      lab.us,
    );
    await until(() => results.length > 0);
    const [seen] = lab.sites[0]!.received;
    expect(seen?.getAll('user-agent')).toEqual(['ours']);
    expect(seen?.getAll('contact')).toEqual(['<sip:first@example.com>', '<sip:second@example.com>']);
    expect(seen?.getAll('path')).toEqual(['<sip:path@example.com;lr>']);
    expect(seen?.get('x-more')).toBe('yes');
    expect(seen?.get('route')).toBeUndefined();
    expect(seen?.get('p-asserted-identity')).toBeUndefined();
    expect(seen?.get('subject')).toBeUndefined();
    expect(seen?.vias).toHaveLength(2);
  });

  it('takes off preloaded Routes that name us, for every entry address (H18)', async () => {
    await open(undefined, 1);
    lab.sites[0]!.answerWith(200);
    const us = `${lab.us.address}:${lab.us.port}`;
    lab.phone.send(call([`Route: <sip:${us};lr>, <sip:${us};transport=tcp;lr>`]), lab.us);
    await until(() => results.length > 0);
    expect(lab.sites[0]!.received[0]?.get('route')).toBeUndefined();
  });

  it('adds a Path without user to a REGISTER that stays on path, and no Require', async () => {
    await open(undefined, 1);
    options = { recordRoute: true };
    lab.sites[0]!.answerWith(200);
    lab.phone.send(requestOf('REGISTER', 'sip:example.com', lab.phone.host), lab.us);
    await until(() => results.length > 0);
    expect(lab.sites[0]!.received[0]?.getAll('path')).toEqual([`<sip:${lab.us.address}:${lab.us.port};lr>`]);
    expect(lab.sites[0]!.received[0]?.get('require')).toBeUndefined();
  });

  it('answers 503 when there is no way to any target', async () => {
    await open(undefined, 1);
    targets = () => ['sip:1002@[::1]:5060'];
    lab.phone.send(call(), lab.us);
    await until(() => results.length > 0);
    expect(statuses(lab)).toEqual([100, 503]);
  });

  it('passes late and repeated 2xx of an INVITE', async () => {
    await open();
    options = { provisionalTimeout: '200ms' };
    lab.sites[1]!.answerWith(200, ['X-From: second']);
    lab.phone.send(call(), lab.us);
    await until(() => results.length > 0);
    lab.sites[0]!.send(answerTo(lab.sites[0]!.received[0]!, 200, ['X-From: first']), lab.us);
    lab.sites[1]!.send(answerTo(lab.sites[1]!.received[0]!, 200, ['X-From: second']), lab.us);
    await until(() => lab.phone.received.length === 4);
    expect(lab.phone.received.slice(1).map((answer) => answer.get('x-from'))).toEqual([
      'second',
      'first',
      'second',
    ]);
  });

  it('follows redirects when asked to', async () => {
    await open();
    options = { followRedirects: true };
    targets = () => [lab.target(0)];
    lab.sites[0]!.answerWith(302, [`Contact: <${lab.target(1)}>`]);
    lab.sites[1]!.answerWith(200);
    lab.phone.send(call(), lab.us);
    await until(() => results.length > 0);
    expect(statuses(lab)).toEqual([100, 200]);
  });
});
