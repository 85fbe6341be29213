import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  mkdirSync,
  existsSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startEmbeddedServer, type EmbeddedServer } from '../../plugin/embedded';
import { SimulatedPhone } from '../../plugin/cli/demo/simulated-phone';
import { SimulatedSite } from '../../plugin/cli/demo/simulated-site';

const readme = readFileSync('README.md', 'utf8');

describe('README.md', () => {
  it('links only to files that are there', () => {
    const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map((match) => match[1] ?? '');
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((link) => !existsSync(link))).toEqual([]);
  });

  it('shows how the installations of the examples get their secrets', () => {
    const lines = /```\n(set -a;[\s\S]*?)```/.exec(readme)?.[1] ?? '';
    expect(lines).toContain('dsbc check -c config-examples/');
    const script = lines.replaceAll('npx dsbc', `"${process.execPath}" dist/cli/main.js`);
    const output = execFileSync('sh', ['-ec', script], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    });
    expect(output).toContain('is valid.');
  });

  describe('its lines for an existing drachtio app', () => {
    let folder: string;
    let server: EmbeddedServer;
    let site: SimulatedSite;
    let app: ChildProcess;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'dsbc-readme-'));
      site = new SimulatedSite('source', 'main');
      await site.bind('127.0.0.21', 0);
      server = await startEmbeddedServer({
        addresses: [{ address: '127.0.0.1', port: 0, transports: ['udp'] }],
        control: { port: 0, secret: 'cymru' },
      });
      mkdirSync(join(folder, 'node_modules'));
      symlinkSync(resolve('.'), join(folder, 'node_modules/drachtio-dsbc'));
      symlinkSync(resolve('node_modules/drachtio-srf'), join(folder, 'node_modules/drachtio-srf'));
      const snippet = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
      writeFileSync(join(folder, 'app.js'), snippet.replace('port: 9022', `port: ${server.controlPort}`));
      writeFileSync(
        join(folder, 'dsbc.yaml'),
        JSON.stringify({
          instance: 'readme',
          domains: ['example.com'],
          sip_servers: [
            {
              name: 'main',
              server: 'drachtio',
              entry: { address: '127.0.0.1', port: server.addresses[0]?.port ?? 0 },
              control: { port: server.controlPort, secret: 'cymru' },
            },
          ],
          default_system: 'source',
          systems: { source: { sites: { main: { nodes: [{ uri: `sip:127.0.0.21:${site.port}` }] } } } },
          registry: { driver: 'memory' },
          admin: { port: 0 },
        }),
      );
      app = spawn(process.execPath, ['app.js'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
      let output = '';
      await new Promise<void>((done, fail) => {
        const read = (chunk: Buffer): void => {
          output += chunk.toString();
          if (output.includes('"admin API"')) done();
        };
        app.stdout?.on('data', read);
        app.stderr?.on('data', read);
        app.once('exit', () => fail(new Error(output)));
      });
    });

    afterAll(async () => {
      app.removeAllListeners('exit');
      if (app.exitCode === null) {
        const ended = new Promise((done) => app.once('exit', done));
        app.kill('SIGKILL');
        await ended;
      }
      await server.close();
      await site.close();
      rmSync(folder, { recursive: true, force: true });
    });

    it("dispatch what is the DSBC's, and leave the app's own routes alone", async () => {
      const proxy = { address: '127.0.0.1', port: server.addresses[0]?.port ?? 0 };
      const phone = new SimulatedPhone({ account: '1001', proxy, domain: 'example.com' });
      await phone.bind('127.0.0.1', 0);
      expect(await phone.register()).toBe(200);
      expect(await phone.call('1002')).toBe(200);
      expect(await phone.request('MESSAGE', 'echo', [])).toBe(200);
      expect(site.seen.map(({ method }) => method)).toEqual(['REGISTER', 'REGISTER', 'INVITE', 'BYE']);
      await phone.close();
    });

    it('stop a scanner by the hook', async () => {
      const proxy = { address: '127.0.0.1', port: server.addresses[0]?.port ?? 0 };
      const scanner = new SimulatedPhone({ account: '1001', proxy, domain: 'example.com' });
      await scanner.bind('127.0.0.1', 0);
      expect(await scanner.request('MESSAGE', '1002', [['User-Agent', 'friendly-scanner']])).toBe(403);
      await scanner.close();
    });
  });
});
