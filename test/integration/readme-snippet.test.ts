import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';
import DrachtioSrf from 'drachtio-srf';
import * as product from '../../plugin';
import type { Dsbc } from '../../plugin';
import { silentLogger } from '../../plugin/telemetry/logger';
import { FakeDevice } from '../fixtures/fake-device';
import { FakeSite } from '../fixtures/fake-site';
import { startSipServer, type TestSipServer } from '../fixtures/sip-server';

/** The parts of an Srf that an application here uses. */
interface Application {
  connect(options: object): void;
  disconnect(): void;
  use(...handlers: unknown[]): void;
  on(event: string, listener: () => void): void;
  options(handler: (req: unknown, res: { send(status: number): void }, next: () => void) => void): void;
  invite(...handlers: unknown[]): void;
}

const snippet = (): string => {
  const found = /```js\n([\s\S]*?createDsbc[\s\S]*?)```/.exec(readFileSync('README.md', 'utf8'));
  if (found?.[1] === undefined) throw new Error('README.md has no snippet with createDsbc');
  return found[1];
};

const yaml = (server: TestSipServer, site: FakeSite): string => `
domains: [example.com]
sip_servers:
  - name: main
    server: drachtio
    entry: { address: ${server.entries[0]!.address}, port: ${server.entries[0]!.port} }
    control: { host: ${server.control.host}, port: ${server.control.port}, secret: ${server.control.secret} }
default_system: source
systems:
  source:
    sites:
      main: { nodes: [ { uri: 'sip:${site.hostport}' } ] }
admin: { port: 0 }
`;

describe('beside an application of drachtio-srf', () => {
  let server: TestSipServer;
  let site: FakeSite;
  let device: FakeDevice;
  let folder: string;
  let file: string;
  const opened: { srf?: Application; dsbc?: Dsbc } = {};
  beforeEach(async () => {
    server = await startSipServer();
    site = await FakeSite.open({ address: '127.0.1.1' });
    device = await FakeDevice.open(server.entry(), { address: '127.0.3.7' });
    folder = await mkdtemp(join(tmpdir(), 'dsbc-'));
    file = join(folder, 'dsbc.yaml');
    await writeFile(file, yaml(server, site));
  });
  afterEach(async () => {
    await opened.dsbc?.stop();
    opened.srf?.disconnect();
    delete opened.dsbc;
    delete opened.srf;
    await device.close();
    await site.close();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const status = async (method: string, uri?: string): Promise<number> => {
    const request = await device.request({ method, ...(uri === undefined ? {} : { uri }) });
    return (await request.final()).message.status;
  };

  it('the lines of the README work, and routes of the application stay its own', async () => {
    const lines = snippet()
      .replace(
        /host: '[^']*', port: \d+, secret: '[^']*'/,
        `host: '127.0.0.1', port: ${server.control.port}, secret: '${server.control.secret}'`,
      )
      .replace("'dsbc.yaml'", JSON.stringify(file));
    expect(lines).toContain(file);
    const load = createRequire(__filename);
    let started: (admin: product.AdminServer) => void = () => undefined;
    const isStarted = new Promise<product.AdminServer>((resolve) => (started = resolve));
    const lookalike = {
      ...product,
      createDsbc: (options: product.DsbcOptions): Dsbc => {
        const dsbc = product.createDsbc({ ...options, logger: silentLogger });
        opened.srf = options.srf as Application;
        opened.dsbc = dsbc;
        return dsbc;
      },
      serveAdmin: async (dsbc: Dsbc): Promise<product.AdminServer> => {
        const admin = await product.serveAdmin(dsbc);
        started(admin);
        return admin;
      },
    };
    const run = compileFunction(lines, ['require']) as (require: (name: string) => unknown) => unknown;
    run((name) => (name === 'drachtio-dsbc' ? lookalike : load(name)));
    const { port } = await isStarted;
    expect(await status('REGISTER')).toBe(200);
    expect(await status('INVITE')).toBe(200);
    expect(site.count('REGISTER')).toBe(1);
    expect(await status('MESSAGE')).toBe(200);
    expect(site.count('MESSAGE')).toBe(1);
    expect(await status('MESSAGE', 'sip:echo@example.com')).toBe(200);
    expect(site.count('MESSAGE')).toBe(1);
    const metrics = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(await metrics.text()).toContain('dsbc_requests_total');
    await opened.dsbc?.stop();
    expect(opened.dsbc?.state).toBe('stopped');
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow();
    // The application and its connection go on.
    expect(await status('MESSAGE', 'sip:echo@example.com')).toBe(200);
    expect(await status('REGISTER')).toBe(503);
    expect(site.count('REGISTER')).toBe(1);
  });

  it('as middleware, for verbs that the application routes itself', async () => {
    const srf = new DrachtioSrf() as unknown as Application;
    opened.srf = srf;
    const dsbc = product.createDsbc({ config: await product.loadConfig(file), srf, logger: silentLogger });
    opened.dsbc = dsbc;
    srf.options((_, res) => res.send(299));
    srf.invite(dsbc.middleware());
    const connected = new Promise<void>((resolve) => srf.on('connect', () => resolve()));
    srf.connect({ ...server.control });
    await connected;
    await dsbc.start();
    expect(await status('INVITE')).toBe(200);
    expect(await status('OPTIONS', 'sip:example.com')).toBe(299);
    expect(site.count('INVITE')).toBe(1);
    await expect(status('REGISTER')).resolves.toBeGreaterThanOrEqual(500);
    expect(site.count('REGISTER')).toBe(0);
  });

  it('is told in the log and by readiness that it has not called srf.connect', async () => {
    const srf = new DrachtioSrf() as unknown as Application;
    const warn = jest.fn();
    const config = await product.loadConfig(file);
    const dsbc = product.createDsbc({ config, srf, logger: { ...silentLogger, warn } });
    opened.dsbc = dsbc;
    await dsbc.start();
    expect(warn).toHaveBeenCalledWith(expect.anything(), 'not serving: srf.connect has not been called');
    const admin = await product.serveAdmin(dsbc);
    const answer = await fetch(`http://127.0.0.1:${admin.port}/readyz`);
    expect(await answer.json()).toMatchObject({
      reasons: ['SIP server main is connecting: srf.connect has not been called'],
    });
    await dsbc.stop();
  });

  it('as middleware for all verbs, which it asks the server for', async () => {
    const srf = new DrachtioSrf() as unknown as Application;
    opened.srf = srf;
    const dsbc = product.createDsbc({ config: await product.loadConfig(file), srf, logger: silentLogger });
    opened.dsbc = dsbc;
    srf.options((_, res) => res.send(299));
    srf.use(dsbc.middleware());
    const connected = new Promise<void>((resolve) => srf.on('connect', () => resolve()));
    srf.connect({ ...server.control });
    await connected;
    await dsbc.start();
    for (const method of ['REGISTER', 'INVITE', 'MESSAGE']) expect(await status(method)).toBe(200);
    expect(await status('OPTIONS', 'sip:example.com')).toBe(299);
  });

  it('refuses a configuration whose server it could not be connected to', async () => {
    const srf = new DrachtioSrf() as unknown as Application;
    await writeFile(
      file,
      yaml(server, site)
        .replace('drachtio', 'embedded')
        .replace(/^ +control:.*$/m, ''),
    );
    const config = await product.loadConfig(file);
    expect(() => product.createDsbc({ config, srf, logger: silentLogger })).toThrow(
      expect.objectContaining({ code: 'DSBC_CONFIG_INVALID', message: expect.stringContaining('embedded') }),
    );
  });
});
