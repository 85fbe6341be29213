import type { InboundRequest } from '../../plugin/link/sip-link';
import { answerText, requestText } from '../fixtures/messages';
import { IDLE, Scripted } from './scripted';

describe('a request of the network', () => {
  let lab: Scripted;
  beforeEach(async () => {
    lab = await Scripted.start();
    await lab.open();
  });
  afterEach(() => lab.stop());

  it('is handed over from its bytes, with its source and the local address', async () => {
    const got = lab.inbound();
    const body = '\x00\xff\xfe\x80';
    const lines = ['%50-Asserted-Identity: x', 'constructor: y'];
    lab.server.request(requestText({ method: 'MESSAGE', lines, body }), {
      protocol: 'tcp',
      address: '192.0.2.7',
      port: 4711,
    });
    const request = await got;
    expect(request.source).toEqual({ transport: 'tcp', address: '192.0.2.7', port: 4711 });
    expect(request.receivedOn).toEqual({ address: '127.0.0.1', port: 5060 });
    expect(request.message.body).toBe(body);
    expect(request.message.get('p-asserted-identity')).toBeUndefined();
    expect(request.message.get('constructor')).toBe('y');
  });

  it('came over WebSocket if its port says so, though drachtio-server calls that tcp', async () => {
    await lab.stop();
    lab = await Scripted.start();
    lab.server.greeting = ['ws/127.0.0.1:5060,tcp/127.0.0.1:5070,udp/127.0.0.1:5060', 'v0.9.10', ''];
    await lab.open();
    for (const [protocol, transport] of [
      ['tcp', 'ws'],
      ['udp', 'udp'],
    ] as const) {
      const got = lab.inbound();
      lab.server.request(requestText(), { protocol, address: '192.0.2.7', port: 4711 });
      expect((await got).source).toEqual({ transport, address: '192.0.2.7', port: 4711 });
    }
  });

  it('is answered with lines of their own for a header that occurs twice', async () => {
    const got = lab.inbound();
    const transactionId = lab.server.request(requestText());
    const request = await got;
    const done = lab.link.respond(request, {
      status: 401,
      headers: [
        ['WWW-Authenticate', 'Digest realm="a", nonce="1"'],
        ['WWW-Authenticate', 'Digest realm="b", nonce="2"'],
      ],
    });
    const command = await lab.server.nextSip();
    expect(command.tokens[0]).toBe(transactionId);
    expect(command.message).toContain(
      'SIP/2.0 401 Unauthorized\r\nWWW-Authenticate: Digest realm="a", nonce="1"\r\n' +
        'WWW-Authenticate: Digest realm="b", nonce="2"\r\n',
    );
    lab.server.accepted(command);
    await done;
    expect(request.settled).toBe(true);
    expect(await lab.load()).toEqual(IDLE);
  });

  it.each([607, 555, 608, 699])('can be answered %i, which the library has no phrase for', async (status) => {
    const got = lab.inbound();
    lab.server.request(requestText());
    const done = lab.link.respond(await got, { status });
    const command = await lab.server.nextSip();
    expect(command.message).toMatch(new RegExp(`^SIP/2\\.0 ${status} \\S`));
    lab.server.accepted(command);
    await done;
  });

  it('cannot be answered twice, nor when its connection is gone', async () => {
    let got = lab.inbound();
    lab.server.request(requestText());
    let request = await got;
    const done = lab.link.respond(request, { status: 200 });
    lab.server.accepted(await lab.server.nextSip());
    await done;
    await expect(lab.link.respond(request, { status: 200 })).rejects.toMatchObject({
      code: 'DSBC_LINK_REFUSED',
    });
    got = lab.inbound();
    lab.server.request(requestText());
    request = await got;
    const lost = lab.link.respond(request, { status: 200 });
    await lab.server.nextSip();
    lab.server.dropConnections();
    await expect(lost).rejects.toMatchObject({ code: 'DSBC_LINK_LOST' });
  });

  it('is answered 500 when the handler throws or rejects', async () => {
    lab.link.onRequest(() => {
      throw new Error('on purpose');
    });
    lab.server.request(requestText({ branch: 'z9hG4bK1' }));
    expect((await lab.server.nextSip()).message).toMatch(/^SIP\/2\.0 500 /);
    lab.link.onRequest(() => Promise.reject(new Error('on purpose')));
    lab.server.request(requestText({ branch: 'z9hG4bK2' }));
    expect((await lab.server.nextSip()).message).toMatch(/^SIP\/2\.0 500 /);
    expect(lab.link.state).toBe('connected');
  });

  it('that is an INVITE with a hostless Contact is never answered: that would end drachtio-server', async () => {
    lab.link.onRequest(() => {
      throw new Error('on purpose');
    });
    lab.server.request(requestText({ method: 'INVITE', contact: '*' }));
    lab.server.request(requestText({ method: 'SUBSCRIBE', contact: '<tel:+12025550123>' }));
    lab.server.request(requestText({ method: 'OPTIONS', branch: 'z9hG4bK2' }), {}, 'options');
    const command = await lab.server.nextSip();
    expect(command.tokens[0]).toBe('options');
    expect(lab.server.commands.filter((one) => one.verb === 'sip')).toEqual([]);
    lab.server.accepted(command);
    expect(await lab.load()).toEqual(IDLE);
  });

  it('H03: with a line that has no colon is answered 400', async () => {
    lab.link.onRequest(() => undefined);
    lab.server.request(requestText({ lines: ['Digest username="90"'] }));
    expect((await lab.server.nextSip()).message).toMatch(/^SIP\/2\.0 400 /);
  });

  it('is forgotten when it is dropped, and the server told where that is a capability', async () => {
    let got = lab.inbound();
    lab.server.request(requestText());
    lab.link.drop(await got);
    expect(await lab.load()).toEqual(IDLE);
    await lab.link.close();
    lab.server.greeting.push('dsbc-embedded;caps=drop');
    await lab.open();
    got = lab.inbound();
    const id = lab.server.request(requestText());
    lab.link.drop(await got);
    const command = await lab.server.nextSip();
    expect(command.tokens[0]).toBe(id);
    expect(command.message).toContain('X-Dsbc-Drop: yes\r\n');
  });

  describe('proxied', () => {
    const options = {
      targets: [{ uri: 'sip:1002@127.0.0.9:5060' }, { uri: 'sip:1002@127.0.0.1:5060' }],
      recordRoute: false,
      provisionalTimeoutMs: 2000,
      headers: [['X-A', '1']] as const,
      deadlineMs: 500,
    };
    const invite = async (branch = 'z9hG4bK1', id?: string): Promise<InboundRequest> => {
      const got = lab.inbound();
      lab.server.request(requestText({ method: 'INVITE', branch }), {}, id);
      return got;
    };

    it('is written as the library does, and each answer is reported as it comes', async () => {
      const statuses: number[] = [];
      const outcome = lab.link.proxy(await invite(), {
        ...options,
        onAnswer: ({ status }) => statuses.push(status),
      });
      const command = await lab.server.nextProxy();
      expect(command.tokens.slice(1)).toEqual([
        ...['', 'fullResponse', '', 'serial', '2000ms', ''],
        ...['sip:1002@127.0.0.9:5060', 'sip:1002@127.0.0.1:5060'],
      ]);
      expect(command.message).toBe('INVITE sip:1002@127.0.0.9:5060 SIP/2.0\r\nX-A: 1\r\n\r\n');
      lab.server.proxyAnswer(command, answerText(requestText({ method: 'INVITE' }), 503));
      lab.server.proxyAnswer(command, answerText(requestText({ method: 'INVITE' }), 200));
      lab.server.reply(command, 'OK|done');
      expect(await outcome).toMatchObject({ kind: 'done', finalStatus: 200 });
      expect(statuses).toEqual([503, 200]);
      expect(await lab.load()).toEqual(IDLE);
    });

    it('settles when the server refuses, never says it is done, or is lost', async () => {
      let outcome = lab.link.proxy(await invite('z9hG4bK1'), options);
      lab.server.reply(await lab.server.nextProxy(), 'NOK|Unknown transaction id');
      expect(await outcome).toEqual({ kind: 'refused', reason: 'Unknown transaction id' });
      outcome = lab.link.proxy(await invite('z9hG4bK2'), { ...options, deadlineMs: 50 });
      await lab.server.nextProxy();
      expect(await outcome).toMatchObject({ kind: 'deadline' });
      outcome = lab.link.proxy(await invite('z9hG4bK3'), options);
      await lab.server.nextProxy();
      lab.server.dropConnections();
      expect(await outcome).toEqual({ kind: 'link_lost' });
      expect(lab.link.load).toEqual(IDLE);
    });

    it('survives an answer of the target with a line that has no colon', async () => {
      const outcome = lab.link.proxy(await invite(), options);
      const command = await lab.server.nextProxy();
      lab.server.proxyAnswer(command, answerText(requestText({ method: 'INVITE' }), 486, ['no colon']));
      lab.server.reply(command, 'OK|done');
      expect(await outcome).toMatchObject({ kind: 'done', finalStatus: 486 });
      expect(lab.link.state).toBe('connected');
    });

    it('is cancelled by the server’s transaction, also when two INVITEs share a Call-ID', async () => {
      const first = await invite('z9hG4bKa', 'first');
      const second = await invite('z9hG4bKb', 'second');
      const told = new Promise<void>((resolve) => first.onCancel(resolve));
      lab.server.request(requestText({ method: 'CANCEL', branch: 'z9hG4bKa' }), {}, 'first');
      await told;
      expect([first.cancelled, second.cancelled]).toEqual([true, false]);
      expect(await lab.link.proxy(first, options)).toEqual({ kind: 'cancelled' });
      expect((await lab.load()).inboundRequests).toBe(1);
    });

    it('is told of a CANCEL behind the command, and ends as cancelled at its deadline', async () => {
      const request = await invite('z9hG4bK1', 'txn');
      const told = new Promise<void>((resolve) => request.onCancel(resolve));
      const outcome = lab.link.proxy(request, { ...options, deadlineMs: 100 });
      await lab.server.nextProxy();
      lab.server.request(requestText({ method: 'CANCEL' }), {}, 'txn');
      await told;
      expect(await outcome).toEqual({ kind: 'cancelled' });
      expect(await lab.load()).toEqual(IDLE);
    });
  });
});
