import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../plugin/config/types';
import { configFile, EXAMPLES, exampleEnvironment, loadInstance, type Example } from '../fixtures/examples';

const everyInstance = EXAMPLES.flatMap((example) =>
  example.instances.map((instance) => [example.name, instance, example] as const),
);
const loadAll = async (example: Example): Promise<Config[]> =>
  Promise.all(example.instances.map((instance) => loadInstance(example, instance)));

/** Public addresses an installation takes: VIPs and aliases, servers, nodes of sites. */
function publicAddresses(configs: readonly Config[]): Set<string> {
  const addresses = new Set<string>();
  for (const config of configs) {
    for (const server of config.sip_servers) addresses.add(server.entry.address);
    const service = config.ha?.listen.service;
    if (service !== undefined) addresses.add(service.replace(/:\d+$/, ''));
    for (const system of Object.values(config.systems))
      for (const site of Object.values(system.sites))
        for (const node of site.nodes)
          addresses.add(node.uri.replace(/^sip:|:\d+$/g, '').replace(/^\[|\]$/g, ''));
  }
  return addresses;
}

it('there is an example for every topology', () => {
  expect(EXAMPLES.map(({ name }) => name).sort()).toEqual([
    '70-30',
    'aliases',
    'all-transports',
    'did-provider',
    'dual-version',
    'dual-version-sites',
    'main-with-backup',
    'one-vip-two-sites',
    'single-server',
    'two-vips',
  ]);
});

describe.each(everyInstance)('%s/%s', (_name, instance, example) => {
  const text = readFileSync(configFile(example, instance), 'utf8');

  it('loads, and its folder is named after the instance', async () => {
    expect((await loadInstance(example, instance)).instance).toBe(instance);
  });

  it('contains no secret, only variables that dsbc.env has', () => {
    const environment = exampleEnvironment();
    for (const [, name] of text.matchAll(/\$\{([^}]*)\}/g)) expect(Object.keys(environment)).toContain(name);
    for (const [, value] of text.matchAll(/(?:secret|key|token|password): *(\S+)/g))
      expect(value).toMatch(/^'?\$\{[A-Z_]+\}'?[},]*$/);
  });

  it('names the JSON Schema for editors', () => {
    const schema = /^# yaml-language-server: \$schema=(.*)$/m.exec(text)?.[1] ?? '';
    const file = path.join(example.folder, instance, schema);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('$schema');
  });
});

describe.each(EXAMPLES.map((example) => [example.name, example] as const))('%s', (_name, example) => {
  it('has instances that agree with each other in everything but what is their own', async () => {
    const groups = new Map<string, Config[]>();
    for (const config of await loadAll(example))
      groups.set(config.ha?.group ?? config.instance, [
        ...(groups.get(config.ha?.group ?? config.instance) ?? []),
        config,
      ]);
    for (const members of groups.values()) {
      const own = ({ instance: _instance, ha, ...rest }: Config): unknown => ({
        ...rest,
        ha: ha && { ...ha, site: '', priority: 0, listen: {}, peers: [] },
      });
      for (const member of members) {
        expect(own(member)).toEqual(own(members[0]!));
        const others = members.filter((each) => each !== member);
        expect(member.ha?.peers ?? []).toEqual(
          others.map(({ instance, ha }) => ({ instance, site: ha?.site, ...ha?.listen })),
        );
      }
      // A group of one would wait for nobody.
      expect(members.length === 1).toBe(members[0]!.ha === undefined);
    }
  });

  it('has a VIP for every entry address of a group, each on a server of its own address', async () => {
    for (const { ha, sip_servers } of await loadAll(example)) {
      if (ha === undefined) continue;
      expect(ha.vips.map(({ address }) => address)).toEqual(sip_servers.map(({ entry }) => entry.address));
      for (const { address } of ha.vips) expect(ha.listen.service).not.toContain(`${address}:`);
    }
  });

  it('signs flow tokens with the same key everywhere', async () => {
    const configs = await loadAll(example);
    for (const { nat } of configs) expect(nat.keys).toEqual(configs[0]!.nat.keys);
    expect(configs[0]!.nat.keys).toHaveLength(1);
  });

  it('has a README with diagram, addresses, network, steps and what `dsbc check` says; the count is right', async () => {
    const readme = readFileSync(path.join(example.folder, 'README.md'), 'utf8');
    const headings = [...readme.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(
      expect.arrayContaining(['Addresses', 'Network', 'Steps', 'What `dsbc check` says']),
    );
    expect(readme).toMatch(/```mermaid\nflowchart /);
    const configs = await loadAll(example);
    const count = publicAddresses(configs).size;
    expect(readme).toContain(`Public addresses in all: **${count}**`);
    const rows = [...readme.matchAll(/^\|[^|]*\|[^|]*\| *(\d+) *\|$/gm)].map(([, number]) => Number(number));
    expect(rows.reduce((sum, each) => sum + each, 0)).toBe(count);

    const index = readFileSync(path.join(example.folder, '../../docs/topologies.md'), 'utf8');
    const row = new RegExp(
      `\\(\\.\\./config-examples/${example.name}/README\\.md\\) *\\|[^|]*\\| *${configs.length} *\\| *${count} *\\|`,
    );
    expect(index).toMatch(row);
  });

  it('has a README whose commands, files and links exist', () => {
    const readme = readFileSync(path.join(example.folder, 'README.md'), 'utf8');
    for (const [, link] of readme.matchAll(/\]\(([^)#]+)\)/g))
      expect(() => readFileSync(path.join(example.folder, link!))).not.toThrow();
    for (const [, file] of readme.matchAll(/`((?:drachtio|[\w-]+)\/[\w.-]+\.(?:yaml|xml))`/g))
      expect(() => readFileSync(path.join(example.folder, file!))).not.toThrow();
    const servers = [...readme.matchAll(/drachtio@([\w-]+)/g)].map(([, name]) => name);
    for (const name of servers)
      expect(() => readFileSync(path.join(example.folder, 'drachtio', `${name}.conf.xml`))).not.toThrow();
  });
});
