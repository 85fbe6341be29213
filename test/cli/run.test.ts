import { createSocket } from 'node:dgram';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DsbcProcess } from '../fixtures/dsbc-process';

const freePort = (): Promise<number> =>
  new Promise((done) => {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1', () => {
      const { port } = socket.address();
      socket.close(() => done(port));
    });
  });

describe('dsbc run', () => {
  let dir: string;
  let port: number;
  const programs: DsbcProcess[] = [];
  const write = async (more = ''): Promise<string> => {
    const file = join(dir, 'dsbc.yaml');
    await writeFile(
      file,
      `domains: [example.com]
sip_servers: [{ name: main, server: embedded, entry: { address: 127.0.0.1, port: ${port} } }]
default_system: source
systems: { source: { sites: { main: { nodes: [{ uri: 'sip:127.0.0.1:9' }] } } } }
registry: { driver: memory }
admin: { port: 0 }
drain_ms: 200
${more}`,
    );
    return file;
  };
  const run = (file: string, environment?: Record<string, string>): DsbcProcess => {
    const program = new DsbcProcess(['run', '-c', file], environment);
    programs.push(program);
    return program;
  };
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dsbc-run-'));
    port = await freePort();
  });
  afterEach(async () => {
    for (const program of programs.splice(0)) {
      program.signal('SIGKILL');
      await program.ended;
    }
    await rm(dir, { recursive: true });
  });

  it('answers on SIP and on the admin API, takes a reload, and ends clean on SIGTERM', async () => {
    const file = await write();
    const program = run(file);
    const { port: adminPort } = await program.line('admin API');
    await program.line('serving');
    const ready = await fetch(`http://127.0.0.1:${String(adminPort)}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', reasons: [] }]);
    expect(await options(port)).toMatch(/^SIP\/2\.0 200 /);

    await write('mtu: 1400\n');
    program.signal('SIGHUP');
    await program.line('configuration reloaded');
    await write('mtu: 1\n');
    program.signal('SIGHUP');
    const refused = await program.line('the configuration was not reloaded');
    expect(JSON.stringify(refused)).toContain('mtu: expected a number from 576 to 65507');
    const asked = await fetch(`http://127.0.0.1:${String(adminPort)}/v1/reload`, { method: 'POST' });
    expect(asked.status).toBe(422);
    await program.line('admin order refused');
    const isRefusal = ({ msg }: { msg?: unknown }) => msg === 'the configuration was not reloaded';
    expect(program.lines.filter(isRefusal)).toHaveLength(2);
    expect(await options(port)).toMatch(/^SIP\/2\.0 200 /);

    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(program.lines.at(-1)).toMatchObject({ msg: 'stopped' });
    expect(program.stderr).toBe('');
  }, 40_000);

  it('says that its SIP port is taken, and exits 4', async () => {
    const blocker = createSocket('udp4');
    await new Promise<void>((done) => blocker.bind(port, '127.0.0.1', done));
    const program = run(await write());
    expect(await program.ended).toBe(4);
    expect(program.stderr).toContain('DSBC_PORT_TAKEN');
    expect(program.stderr).toContain(String(port));
    await new Promise<void>((done) => blocker.close(() => done()));
  }, 40_000);

  it('exits 3 with the errors of a bad file', async () => {
    const program = run(await write('mtu: 1\n'));
    expect(await program.ended).toBe(3);
    expect(program.stderr).toContain('dsbc.yaml:8: mtu: expected');
  }, 40_000);
});

/** Sends an OPTIONS for the entry address itself; resolves with the answer. */
function options(port: number): Promise<string> {
  const socket = createSocket('udp4');
  return new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error('no answer to OPTIONS')), 5000);
    socket.once('message', (message) => {
      clearTimeout(timer);
      socket.close(() => done(message.toString('latin1')));
    });
    socket.bind(0, '127.0.0.1', () => {
      const own = `127.0.0.1:${socket.address().port}`;
      socket.send(
        [
          `OPTIONS sip:127.0.0.1:${port} SIP/2.0`,
          `Via: SIP/2.0/UDP ${own};branch=z9hG4bK-run;rport`,
          'Max-Forwards: 70',
          `From: <sip:test@example.com>;tag=1`,
          `To: <sip:127.0.0.1:${port}>`,
          `Call-ID: run-${Math.random()}`,
          'CSeq: 1 OPTIONS',
          'Content-Length: 0',
          '',
          '',
        ].join('\r\n'),
        port,
        '127.0.0.1',
      );
    });
  });
}
