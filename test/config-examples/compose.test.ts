import { XMLParser } from 'fast-xml-parser';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { loadConfig } from '../../plugin/config/load';
import type { Config } from '../../plugin/config/types';
import { environmentFile, EXAMPLES_DIR } from '../fixtures/examples';

const FOLDER = path.join(EXAMPLES_DIR, 'compose');

interface Service {
  readonly build?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: { readonly sip?: { readonly ipv4_address?: string } };
  readonly network_mode?: string;
  readonly cap_add?: readonly string[];
  readonly env_file?: string;
  readonly sysctls?: Readonly<Record<string, string>>;
}
const file = parse(readFileSync(path.join(FOLDER, 'compose.yaml'), 'utf8'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: { readonly sip: { readonly ipam: { readonly config: readonly unknown[] } } };
  readonly volumes?: Readonly<Record<string, unknown>>;
};
const { services } = file;
const load = (instance: string): Promise<Config> =>
  loadConfig(path.join(FOLDER, instance, 'dsbc.yaml'), environmentFile(path.join(FOLDER, 'secrets.env')));
const addressOf = (service: string): string | undefined => services[service]?.networks?.sip?.ipv4_address;

/** Keys of the Compose Specification that this file uses; another one is a slip, which Docker would refuse. */
const TOP_LEVEL = /^(services|networks|volumes|x-[a-z-]+)$/;
const OF_SERVICE = [
  ...['build', 'cap_add', 'command', 'depends_on', 'env_file', 'environment', 'healthcheck', 'image'],
  ...['network_mode', 'networks', 'ports', 'restart', 'stop_grace_period', 'sysctls', 'volumes'],
];

describe('compose.yaml', () => {
  it('has the keys of the Compose Specification, and names only services, networks and volumes that are there', () => {
    for (const key of Object.keys(file)) expect(key).toMatch(TOP_LEVEL);
    const named = { ...file.volumes };
    const addresses: string[] = [];
    for (const service of Object.values(services)) {
      expect(OF_SERVICE).toEqual(expect.arrayContaining(Object.keys(service)));
      expect([service.build, service.image].filter((one) => one !== undefined)).toHaveLength(1);
      expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(service.depends_on ?? {})));
      expect(Object.keys(file.networks)).toEqual(expect.arrayContaining(Object.keys(service.networks ?? {})));
      const [mode, other] = (service.network_mode ?? '').split(':');
      if (mode === 'service') expect(Object.keys(services)).toContain(other);
      // One or the other: Docker refuses both.
      expect(service.network_mode === undefined).toBe(service.networks !== undefined);
      for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
      for (const volume of service.volumes ?? []) {
        const [from = ''] = volume.split(':');
        if (!from.startsWith('.')) expect(named).toHaveProperty(from);
      }
      const address = service.networks?.sip?.ipv4_address;
      if (address !== undefined) addresses.push(address);
    }
    const [{ subnet, gateway }] = file.networks.sip.ipam.config as [{ subnet: string; gateway: string }];
    expect(new Set([...addresses, gateway]).size).toBe(addresses.length + 1);
    for (const address of addresses) expect(address.startsWith(subnet.replace(/\.0\/24$/, '.'))).toBe(true);
  });

  it('mounts and builds only what is there', () => {
    for (const service of Object.values(services)) {
      if (service.build !== undefined)
        expect(existsSync(path.join(FOLDER, service.build, 'Dockerfile'))).toBe(true);
      if (service.env_file !== undefined) expect(existsSync(path.join(FOLDER, service.env_file))).toBe(true);
      for (const volume of service.volumes ?? [])
        if (volume.startsWith('.')) expect(existsSync(path.join(FOLDER, volume.split(':')[0]!))).toBe(true);
    }
    const dockerfile = readFileSync(path.join(FOLDER, 'site/Dockerfile'), 'utf8');
    for (const [, file] of dockerfile.matchAll(/^COPY (\S+)/gm))
      expect(existsSync(path.join(FOLDER, 'site', file!))).toBe(true);
  });

  it.each(['dsbc-1', 'dsbc-2'])(
    'gives %s the addresses that its dsbc.yaml and the others name',
    async (name) => {
      const config = await load(name);
      expect(config.instance).toBe(name);
      expect(config.ha?.listen.m1).toBe(`${addressOf(name) ?? ''}:7946`);
      for (const peer of config.ha?.peers ?? [])
        expect(peer.m1).toBe(`${addressOf(peer.instance) ?? ''}:7946`);
      const { sites } = config.systems['source']!;
      for (const [site, { nodes }] of Object.entries(sites))
        expect(nodes[0]?.uri).toBe(`sip:${addressOf(`site-${site}`) ?? ''}:5060`);
      expect(config.registry).toMatchObject({ contact_points: [addressOf('cassandra')] });
      expect(services[name]?.cap_add).toEqual(['NET_ADMIN', 'NET_RAW']);
      expect(services[name]?.sysctls).toEqual({ 'net.ipv4.ip_nonlocal_bind': '1' });
    },
  );

  it('lets each site listen on its own address and serve the domain', () => {
    for (const site of ['site-main', 'site-secondary']) {
      const address = addressOf(site) ?? '';
      expect(services[site]?.command).toEqual([
        ...['-l', `udp:${address}:5060`, '-l', `tcp:${address}:5060`],
        '--alias=example.com',
      ]);
    }
  });

  it('puts each drachtio-server, bound to the VIP, beside its instance', async () => {
    const conf = new XMLParser({ ignoreAttributes: false }).parse(
      readFileSync(path.join(FOLDER, 'drachtio/main.conf.xml')),
    ) as { drachtio: { sip: { contacts: { contact: string } }; admin: { '@_port': string } } };
    for (const number of ['1', '2']) {
      expect(services[`drachtio-${number}`]?.network_mode).toBe(`service:dsbc-${number}`);
      const config = await load(`dsbc-${number}`);
      const { address } = config.sip_servers[0]!.entry;
      expect(conf.drachtio.sip.contacts.contact).toBe(`sip:${address}:5060;transport=udp,tcp`);
      expect(config.sip_servers[0]).toMatchObject({
        control: { port: Number(conf.drachtio.admin['@_port']) },
      });
      expect(config.ha?.vips).toEqual([{ address, interface: 'eth0' }]);
    }
  });
});
