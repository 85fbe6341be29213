import type * as ConfigModule from '../../plugin/config/config';
import { configKeys } from '../../plugin/config/reference';
import { checkConfig } from '../../plugin/config/config';
import type { ConfigInput } from '../../plugin/config/types';
import type * as ReloadModule from '../../plugin/instance/reload';
import { READ_AT_START, reloaded } from '../../plugin/instance/reload';
import { createDsbc, type Dsbc } from '../../plugin/main';
import { BindingTable, type BindingRecord } from '../../plugin/nat/bindings';
import { flowsView } from '../../plugin/operation/status';
import { silentLogger } from '../../plugin/telemetry/logger';
import { smallConfig } from '../fixtures/config';
import type * as WatchModule from '../fixtures/config-watch';
import { configWatch } from '../fixtures/config-watch';

jest.mock('../../plugin/config/config', () => {
  const actual = jest.requireActual<typeof ConfigModule>('../../plugin/config/config');
  const { configWatch: watch } = jest.requireActual<typeof WatchModule>('../fixtures/config-watch');
  return { ...actual, parseConfig: (input: unknown) => watch.of(actual.parseConfig(watch.plain(input))) };
});
jest.mock('../../plugin/instance/reload', () => {
  const actual = jest.requireActual<typeof ReloadModule>('../../plugin/instance/reload');
  const { configWatch: watch } = jest.requireActual<typeof WatchModule>('../fixtures/config-watch');
  return {
    ...actual,
    reloaded: (...[before, next]: Parameters<typeof actual.reloaded>) => {
      const result = actual.reloaded(watch.plain(before), watch.plain(next));
      return { ...result, config: watch.of(result.config) };
    },
    keysDiffer: (...[before, next]: Parameters<typeof actual.keysDiffer>) =>
      actual.keysDiffer(watch.plain(before), watch.plain(next)),
  };
});

const key = (secret: string) => ({ id: 1, secret: secret.repeat(16) });
const at = (port: number): ConfigInput => ({
  ...smallConfig(),
  sip_servers: [{ name: 'main', server: 'embedded', entry: { address: '127.0.0.1', port } }],
});

const registration = (user: string): BindingRecord => ({
  aor: `${user}@example.com`,
  device: user,
  contact: `sip:${user}@192.0.2.1`,
  flow: {
    entry: { address: '127.0.0.1', port: 5060 },
    transport: 'udp',
    remote: { address: '192.0.2.1', port: 5060 },
  },
  expiresIn: 60,
  ping: true,
});

describe('a reload', () => {
  let dsbc: Dsbc | undefined;
  afterEach(() => dsbc?.stop());

  /** Read by way of the configuration in use, or again at each reload: the parts that keep what they read are found. */
  it('applies every key, or names it: nothing but what is read at the start goes on with the old one', async () => {
    configWatch.begin('start');
    const config = { ...at(15_871), nat: { keys: [key('a')] } };
    dsbc = createDsbc({ config, logger: silentLogger });
    await dsbc.start();
    configWatch.begin('reload');
    const { source } = smallConfig().systems;
    const more = { ...source.sites, b: { nodes: [{ uri: 'sip:198.51.100.23' }] } };
    dsbc.reload({ ...config, nat: { keys: [key('b')] }, systems: { source: { sites: more } } });
    configWatch.begin('after');
    dsbc.setActive(true);
    dsbc.bindings.apply(registration('a'));
    expect(flowsView(dsbc, 10, '').list).toMatchObject([{ pinged: true }]);
    await new Promise((resolve) => setTimeout(resolve, 50));

    const isLive = (path: string): boolean =>
      path !== '' && !READ_AT_START.some((section) => path === section || path.startsWith(`${section}.`));
    const atReload = new Set(configWatch.reads('reload'));
    const kept = configWatch
      .reads('start')
      .filter((read) => isLive(read.split(' ')[0]!) && !atReload.has(read));
    // The embedded server's: named, see below.
    const ofEmbedded = ['nat', 'nat.keys', 'nat.keys.secret'];
    expect(kept).toEqual(ofEmbedded.map((path) => `${path} plugin/servers/sip-servers.ts`));
    expect(configWatch.reads('start')).toContain('nat.keepalive plugin/main/service.ts');
    expect(configWatch.readsOfOld('after').filter((read) => isLive(read.split(' ')[0]!))).toEqual([]);
  });

  it('says that no flow is pinged where pings are off', () => {
    dsbc = createDsbc({ config: at(15_872), logger: silentLogger });
    dsbc.bindings.apply(registration('a'));
    dsbc.reload({ ...at(15_872), nat: { keepalive: { enabled: false } } });
    expect(flowsView(dsbc, 10, '').list).toMatchObject([{ pinged: false }]);
  });

  const before = checkConfig(at(5060));
  const changes: Record<(typeof READ_AT_START)[number], ConfigInput> = {
    instance: { ...at(5060), instance: 'other' },
    sip_servers: at(5070),
    registry: { ...at(5060), registry: { driver: 'memory', on_error: 'reject' } },
    cache: { ...at(5060), cache: { ttl_s: 7 } },
    ha: {
      ...at(5060),
      nat: { keys: [key('a')] },
      ha: {
        group: 'g',
        key: 'k'.repeat(16),
        listen: { m1: '10.0.0.1' },
        peers: [{ instance: 'b', m1: '10.0.0.2' }],
        vips: [{ address: '127.0.0.1', interface: 'lo' }],
      },
    },
    admin: { ...at(5060), admin: { port: 8091 } },
    log: { ...at(5060), log: { level: 'warn' } },
    native: { ...at(5060), native: 'off' },
  };
  it.each(READ_AT_START)('names %s, and keeps what it was', (section) => {
    const next = checkConfig(changes[section]);
    if (!before.ok || !next.ok) throw new Error('not valid');
    const { needsRestart, config } = reloaded(before.config, next.config);
    expect(needsRestart).toContain(section);
    expect(config[section]).toEqual(before.config[section]);
  });

  it('knows every section', () => {
    const sections = configKeys().map(({ path }) => path.split(/[.[]/)[0]!);
    for (const section of READ_AT_START) expect(sections).toContain(section);
  });

  it('names the keys of flow tokens with the embedded server, which seals its routes with those of its start', () => {
    const next = checkConfig({ ...at(5060), nat: { keys: [key('b')] } });
    if (!before.ok || !next.ok) throw new Error('not valid');
    expect(reloaded(before.config, next.config).needsRestart).toEqual(['nat.keys']);
  });

  it('changes how many bindings are kept', () => {
    const table = new BindingTable({ maxBindings: 10, now: () => 0 });
    const take = (user: string): void => table.apply(registration(user));
    take('a');
    table.configure({ maxBindings: 1 });
    take('b');
    expect([table.size, table.refused]).toEqual([1, 1]);
    table.configure({ maxBindings: 2 });
    take('b');
    expect([table.size, table.refused]).toEqual([2, 1]);
  });
});
