import { createSocket } from 'node:dgram';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDsbc } from '../../plugin';
import type { ConfigInput } from '../../plugin/config/types';
import { createMemoryRegistry } from '../../plugin/registry/memory';
import { silentLogger } from '../../plugin/telemetry/logger';
import { FakeDevice } from '../fixtures/fake-device';
import { FakeSite } from '../fixtures/fake-site';
import { freePort } from '../fixtures/sip-endpoint';

const config = (port: number, change: Partial<ConfigInput> = {}): ConfigInput => ({
  domains: ['example.com'],
  sip_servers: [{ name: 'main', server: 'embedded', entry: { address: '127.0.0.1', port } }],
  systems: { source: { sites: { main: { nodes: [{ uri: 'sip:127.0.1.1:5999' }] } } } },
  default_system: 'source',
  admin: { enabled: false },
  drain_ms: 200,
  ...change,
});

describe('createDsbc', () => {
  it('refuses a configuration that is not valid, with every problem', () => {
    expect(() => createDsbc({ config: { ...config(5060), domains: ['a b'], systems: {} } })).toThrow(
      expect.objectContaining({ code: 'DSBC_CONFIG_INVALID', message: expect.stringContaining('systems') }),
    );
  });

  it('refuses a hook nobody knows', () => {
    const hooks = { onRequst: () => undefined } as object;
    expect(() => createDsbc({ config: config(5060), hooks })).toThrow(
      expect.objectContaining({ code: 'DSBC_HOOK_UNKNOWN' }),
    );
  });

  it('refuses an srf that is none, and middleware() without one', () => {
    expect(() => createDsbc({ config: config(5060), srf: {}, logger: silentLogger })).toThrow(
      expect.objectContaining({ code: 'DSBC_CONFIG_INVALID' }),
    );
    expect(() => createDsbc({ config: config(5060), logger: silentLogger }).middleware()).toThrow(
      expect.objectContaining({ code: 'DSBC_CONFIG_INVALID' }),
    );
  });
});

describe('start', () => {
  const start = (input: ConfigInput): ReturnType<typeof createDsbc> =>
    createDsbc({ config: input, logger: silentLogger });

  it('says which port is taken, and leaves nothing open', async () => {
    const taken = createSocket('udp4');
    await new Promise<void>((resolve) => taken.bind(0, '127.0.0.1', resolve));
    const { port } = taken.address();
    const dsbc = start(config(port));
    await expect(dsbc.start()).rejects.toMatchObject({
      code: 'DSBC_PORT_TAKEN',
      message: expect.stringContaining(`127.0.0.1:${port}`),
    });
    expect(dsbc.state).toBe('stopped');
    await dsbc.stop();
    await new Promise<void>((resolve) => taken.close(() => resolve()));
    const again = start(config(port));
    await again.start();
    expect(again.isReady).toBe(true);
    await again.stop();
  });

  it('says that an address is not on this machine', async () => {
    const entry = { address: '192.0.2.1', port: 5060 };
    const dsbc = start(config(1, { sip_servers: [{ name: 'main', server: 'embedded', entry }] }));
    await expect(dsbc.start()).rejects.toMatchObject({
      code: 'DSBC_PORT_TAKEN',
      message: expect.stringContaining('does not have that address'),
    });
  });

  it('refuses a damaged registry file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dsbc-'));
    const path = join(folder, 'registry.lmdb');
    await writeFile(path, Buffer.alloc(8192, 0xa5));
    const dsbc = start(config(await freePort(), { registry: { driver: 'lmdb', path } }));
    await expect(dsbc.start()).rejects.toMatchObject({ code: 'DSBC_REGISTRY_DAMAGED' });
    await rm(folder, { recursive: true });
  });

  it('and stop are idempotent, in any order', async () => {
    const dsbc = start(config(await freePort()));
    const starts = [dsbc.start(), dsbc.start()];
    const stopped = dsbc.stop();
    await Promise.all(starts);
    await Promise.all([stopped, dsbc.stop()]);
    expect(dsbc.state).toBe('stopped');
    const never = start(config(await freePort()));
    await never.stop();
    expect(never.state).toBe('stopped');
    // What was stopped stays so, and says so to whoever starts it again.
    for (const one of [dsbc, never])
      await expect(one.start()).rejects.toMatchObject({ code: 'DSBC_STOPPED' });
    expect([dsbc.state, never.state]).toEqual(['stopped', 'stopped']);
  });

  it('leaves no timer or socket behind', async () => {
    const count = (): number =>
      process.getActiveResourcesInfo().filter((name) => /Timeout|UDPWRAP|TCP/.test(name)).length;
    const before = count();
    for (let i = 0; i < 3; i++) {
      const dsbc = start(config(await freePort()));
      await dsbc.start();
      await dsbc.stop();
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(count()).toBeLessThanOrEqual(before);
  });
});

describe('an instance on the embedded server', () => {
  async function lab() {
    const port = await freePort();
    const one = await FakeSite.open({ address: '127.0.1.1' });
    const two = await FakeSite.open({ address: '127.0.1.2' });
    const registry = createMemoryRegistry();
    await registry.put({ kind: 'account', value: '1001', system: 'source' });
    const toSite = (site: FakeSite): ConfigInput =>
      config(port, {
        systems: { source: { sites: { main: { nodes: [{ uri: `sip:${site.hostport}` }] } } } },
        health: { interval_ms: 60_000, timeout_ms: 500 },
      });
    const dsbc = createDsbc({ config: toSite(one), registry, logger: silentLogger });
    await dsbc.start();
    const device = await FakeDevice.open(
      { address: '127.0.0.1', port, transport: 'udp' },
      { address: '127.0.3.7' },
    );
    const close = async (): Promise<void> => {
      await device.close();
      await dsbc.stop();
      await one.close();
      await two.close();
      await registry.close();
    };
    return { one, two, toSite, dsbc, device, close };
  }

  it('tells of messages that it cannot read, the first of a source at once and the others in numbers', async () => {
    const port = await freePort();
    const lines: object[] = [];
    const warn = (fields: object, msg?: string): void => void lines.push({ ...fields, msg });
    const dsbc = createDsbc({ config: config(port), logger: { ...silentLogger, warn } });
    await dsbc.start();
    const scanner = createSocket('udp4');
    await new Promise<void>((resolve) => scanner.bind(0, '127.0.6.6', resolve));
    const head = 'Via: SIP/2.0/UDP 127.0.6.6;branch=z9hG4bKx\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:a@b>\r\n';
    for (let i = 0; i < 20; i++)
      scanner.send(`REGISTER\r\n${head}Call-ID: ${i}\r\nCSeq: 1 REGISTER\r\n\r\n`, port, '127.0.0.1');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const malformed = (): object[] =>
      lines.filter((line) => 'msg' in line && line.msg === 'malformed messages');
    const who = { server: 'main', source: '127.0.6.6', transport: 'udp', status: 400 };
    expect(malformed()).toMatchObject([{ ...who, reason: 'malformed request line', count: 1 }]);
    scanner.close();
    await dsbc.stop();
    expect(malformed().slice(1)).toMatchObject([{ ...who, count: 19 }]);
  });

  it('takes a new configuration without losing a request under way; a bad one changes nothing', async () => {
    const { one, two, toSite, dsbc, device, close } = await lab();
    one.script = () => ({ status: 200, afterMs: 300 });
    const slow = await device.request({ method: 'REGISTER' });
    await one.waitForRequest('REGISTER');
    expect(dsbc.reload(toSite(two))).toEqual({ needsRestart: [] });
    expect(() => dsbc.reload({ ...toSite(one), systems: {} })).toThrow(
      expect.objectContaining({ code: 'DSBC_CONFIG_INVALID' }),
    );
    const next = await device.request({ method: 'REGISTER' });
    expect((await next.final()).message.status).toBe(200);
    expect((await slow.final()).message.status).toBe(200);
    expect([one.count('REGISTER'), two.count('REGISTER')]).toEqual([1, 1]);
    const other = dsbc.reload({ ...toSite(two), instance: 'other' });
    expect(other).toEqual({ needsRestart: ['instance'] });
    expect(dsbc.config.instance).toBe('dsbc');
    await close();
  });

  it('drains: what is under way ends, what comes then is 503', async () => {
    const { one, dsbc, device, close } = await lab();
    one.script = () => ({ status: 200, afterMs: 150 });
    const slow = await device.request({ method: 'REGISTER' });
    await one.waitForRequest('REGISTER');
    const drained = dsbc.drain(2000);
    const late = await device.request({ method: 'REGISTER' });
    expect((await late.final()).message.status).toBe(503);
    expect(await drained).toBe(true);
    expect((await slow.final()).message.status).toBe(200);
    await close();
  });

  it('on standby says nothing', async () => {
    const { dsbc, device, close } = await lab();
    dsbc.setActive(false);
    const register = await device.request({ method: 'REGISTER' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(register.statuses).toEqual([]);
    dsbc.setActive(true);
    const again = await device.request({ method: 'REGISTER' });
    expect((await again.final()).message.status).toBe(200);
    await close();
  });
});
