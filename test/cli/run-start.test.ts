import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedServer, type EmbeddedServer } from '../../plugin/embedded';
import { builtPlugin } from '../fixtures/ha/built';
import { Child } from '../fixtures/load/child';
import { freePort } from '../fixtures/sip-endpoint';

const TOKENS = ['the first token of the admin API', 'the second token of the admin API'] as const;

const until = async (program: Child, text: string, times = 1): Promise<void> => {
  const end = Date.now() + 20_000;
  while (program.output.split(text).length <= times) {
    if (!program.running || Date.now() > end) throw new Error(`no ${text}:\n${program.output}`);
    await new Promise((done) => setTimeout(done, 20));
  }
};

describe('the start of dsbc run', () => {
  let dir: string;
  let file: string;
  let admin: number;
  let control: number;
  let sip: number;
  const programs: Child[] = [];
  const servers: EmbeddedServer[] = [];

  const write = (
    options: { secret?: string; entry?: string; token?: string; more?: string } = {},
  ): Promise<void> =>
    writeFile(
      file,
      `domains: [example.com]
sip_servers:
  - name: main
    server: drachtio
    entry: { address: ${options.entry ?? '127.0.0.1'}, port: ${sip} }
    control: { port: ${control}, secret: ${options.secret ?? 'right'} }
default_system: source
systems: { source: { sites: { main: { nodes: [{ uri: 'sip:127.0.0.1:9' }] } } } }
admin: { port: ${admin}${options.token === undefined ? '' : `, token: ${options.token}`} }
${options.more ?? ''}`,
    );
  const run = (): Child => {
    const program = new Child(join(builtPlugin(), 'cli/main.js'), ['run', '-c', file]);
    programs.push(program);
    return program;
  };
  /** A SIP server with a control port as drachtio-server has one. */
  const serve = async (): Promise<void> => {
    servers.push(
      await startEmbeddedServer({
        addresses: [{ address: '127.0.0.1', port: sip, transports: ['udp'] }],
        control: { host: '127.0.0.1', port: control, secret: 'right' },
      }),
    );
  };
  const ask = async (path: string, token?: string): Promise<[number, unknown]> => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await fetch(`http://127.0.0.1:${admin}${path}`, { headers });
    return [answer.status, await answer.json()];
  };

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dsbc-start-'));
    file = join(dir, 'dsbc.yaml');
    admin = await freePort();
    control = await freePort();
    sip = await freePort();
  });
  afterEach(async () => {
    for (const program of programs.splice(0)) await program.kill();
    for (const server of servers.splice(0)) await server.close();
    await rm(dir, { recursive: true });
  });

  it('opens the admin API before it waits for a SIP server, and says what is missing until one is there', async () => {
    await write();
    const program = run();
    await until(program, '"msg":"admin API"');
    expect(await ask('/readyz')).toEqual([
      503,
      {
        status: 'not_ready',
        reasons: expect.arrayContaining([
          'it is starting',
          `SIP server main is connecting: connect ECONNREFUSED 127.0.0.1:${control}`,
        ]),
      },
    ]);
    expect(await ask('/v1/sites')).toMatchObject([200, { sites: [{ site: 'main' }] }]);
    expect(await ask('/v1/ha')).toMatchObject([404, {}]);
    await until(program, '"msg":"not serving: no SIP server is connected; trying on"');
    expect(program.output).toContain(`"missing":["main 127.0.0.1:${sip}"]`);
    expect(program.output).toContain(`"reason":"connect ECONNREFUSED 127.0.0.1:${control}"`);
    expect(program.output).not.toContain('"msg":"serving"');
    await serve();
    await until(program, '"msg":"serving"');
    expect((await ask('/readyz'))[0]).toBe(200);
  }, 60_000);

  it('names the setting of a refused secret, once and without a stack', async () => {
    await serve();
    await write({ secret: 'wrong' });
    const program = run();
    await until(program, '"msg":"not serving: no SIP server is connected; trying on"');
    const refused = program.output.split('\n').filter((line) => line.includes('DSBC_LINK_AUTH'));
    expect(refused).toHaveLength(1);
    expect(JSON.parse(refused[0] ?? '')).toMatchObject({
      level: 'error',
      link: 'main',
      setting: 'sip_servers[0].control.secret',
      msg: 'the SIP server refused the secret; trying on',
    });
    expect((await ask('/readyz'))[1]).toMatchObject({
      reasons: ['SIP server main is connecting: it refused the secret (sip_servers[0].control.secret)'],
    });
    expect(program.output).not.toContain('stack');
    expect(program.output).not.toContain('control connection reset');
  }, 60_000);

  it('says that the server does not listen where phones send to', async () => {
    await serve();
    await write({ entry: '127.77.0.7' });
    const program = run();
    await until(program, '"msg":"serving"');
    const sentence = `SIP server main does not listen on its entry address 127.77.0.7:${sip}: it listens on udp 127.0.0.1:${sip}`;
    const said = program.output.split('\n').filter((line) => line.includes('entry address'));
    expect(said.map((line) => JSON.parse(line) as object)).toMatchObject([{ level: 'warn', msg: sentence }]);
    expect((await ask('/v1/status'))[1]).toMatchObject({
      ready: true,
      sip_servers: [{ state: 'connected', trouble: sentence }],
    });
  }, 60_000);

  it('finds a taken admin port before it opens anything of SIP', async () => {
    await serve();
    await write();
    const blocker = createServer();
    await new Promise<void>((done) => blocker.listen(admin, '127.0.0.1', done));
    const program = run();
    const code = await new Promise((done) => program.process.once('exit', done));
    expect(code).toBe(4);
    expect(program.output).toContain(`the admin API cannot listen on 127.0.0.1 port ${admin}`);
    expect(program.output).not.toContain('link up');
    expect(program.output).not.toContain('native addon');
    await new Promise((done) => blocker.close(done));
  }, 60_000);

  it.each([
    ['admin', 'cert_file: none.pem, key_file: none.pem', '', 'admin.cert_file'],
    ['control', '', 'tls: true, ca_file: none.pem', 'sip_servers[0].control.ca_file'],
  ])('names the setting whose file cannot be read (%s)', async (_, section, controls, path) => {
    await write();
    const text = await readFile(file, 'utf8');
    await writeFile(
      file,
      text
        .replace(`admin: { port: ${admin}`, section === '' ? '$&' : `$&, ${section}`)
        .replace('secret: right', controls === '' ? '$&' : `$&, ${controls}`),
    );
    const program = run();
    const code = await new Promise((done) => program.process.once('exit', done));
    expect(code).toBe(3);
    expect(program.output).toContain(`${path}: expected a file that can be read; found ENOENT`);
  });

  it('takes a new token with a reload, and no other part of the section', async () => {
    await serve();
    await write({ token: TOKENS[0] });
    const program = run();
    await until(program, '"msg":"serving"');
    expect((await ask('/v1/status'))[0]).toBe(401);
    expect((await ask('/readyz'))[0]).toBe(200);
    expect((await ask('/v1/status', TOKENS[0]))[0]).toBe(200);
    await write({ token: TOKENS[1] });
    program.signal('SIGHUP');
    await until(program, '"msg":"configuration reloaded"');
    expect(program.output).toContain('"needsRestart":[]');
    expect((await ask('/v1/status', TOKENS[0]))[0]).toBe(401);
    expect((await ask('/v1/status', TOKENS[1]))[0]).toBe(200);
    await write();
    program.signal('SIGHUP');
    await until(program, '"msg":"configuration reloaded"', 2);
    expect(program.output).toContain('"needsRestart":["admin"]');
    expect((await ask('/v1/status'))[0]).toBe(401);
  }, 60_000);

  it('serves and ends in order although nothing can be written to its standard output', async () => {
    await write();
    await serve();
    const full = await open('/dev/full', 'w');
    const program = new Child(join(builtPlugin(), 'cli/main.js'), ['run', '-c', file], {
      stdio: ['ignore', full.fd, 'pipe', 'ipc'],
    });
    programs.push(program);
    const end = Date.now() + 15_000;
    while ((await ask('/readyz').catch(() => [0]))[0] !== 200) {
      expect([program.running, Date.now() < end]).toEqual([true, true]);
      await new Promise((done) => setTimeout(done, 50));
    }
    const ended = once(program.process, 'exit');
    const late = setTimeout(() => program.signal('SIGKILL'), 6000);
    program.signal('SIGTERM');
    expect(await ended).toEqual([0, null]);
    clearTimeout(late);
    await full.close();
  }, 30_000);
});
