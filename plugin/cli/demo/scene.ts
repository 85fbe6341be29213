import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../config/config';
import type { Config, ConfigInput } from '../../config/types';
import { createDsbc, type Dsbc } from '../../main';
import { openRegistry } from '../../registry/open';
import type { Registry } from '../../registry/registry';
import { silentLogger } from '../../telemetry/logger';
import { ACCOUNTS, SYSTEMS, VENDOR_ADDRESS, World } from './world';

/** The address the demo's DSBC listens on; phones and sites have others of 127.0.0.0/8. */
const ENTRY_ADDRESS = '127.0.0.1';

export interface Scene {
  readonly world: World;
  readonly dsbc: Dsbc;
  readonly config: Config;
  readonly close: () => Promise<void>;
}

/** Sets the stage: sites, an LMDB registry with real entries, and a DSBC on the embedded server. */
export async function setScene(port: number): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'dsbc-demo-'));
  const closers: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const entry = { address: ENTRY_ADDRESS, port: port === 0 ? await freePort() : port };
    const open: { registry?: Registry } = {};
    const world = new World(entry, {
      setSite: async (system, site, state) => {
        await open.registry?.putDecision({
          system,
          site,
          state,
          by: 'demo',
          at: new Date().toISOString(),
          why: 'to show how',
        });
      },
    });
    closers.push(() => world.close());
    await world.bindSites();
    const config = parseConfig(demoConfig(world, join(folder, 'registry.lmdb')));
    const registry = await openRegistry(config.registry, { log: silentLogger });
    open.registry = registry;
    closers.push(() => registry.close());
    await fill(registry, world);
    const dsbc = createDsbc({ config, registry, logger: silentLogger });
    closers.push(() => dsbc.stop());
    await dsbc.start();
    return { world, dsbc, config, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function demoConfig(world: World, registryPath: string): ConfigInput {
  const systems = Object.fromEntries(
    SYSTEMS.map((system) => [
      system,
      {
        load_distribution: system === 'source' ? { main: 70, secondary: 30 } : ('auto' as const),
        sites: Object.fromEntries(
          world.sites
            .filter((site) => site.system === system)
            .map((site) => [site.site, { nodes: [{ uri: `sip:${site.address}:${site.port}` }] }]),
        ),
      },
    ]),
  );
  return {
    instance: 'demo',
    domains: ['example.com'],
    sip_servers: [
      { name: 'main', server: 'embedded', entry: { ...world.entry, transports: ['udp', 'tcp'] } },
    ],
    systems,
    peers: [{ name: 'vendor', nets: [VENDOR_ADDRESS] }],
    registry: { driver: 'lmdb', path: registryPath },
    limits: { per_source: { exempt_nets: ['127.0.0.0/8'] } },
    nat: { keepalive: { enabled: false } },
    admin: { port: 0 },
  };
}

async function fill(registry: Registry, world: World): Promise<void> {
  for (const system of SYSTEMS) {
    const accounts = Array.from({ length: ACCOUNTS }, (_, i) => world.account(system, i));
    await Promise.all(accounts.map((value) => registry.put({ kind: 'account', value, system })));
  }
  await Promise.all(
    world.dids.map(({ number, system, account }) =>
      registry.put({ kind: 'did', value: number, system, account }),
    ),
  );
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, ENTRY_ADDRESS, () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
