import DrachtioSrf from 'drachtio-srf';
import { untilConnected, wrapSrf, type SharedLink } from '../../plugin/link/create-link';
import type { InboundRequest } from '../../plugin/link/sip-link';
import { ControlServer } from '../fixtures/control-server';
import { answerText, requestText } from '../fixtures/messages';
import { FAST } from './scripted';

/** The parts of an Srf the tests use. */
interface TestSrf {
  connect(options: object): void;
  use(...handlers: unknown[]): void;
  options(handler: (req: TestRequest, res: TestResponse) => void): void;
  invite(handler: (req: TestRequest, res: TestResponse) => void): void;
  register(handler: (req: TestRequest, res: TestResponse, next: () => void) => void): void;
  request(uri: string, options: object, callback: (error: unknown, req: TestRequest) => void): void;
  disconnect(): void;
  on(event: string, listener: (...args: unknown[]) => void): void;
  publish(handler: unknown): void;
  app: {
    client?: { mapServer: Map<unknown, { pendingNetworkInvites: Map<string, unknown> }> };
  };
}
interface TestRequest {
  body: string;
  get(name: string): string;
  on(event: string, listener: (...args: unknown[]) => void): void;
}
interface TestResponse {
  send(status: number, options?: object): void;
  finalResponseSent: boolean;
}

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

describe('an application that shares its connection', () => {
  let server: ControlServer;
  let srf: TestSrf;
  let shared: SharedLink;
  beforeEach(async () => {
    server = await ControlServer.listen();
    srf = new DrachtioSrf() as unknown as TestSrf;
  });
  afterEach(async () => {
    await shared.link.close();
    if ((srf.app.client?.mapServer.size ?? 0) > 0) srf.disconnect();
    await server.close();
  });

  const connect = (): void => srf.connect({ host: '127.0.0.1', port: server.port, secret: 's' });
  const wrapAndConnect = async (): Promise<void> => {
    shared = wrapSrf(srf, { times: FAST });
    connect();
    await untilConnected(shared.link, 2000);
  };
  const invites = (): number =>
    [...(srf.app.client?.mapServer.values() ?? [])].reduce(
      (sum, one) => sum + one.pendingNetworkInvites.size,
      0,
    );
  const inbound = (): Promise<InboundRequest> =>
    new Promise((resolve) => shared.link.onRequest((request) => resolve(request)));
  const nextAnswer = async (): Promise<{ message: string; transaction: string | undefined }> => {
    const command = await server.nextSip();
    server.accepted(command);
    return { message: command.message, transaction: command.tokens[0] };
  };

  it('keeps its own routes, with its own strings as UTF-8 both ways', async () => {
    srf.options((req, res) => {
      res.send(200, {
        headers: { 'Content-Type': 'text/plain', Subject: req.get('Subject') },
        body: `${req.body}ü`,
      });
    });
    await wrapAndConnect();
    shared.subscribe(['register']);
    server.request(
      requestText({ method: 'OPTIONS', lines: [`Subject: ${utf8('grüße')}`], body: utf8('😀') }),
    );
    const { message } = await nextAnswer();
    expect(message).toContain(`${utf8('grüße')}\r\n`);
    expect(message.endsWith(utf8('😀ü'))).toBe(true);
  });

  it('is told that it has not called srf.connect, until it does', async () => {
    shared = wrapSrf(srf, { times: FAST });
    expect([shared.link.trouble, shared.link.control]).toEqual([
      'srf.connect has not been called',
      undefined,
    ]);
    connect();
    expect([shared.link.trouble, shared.link.control]).toEqual([undefined, `127.0.0.1:${server.port}`]);
    await untilConnected(shared.link, 2000);
  });

  it('gives us our verbs byte for byte', async () => {
    await wrapAndConnect();
    shared.subscribe(['message']);
    const got = inbound();
    server.request(requestText({ method: 'MESSAGE', lines: ['X: \xfc'], body: '\x00\xff\xfe' }));
    const request = await got;
    expect(request.message.get('x')).toBe('\xfc');
    expect(request.message.body).toBe('\x00\xff\xfe');
    const done = shared.link.respond(request, { status: 699, headers: [['X', '\xfc']], body: '\x80' });
    const { message } = await nextAnswer();
    await done;
    expect(message).toContain('X: \xfc\r\n');
    expect(message.endsWith('\x80')).toBe(true);
  });

  it('gets back what we pass on, and answers it itself', async () => {
    await wrapAndConnect();
    srf.register((req, res, next) => shared.middleware(req as never, res as never, next));
    srf.register((_req, res) => res.send(404));
    shared.link.onRequest((request) => request.pass?.());
    server.request(requestText());
    expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 404 /);
    expect(shared.link.load.inboundRequests).toBe(0);
  });

  it('keeps no INVITE that we answered, dropped or proxied, nor one that was cancelled', async () => {
    await wrapAndConnect();
    shared.subscribe(['invite']);
    const next = async (n: number): Promise<InboundRequest> => {
      const got = inbound();
      server.request(requestText({ method: 'INVITE', callId: `c${n}`, branch: `z9hG4bK${n}` }), {}, `t${n}`);
      return got;
    };
    const answered = shared.link.respond(await next(1), { status: 480 });
    await nextAnswer();
    await answered;
    shared.link.drop(await next(2));
    void shared.link.proxy(await next(3), {
      targets: [{ uri: 'sip:127.0.0.9' }],
      recordRoute: false,
      deadlineMs: 50,
    });
    const fourth = await next(4);
    const told = new Promise<void>((resolve) => fourth.onCancel(resolve));
    server.request(requestText({ method: 'CANCEL', callId: 'c4', branch: 'z9hG4bK4' }), {}, 't4');
    await told;
    expect(invites()).toBe(0);
  });

  it('hears a CANCEL for the INVITE it is meant for, of two with one Call-ID', async () => {
    const cancelled: string[] = [];
    srf.invite((req) => req.on('cancel', () => cancelled.push(req.get('X-Which'))));
    await wrapAndConnect();
    const both = ['a', 'b'];
    for (const one of both) {
      server.request(
        requestText({ method: 'INVITE', branch: `z9hG4bK${one}`, lines: [`X-Which: ${one}`] }),
        {},
        one,
      );
    }
    server.request(requestText({ method: 'CANCEL', branch: 'z9hG4bKa' }), {}, 'a');
    server.request(requestText({ method: 'CANCEL', branch: 'z9hG4bKb' }), {}, 'b');
    for (let i = 0; i < 50 && cancelled.length < 2; i++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(cancelled).toEqual(both);
    expect(invites()).toBe(0);
  });

  it('may answer with a code the library has no phrase for', async () => {
    srf.options((_req, res) => res.send(607));
    await wrapAndConnect();
    server.request(requestText({ method: 'OPTIONS' }));
    expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 607 Unwanted\r\n/);
  });

  it('goes on after one of its response listeners throws', async () => {
    await wrapAndConnect();
    srf.request('sip:a@b', { method: 'OPTIONS' }, (_error, req) => {
      req.on('response', () => {
        throw new Error('on purpose');
      });
    });
    const command = await server.nextSip();
    server.answer(server.accepted(command), answerText(requestText({ method: 'OPTIONS' }), 200));
    srf.options((_req, res) => res.send(200));
    server.request(requestText({ method: 'OPTIONS' }));
    expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 200 /);
    expect(shared.link.state).toBe('connected');
  });

  it('can be wrapped when it is connected already', async () => {
    srf.options((_req, res) => res.send(200));
    connect();
    await new Promise<void>((resolve) => srf.on('connect', () => resolve()));
    shared = wrapSrf(srf, { times: FAST });
    expect(shared.link.state).toBe('connected');
    expect(shared.link.addresses).toHaveLength(2);
    shared.subscribe(['register']);
    const got = inbound();
    server.request(requestText({ lines: ['X: \xfc'] }));
    expect((await got).message.get('x')).toBe('\xfc');
    const lost = new Promise<void>((resolve) =>
      shared.link.onState((state) => state === 'lost' && resolve()),
    );
    server.sendBytes('bad#');
    await lost;
    await untilConnected(shared.link, 2000);
    server.request(requestText({ method: 'OPTIONS' }));
  });

  describe('when our link to it is closed', () => {
    const asked = (verb: string): readonly string[] =>
      server.commands.filter((one) => one.verb === verb).map((one) => one.tokens[0]!.toLowerCase());

    it('stays connected, with its routes and requests, and without ours', async () => {
      srf.options((_req, res) => res.send(200));
      await wrapAndConnect();
      shared.subscribe(['register', 'options', 'publish']);
      srf.publish((_req: unknown, res: TestResponse) => res.send(204));
      await shared.link.close();
      expect(asked('remove_route')).toEqual(['register']);
      // drachtio-server forgets the others with it.
      const last = server.commands.map(({ verb, tokens }) => [verb, tokens[0]!.toLowerCase()].join(' '));
      expect(last.slice(last.indexOf('remove_route register') + 1)).toEqual(
        expect.arrayContaining(['route options', 'route publish']),
      );
      server.request(requestText({ method: 'OPTIONS' }));
      expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 200 /);
      server.request(requestText({ method: 'PUBLISH' }));
      expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 204 /);
      srf.request('sip:a@b', { method: 'MESSAGE' }, () => undefined);
      expect((await server.nextSip()).message).toMatch(/^MESSAGE sip:a@b /);
    });

    it('connects again after a loss, asks for its own verbs only, and ends by itself', async () => {
      srf.options((_req, res) => res.send(200));
      await wrapAndConnect();
      shared.subscribe(['register']);
      await shared.link.close();
      server.commands.length = 0;
      server.dropConnections();
      await server.next(({ verb }) => verb === 'route');
      expect([...asked('route'), ...asked('remove_route')]).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, FAST.connectTimeoutMs + 50));
      server.request(requestText({ method: 'OPTIONS' }));
      expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 200 /);
      expect(shared.link.state).toBe('closed');
      srf.disconnect();
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(server.sockets.size).toBe(0);
    });

    it('gets what comes to our middleware where it put it: its next handler, or 503', async () => {
      await wrapAndConnect();
      srf.register((req, res, next) => shared.middleware(req as never, res as never, next));
      srf.register((_req, res) => res.send(299));
      srf.publish(shared.middleware);
      await shared.link.close();
      expect(asked('remove_route')).toEqual([]);
      server.request(requestText());
      expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 299 /);
      server.request(requestText({ method: 'PUBLISH' }));
      expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 503 [^]*\r\nRetry-After: 5\r\n/i);
    });

    it('is 503 where a handler of its own calls our middleware, until it has another one behind', async () => {
      await wrapAndConnect();
      srf.register((req, res, next) =>
        setImmediate(() => shared.middleware(req as never, res as never, next)),
      );
      await shared.link.close();
      for (let i = 0; i < 2; i++) {
        server.request(requestText());
        expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 503 [^]*\r\nRetry-After: 5\r\n/i);
      }
      srf.register((_req, res) => res.send(299));
      server.request(requestText());
      expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 299 /);
      srf.publish((_req: unknown, _res: unknown, next: () => void) => next());
      server.request(requestText({ method: 'PUBLISH' }));
      expect((await nextAnswer()).message).toMatch(/^SIP\/2\.0 404 /);
    });

    it('can be shared anew, also by a connection made after that', async () => {
      await wrapAndConnect();
      shared.subscribe(['register']);
      await shared.link.close();
      shared = wrapSrf(srf, { times: FAST });
      expect(shared.link.state).toBe('connected');
      shared.subscribe(['register']);
      let got = inbound();
      server.request(requestText({ lines: ['X: 1'] }));
      expect((await got).message.get('x')).toBe('1');
      server.dropConnections();
      await new Promise<void>((resolve) => shared.link.onState((state) => state === 'lost' && resolve()));
      await untilConnected(shared.link, 2000);
      await new Promise((resolve) => setTimeout(resolve, FAST.connectTimeoutMs + 50));
      expect(shared.link.state).toBe('connected');
      got = inbound();
      server.request(requestText({ lines: ['X: 2'] }));
      expect((await got).message.get('x')).toBe('2');
    });
  });

  it('is refused when it is something else', async () => {
    await wrapAndConnect();
    expect(() => wrapSrf({})).toThrow(expect.objectContaining({ code: 'DSBC_CONFIG_INVALID' }));
  });
});
