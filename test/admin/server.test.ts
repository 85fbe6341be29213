import type { FastifyInstance } from 'fastify';
import { connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { buildAdmin, startAdmin, type AdminServer } from '../../plugin/admin/server';
import { DsbcError } from '../../plugin/errors';
import { silentLogger } from '../../plugin/telemetry/logger';
import { FakeOperation, groupView } from '../fixtures/operation';

const TOKEN = 'a token of 16 and more';
const loopback = { enabled: true, address: '127.0.0.1', port: 0 };

describe('the admin API', () => {
  let operation: FakeOperation;
  let app: FastifyInstance;
  const make = async (config: object = {}) => {
    operation = new FakeOperation();
    app = await buildAdmin({
      config: { ...loopback, ...config },
      operation,
      version: '0.1.0',
      log: silentLogger,
    });
  };
  beforeEach(() => make());
  afterEach(() => app.close());
  const ask = async (
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    url: string,
    payload?: object,
    headers: object = {},
  ) => {
    const response = await app.inject({
      method,
      url,
      ...(payload === undefined ? {} : { payload }),
      headers: { host: '127.0.0.1:8090', ...headers },
    });
    const isJson = /json/.test(String(response.headers['content-type']));
    return {
      status: response.statusCode,
      type: String(response.headers['content-type']).split(';')[0],
      body: isJson ? response.json() : response.body,
    };
  };

  it('says that it lives, and whether it can serve and why not', async () => {
    expect(await ask('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await ask('GET', '/readyz')).toMatchObject({
      status: 200,
      body: { status: 'ready', reasons: [] },
    });
    operation.ready = false;
    expect(await ask('GET', '/readyz')).toMatchObject({
      status: 503,
      body: { status: 'not_ready', reasons: ['no SIP server is connected'] },
    });
  });

  it('gives metrics, status, sites, registry, cache and flows', async () => {
    expect(await ask('GET', '/metrics')).toMatchObject({ status: 200, body: 'dsbc_bindings 1\n' });
    expect((await ask('GET', '/v1/status')).body).toEqual(await operation.status());
    expect((await ask('GET', '/v1/sites')).body).toEqual({ sites: operation.siteViews });
    expect((await ask('GET', '/v1/registry')).body).toEqual(operation.registry());
    expect((await ask('GET', '/v1/cache')).body).toEqual(operation.cache());
    expect((await ask('GET', '/v1/flows')).body).toEqual(operation.flows(100, ''));
    expect((await ask('GET', '/v1/flows?limit=5&search=nobody')).body).toMatchObject({ list: [] });
  });

  it('takes a site out and brings it back, with who and why', async () => {
    const order = { state: 'maintenance', by: 'ada', why: 'update' };
    expect(await ask('PUT', '/v1/sites/source/main/state', order)).toMatchObject({
      status: 200,
      body: { state: 'maintenance', operator: { by: 'ada', why: 'update' } },
    });
    expect(operation.orders).toEqual([{ system: 'source', name: 'main', force: false, ...order }]);
    expect(await ask('PUT', '/v1/sites/source/a/state', { state: 'drain' })).toMatchObject({
      status: 409,
      type: 'application/problem+json',
      body: { title: 'Conflict', detail: 'source would have no active site.' },
    });
    expect(await ask('PUT', '/v1/sites/source/nowhere/state', { state: 'drain' })).toMatchObject({
      status: 404,
    });
  });

  it.each([
    [{ state: 'asleep' }, 'body/state must be one of active, maintenance, drain'],
    [{}, "body must have required property 'state'"],
    [{ state: 'active', colour: 'red' }, 'body must not have "colour"'],
    [[], 'body must be object'],
  ])('refuses the order %j as a problem', async (order, detail) => {
    const answer = await ask('PUT', '/v1/sites/source/main/state', order);
    expect(answer).toMatchObject({
      status: 400,
      type: 'application/problem+json',
      body: { status: 400, detail },
    });
    expect(operation.orders).toEqual([]);
  });

  it('says what a query or a path may hold', async () => {
    expect((await ask('GET', '/v1/flows?limit=x')).body).toMatchObject({
      status: 400,
      detail: 'querystring/limit must be integer',
    });
    expect((await ask('GET', '/v1/registry/animal/1001')).body).toMatchObject({
      detail: 'params/kind must be one of account, did',
    });
  });

  it('looks up an account, and says 404 where there is none', async () => {
    expect((await ask('GET', '/v1/registry/account/1001')).body).toEqual({
      kind: 'account',
      value: '1001',
      system: 'source',
    });
    expect(await ask('GET', '/v1/registry/account/4999')).toMatchObject({ status: 404 });
    expect(await ask('GET', '/v1/registry/animal/1001')).toMatchObject({ status: 400 });
  });

  it('moves a customer and moves it back', async () => {
    expect((await ask('GET', '/v1/customers')).body).toMatchObject({
      customers: [{ id: 'c1' }],
      more: false,
    });
    expect((await ask('PUT', '/v1/customers/c1/exported', { exported: true })).body).toMatchObject({
      exported: true,
    });
    expect((await ask('PUT', '/v1/customers/c1/exported', { exported: false })).body).toMatchObject({
      exported: false,
    });
    expect(await ask('PUT', '/v1/customers/c2/exported', { exported: true })).toMatchObject({ status: 404 });
    expect(await ask('GET', '/v1/customers/c2')).toMatchObject({ status: 404 });
  });

  it('drops the cache', async () => {
    expect(await ask('DELETE', '/v1/cache')).toMatchObject({ status: 200 });
    expect(operation.orders).toEqual(['drop cache']);
  });

  it('says why a bad file was not loaded, and that nothing changed', async () => {
    operation.reload = () => Promise.reject(new DsbcError('DSBC_CONFIG_INVALID', 'dsbc.yaml:3: no'));
    expect(await ask('POST', '/v1/reload')).toMatchObject({
      status: 422,
      body: { code: 'DSBC_CONFIG_INVALID', detail: 'dsbc.yaml:3: no' },
    });
  });

  it('shows the group and hands over, or says that there is none', async () => {
    expect(await ask('GET', '/v1/ha')).toMatchObject({ status: 404 });
    const handOver = jest.fn(() => Promise.resolve());
    operation.group = { group: () => Promise.resolve(groupView), handOver, maintain: handOver };
    expect((await ask('GET', '/v1/ha')).body).toEqual(groupView);
    expect(await ask('POST', '/v1/ha/handover', { to: 'dsbc-2' })).toMatchObject({
      status: 200,
    });
    expect(handOver).toHaveBeenCalledWith('dsbc-2');
    for (const headers of [{}, { 'content-type': 'application/json' }]) {
      expect(await ask('POST', '/v1/ha/handover', undefined, headers)).toMatchObject({ status: 200 });
      expect(handOver).toHaveBeenLastCalledWith(undefined);
    }
    expect(await ask('POST', '/v1/ha/maintenance')).toMatchObject({
      status: 400,
      body: { detail: "body must have required property 'on'" },
    });
  });

  it.each([
    ['POST', '/v1/sites', 'GET, HEAD'],
    ['GET', '/v1/sites/source/main/state', 'PUT'],
    ['PATCH', '/v1/cache?all', 'GET, HEAD, DELETE'],
    ['GET', '/v1/reload', 'POST'],
    ['PUT', '/', 'GET, HEAD'],
    ['OPTIONS', '/v1/customers/c1', 'GET, HEAD'],
  ])('says 405 to %s of %s, with what there is', async (method, url, allow) => {
    const answer = await app.inject({ method: method as 'GET', url });
    expect([answer.statusCode, answer.headers['allow'], answer.json().status]).toEqual([405, allow, 405]);
    expect(answer.headers['content-type']).toMatch('application/problem+json');
    expect(answer.json().detail).toBe(`${url.split('?')[0]} takes ${allow}, not ${method}.`);
  });

  it('says 414 to a word that is too long', async () => {
    expect((await ask('GET', `/v1/customers/${'c'.repeat(101)}`)).body).toMatchObject({ status: 414 });
  });

  it.each(['application/x-www-form-urlencoded', 'text/plain'])(
    'says 415 to a body of %s, with the type that it takes',
    async (type) => {
      const answer = await app.inject({
        method: 'PUT',
        url: '/v1/sites/source/main/state',
        headers: { host: 'localhost', 'content-type': type },
        payload: '{"state":"active"}',
      });
      expect(answer.json()).toMatchObject({
        status: 415,
        detail: `Send the body as application/json, not as ${type}.`,
      });
      expect(operation.orders).toEqual([]);
    },
  );

  it('leaves a line of each order that is refused', async () => {
    const lines: unknown[] = [];
    await app.close();
    app = await buildAdmin({
      config: loopback,
      operation,
      version: '0.1.0',
      log: { ...silentLogger, info: (fields, words) => lines.push([fields, words]) },
    });
    operation.reload = () => Promise.reject(new DsbcError('DSBC_CONFIG_INVALID', 'dsbc.yaml:3: no'));
    await ask('POST', '/v1/reload');
    await ask('PUT', '/v1/sites/source/nowhere/state', { state: 'drain' });
    await ask('GET', '/v1/customers/c2');
    expect(lines).toMatchObject([
      [
        { method: 'POST', url: '/v1/reload', status: 422, err: { code: 'DSBC_CONFIG_INVALID' } },
        'admin order refused',
      ],
      [{ method: 'PUT', url: '/v1/sites/source/nowhere/state', status: 404 }, 'admin order refused'],
    ]);
  });

  it.each([200, 202, 400, 503])('answers a provisioning event as its handler says: %i', async (status) => {
    const events: unknown[] = [];
    operation.event = (event, sender) => {
      events.push(event, sender);
      return Promise.resolve({ status, headers: { 'x-test': 'yes' }, body: { outcome: 'some', detail: 7 } });
    };
    const event = { event_type: 'Account/New', variables: { i_event: 7 } };
    expect(await ask('POST', '/espf/events?system=source', event)).toMatchObject({ status });
    expect(events).toEqual([event, 'source']);
  });

  it('takes no events where there is nobody for them', async () => {
    expect(await ask('POST', '/espf/events', {})).toMatchObject({ status: 404 });
  });

  it('keeps a fault of its own to the log', async () => {
    operation.sites = () => {
      throw new Error('secret path /etc/x');
    };
    const answer = await ask('GET', '/v1/sites');
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer.body)).not.toContain('/etc/x');
  });

  it('answers what is not there, too large or no JSON with a problem', async () => {
    expect(await ask('GET', '/v2')).toMatchObject({ status: 404, type: 'application/problem+json' });
    expect(
      await ask('PUT', '/v1/sites/source/main/state', { state: 'active', why: 'x'.repeat(100_000) }),
    ).toMatchObject({ status: 413 });
    const broken = await app.inject({
      method: 'POST',
      url: '/espf/events',
      headers: { host: 'localhost', 'content-type': 'application/json' },
      payload: '{',
    });
    expect(broken.statusCode).toBe(400);
    expect(broken.headers['content-type']).toMatch('application/problem+json');
  });

  it('describes itself as OpenAPI, every route of it', async () => {
    const { body } = await ask('GET', '/openapi.json');
    expect(body.openapi).toBe('3.1.0');
    expect(Object.keys(body.paths).sort()).toEqual([
      '/espf/events',
      '/healthz',
      '/metrics',
      '/readyz',
      '/v1/cache',
      '/v1/customers',
      '/v1/customers/{id}',
      '/v1/customers/{id}/exported',
      '/v1/flows',
      '/v1/ha',
      '/v1/ha/handover',
      '/v1/ha/maintenance',
      '/v1/live',
      '/v1/registry',
      '/v1/registry/{kind}/{value}',
      '/v1/reload',
      '/v1/sites',
      '/v1/sites/{system}/{site}/state',
      '/v1/status',
    ]);
    expect(body.paths['/v1/sites'].get.summary).toMatch(/sites/i);
    expect(body.paths['/v1/ha/handover'].post.requestBody.required).toBe(false);
    expect(body.paths['/v1/ha/maintenance'].post.requestBody.required).toBe(true);
  });

  describe('without a token, on loopback', () => {
    it('refuses web pages: another origin, or a name that leads here', async () => {
      expect(await ask('GET', '/v1/status', undefined, { host: 'evil.example' })).toMatchObject({
        status: 403,
      });
      expect(await ask('DELETE', '/v1/cache', undefined, { origin: 'http://evil.example' })).toMatchObject({
        status: 403,
      });
      expect(operation.orders).toEqual([]);
      expect(
        await ask('GET', '/v1/status', undefined, {
          host: 'localhost:8090',
          origin: 'http://localhost:8090',
        }),
      ).toMatchObject({ status: 200 });
      expect(await ask('GET', '/v1/status', undefined, { host: '[::1]:8090' })).toMatchObject({
        status: 200,
      });
    });
  });

  describe('with a token', () => {
    beforeEach(async () => {
      await app.close();
      await make({ token: TOKEN });
    });

    it('answers nothing without it, but probes and the page that asks for it', async () => {
      const { paths } = app.swagger() as unknown as { paths: Record<string, Record<string, unknown>> };
      expect(await ask('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
      expect(await ask('GET', '/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } });
      const isOpen = (methods: Record<string, unknown>): boolean =>
        (methods['get'] as { security?: unknown } | undefined)?.security !== undefined;
      const open = Object.keys(paths).filter((path) => isOpen(paths[path] ?? {}));
      expect(open).toEqual(['/healthz', '/readyz']);
      for (const [path, methods] of Object.entries(paths).filter(([each]) => !open.includes(each)))
        for (const method of Object.keys(methods)) {
          const url = path.replace(/\{\w+\}/g, 'x');
          const answer = await ask(method.toUpperCase() as 'GET', url);
          expect([path, method, answer.status]).toEqual([path, method, 401]);
        }
      expect(await ask('GET', '/openapi.json')).toMatchObject({
        status: 401,
        type: 'application/problem+json',
      });
      const page = await ask('GET', '/');
      expect([page.status, page.type]).toEqual([200, 'text/html']);
      expect(page.body).not.toContain('dsbc-1');
    });

    it('takes the right one and no other', async () => {
      const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
      expect(await ask('GET', '/v1/status', undefined, bearer(TOKEN))).toMatchObject({ status: 200 });
      expect(await ask('GET', '/v1/status', undefined, bearer(`${TOKEN}x`))).toMatchObject({ status: 401 });
      const bare = await ask('GET', '/v1/status', undefined, { authorization: TOKEN });
      expect([400, 401]).toContain(bare.status);
      expect(
        await ask('GET', '/v1/status', undefined, { ...bearer(TOKEN), host: 'dsbc.example:8090' }),
      ).toMatchObject({ status: 200 });
    });
  });
});

describe('startAdmin', () => {
  const servers: AdminServer[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });
  const start = async (config: object = {}) => {
    const server = await startAdmin({
      config: { ...loopback, ...config },
      operation: new FakeOperation(),
      version: '0.1.0',
      log: silentLogger,
    });
    servers.push(server);
    return server;
  };

  it('streams what the page shows, and ends while somebody listens', async () => {
    const server = await start();
    const { port } = server;
    const response = await fetch(`http://127.0.0.1:${port}/v1/live`, {
      headers: { accept: 'text/event-stream' },
    });
    const reader = response.body!.getReader();
    let text = '';
    while ((text.match(/\n\n/g) ?? []).length < 2)
      text += new TextDecoder().decode((await reader.read()).value);
    const [event] = text.split('\n\n');
    expect(JSON.parse(event!.replace(/^data: ?/, ''))).toMatchObject({
      status: { instance: 'dsbc-1' },
      sites: [{ site: 'main' }, {}],
    });
    const begin = Date.now();
    await server.close();
    expect(Date.now() - begin).toBeLessThan(2000);
    await reader.cancel().catch(() => undefined);
  });

  it('gives the stream to whoever takes anything, and says 406 to whoever does not take it', async () => {
    const { port } = await start();
    const url = `http://127.0.0.1:${port}/v1/live`;
    const taken = await fetch(url, { headers: { accept: '*/*' } });
    expect([taken.status, taken.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    await taken.body?.cancel();
    const refused = await fetch(url, { headers: { accept: 'application/json' } });
    expect([refused.status, await refused.json()]).toMatchObject([406, { title: 'Not Acceptable' }]);
  });

  it('keeps one event at most for a listener that takes none', async () => {
    jest.useFakeTimers({
      doNotFake: [
        'Date',
        'hrtime',
        'nextTick',
        'performance',
        'queueMicrotask',
        'setImmediate',
        'setTimeout',
      ],
    });
    try {
      const operation = new FakeOperation();
      const status = await operation.status();
      // More than the system takes for a connection that nobody reads.
      const reasons = ['x'.repeat(16_000_000)];
      operation.status = () => Promise.resolve({ ...status, reasons });
      const app = await buildAdmin({ config: loopback, operation, version: '0.1.0', log: silentLogger });
      const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
      const accepted = new Promise<Socket>((resolve) => app.server.once('connection', resolve));
      const asleep = connect(port, '127.0.0.1').pause();
      asleep.write('GET /v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
      const socket = await accepted;
      while (socket.bytesWritten === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      for (let second = 0; second < 4; second++) {
        await jest.advanceTimersByTimeAsync(1000);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      expect(socket.bytesWritten).toBeGreaterThan(16_000_000);
      expect(socket.bytesWritten).toBeLessThan(17_000_000);
      asleep.destroy();
      await app.close();
    } finally {
      jest.useRealTimers();
    }
  });

  it.each([
    ['FOO / HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'Bad Request'],
    ['GET /v1/sites/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'Bad Request'],
    [
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'Request Header Fields Too Large',
    ],
    ['not HTTP at all\r\n\r\n', 400, 'Bad Request'],
  ])('answers with a problem what no route ever sees: %#', async (request, status, title) => {
    const { port } = await start();
    const socket = connect(port, '127.0.0.1');
    socket.end(request);
    const answer = await text(socket);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(`HTTP/1.1 ${status} ${title}`);
    expect(head).toMatch(/^content-type: application\/problem\+json/im);
    expect(JSON.parse(body)).toMatchObject({ status, title });
  });

  it('says that its port is taken', async () => {
    const blocker = createServer();
    const port = await new Promise<number>((done) =>
      blocker.listen(0, '127.0.0.1', () => done((blocker.address() as { port: number }).port)),
    );
    await expect(start({ port })).rejects.toMatchObject({ code: 'DSBC_PORT_TAKEN', details: { port } });
    await new Promise((done) => blocker.close(done));
  });

  it('says that a certificate cannot be read', async () => {
    await expect(start({ cert_file: '/nowhere.pem', key_file: '/nowhere.pem' })).rejects.toMatchObject({
      code: 'DSBC_CONFIG_INVALID',
      message: expect.stringContaining('admin.cert_file: expected a file that can be read; found ENOENT'),
    });
  });
});
