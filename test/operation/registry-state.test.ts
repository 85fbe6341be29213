import { createDsbc } from '../../plugin';
import type { Dsbc } from '../../plugin/main';
import { keepGauges } from '../../plugin/operation/gauges';
import { SitesDesk } from '../../plugin/operation/sites';
import { registryState } from '../../plugin/operation/status';
import { createMemoryRegistry } from '../../plugin/registry/memory';
import type { Registry } from '../../plugin/registry/registry';
import { silentLogger } from '../../plugin/telemetry/logger';
import { freePort } from '../fixtures/sip-endpoint';

describe('what is said of the registry', () => {
  let dsbc: Dsbc | undefined;
  afterEach(() => dsbc?.stop());

  async function start(registry: object, given?: Registry): Promise<Dsbc> {
    dsbc = createDsbc({
      logger: silentLogger,
      ...(given === undefined ? {} : { registry: given }),
      config: {
        domains: ['example.com'],
        sip_servers: [
          { name: 'main', server: 'embedded', entry: { address: '127.0.0.1', port: await freePort() } },
        ],
        default_system: 'source',
        systems: { source: { sites: { main: { nodes: [{ uri: 'sip:127.0.0.1:9' }] } } } },
        ...registry,
      },
    });
    return dsbc;
  }

  it('is away before it is open', async () => {
    expect(registryState(await start({}))).toEqual({
      driver: 'memory',
      up: false,
      trouble: 'it is not open',
    });
  });

  it('is away from the start while Cassandra refuses connections, though nobody has asked it', async () => {
    const port = await freePort();
    const running = await start({
      registry: {
        driver: 'cassandra',
        contact_points: [`127.0.0.1:${port}`],
        local_datacenter: 'dc1',
        keyspace: 'dsbc',
      },
    });
    await running.start();
    expect(registryState(running)).toMatchObject({
      driver: 'cassandra',
      up: false,
      trouble: expect.stringContaining('ECONNREFUSED'),
    });
    keepGauges(running, new SitesDesk(running, () => 0), { events: () => undefined, group: () => undefined });
    expect(await running.metrics.text()).toContain('dsbc_registry_up 0');
  }, 30_000);

  it('goes by what the store says, and for a while by a look-up that failed', async () => {
    const store: Registry = createMemoryRegistry();
    let trouble: string | undefined;
    let fails = false;
    Object.defineProperties(store, {
      trouble: { get: () => trouble },
      lookup: { value: () => (fails ? Promise.reject(new Error('no')) : Promise.resolve(null)) },
    });
    const running = await start({}, store);
    await running.start();
    expect(registryState(running)).toMatchObject({ up: true, trouble: '' });
    trouble = 'no node is connected';
    expect(registryState(running)).toMatchObject({ up: false, trouble });
    trouble = undefined;
    fails = true;
    await expect(running.cache!.lookup({ kind: 'account', value: '1' })).rejects.toThrow();
    expect(registryState(running)).toMatchObject({ up: false, trouble: 'the last look-up failed' });
    jest.spyOn(running.cache!, 'statistics').mockReturnValue({
      ...running.cache!.statistics(),
      sinceFailure: 10_001,
    });
    expect(registryState(running)).toMatchObject({ up: true });
  });
});
