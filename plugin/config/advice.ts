import { isIP } from 'node:net';
import {
  canonicalNet,
  isLoopback,
  isPrivate,
  parseHostPort,
  parseNet,
  parseNodeUri,
  sameSpelling,
} from './address';
import { ADVICE, type AdviceCode, type AdviceLevel } from './advice-table';
import { canReach } from './reach';
import type { Config, HaConfig } from './types';

/** One piece of advice about a topology. */
export interface Advice {
  readonly code: AdviceCode;
  readonly level: AdviceLevel;
  /** Where in the configuration. */
  readonly path: string;
  /** What there is about it here: an address, a name. */
  readonly about: string;
  readonly reason: string;
  readonly fix: string;
}

type Give = (code: AdviceCode, path: string, about: string) => void;

/** Looks at a valid configuration as somebody who has been woken at three in the morning would. */
export function topologyAdvice(config: Config): readonly Advice[] {
  const found: Advice[] = [];
  const give: Give = (code, path, about) => {
    found.push({ code, path, about, ...ADVICE[code] });
  };
  entries(config, give);
  instances(config, give);
  neighbours(config, give);
  registry(config, give);
  operation(config, give);
  sites(config, give);
  reach(config, give);
  sources(config, give);
  const addresses = publicAddresses(config);
  if (addresses.length > 0) give('public_addresses', '', `${addresses.length}: ${addresses.join(', ')}`);
  return found.sort((a, b) => Number(a.level === 'note') - Number(b.level === 'note'));
}

function entries(config: Config, give: Give): void {
  config.sip_servers.forEach(({ server, entry }, index) => {
    const path = `sip_servers[${index}]`;
    if (isLoopback(entry.address)) give('entry_loopback', `${path}.entry.address`, entry.address);
    else {
      if (isPrivate(entry.address)) give('entry_private', `${path}.entry.address`, entry.address);
      if (server === 'embedded') give('embedded_server', `${path}.server`, entry.address);
    }
  });
}

function instances(config: Config, give: Give): void {
  const { ha } = config;
  const isTest = config.sip_servers.every(({ entry }) => isLoopback(entry.address));
  if (ha === undefined) {
    if (!isTest) give('single_instance', 'ha', config.instance);
    if (config.nat.keys.length === 0 && !isTest) give('nat_key_random', 'nat.keys', 'none');
    return;
  }
  const { m1, m2 } = ha.listen;
  if (m2 === undefined || sameSpelling(hostOf(m1)) === sameSpelling(hostOf(m2)))
    give('one_heartbeat_link', 'ha.listen.m2', ha.listen.m1);
  const perSite = instancesPerSite(ha);
  if (perSite === undefined) {
    give('instance_sites_unknown', 'ha.site', ha.group);
    return;
  }
  const counts = [...perSite.values()];
  if (Math.max(...counts) < 2) give('single_main_instance', 'ha.peers', [...perSite.keys()].join(', '));
  if (perSite.size > 1) {
    if (ha.witness === undefined) give('no_witness', 'ha.witness', [...perSite.keys()].join(', '));
  } else if (Object.values(config.systems).some((system) => Object.keys(system.sites).length > 1))
    give('no_secondary_instance', 'ha.peers', [...perSite.keys()].join(', '));
}

/** How many instances stand where; undefined if that is not said of all. */
function instancesPerSite(ha: HaConfig): Map<string, number> | undefined {
  const counts = new Map<string, number>();
  for (const site of [ha.site, ...ha.peers.map((peer) => peer.site)]) {
    if (site === undefined) return undefined;
    counts.set(site, (counts.get(site) ?? 0) + 1);
  }
  return counts;
}

/** Servers that share the machine: what is on loopback, or on an entry address. */
function neighbours(config: Config, give: Give): void {
  const entryAddresses = config.sip_servers.map(({ entry }) => entry.address);
  if (entryAddresses.every(isLoopback)) return;
  const isHere = (host: string): boolean =>
    host === 'localhost' || isLoopback(host) || entryAddresses.includes(host);
  const { registry: store, log } = config;
  if (store.driver === 'cassandra')
    for (const point of store.contact_points)
      if (isHere(hostOf(point))) give('not_alone', 'registry.contact_points', `Cassandra at ${point}`);
  if (log.syslog !== undefined && isHere(log.syslog.host))
    give('not_alone', 'log.syslog.host', `LogServer at ${log.syslog.host}`);
  for (const [path, uri] of nodesOf(config)) {
    const host = parseNodeUri(uri)?.host;
    if (host !== undefined && isHere(host)) give('not_alone', path, `node ${uri}`);
  }
}

function registry(config: Config, give: Give): void {
  const { registry: store, ha } = config;
  if (store.driver === 'cassandra') {
    for (const point of store.contact_points)
      if (isPublic(hostOf(point))) give('registry_public', 'registry.contact_points', point);
    if (store.contact_points.length === 1)
      give('registry_single', 'registry.contact_points', store.contact_points.join());
  } else if (ha !== undefined) give('registry_local', 'registry.driver', store.driver);
  else if (store.driver === 'memory') give('registry_memory', 'registry.driver', store.driver);
  if (config.default_system === undefined) give('no_default_system', 'default_system', 'none');
}

function operation(config: Config, give: Give): void {
  const { log, admin } = config;
  if (log.syslog === undefined) give('logserver_none', 'log.syslog', 'none');
  else if (log.syslog.protocol !== 'tls' && isPublic(log.syslog.host))
    give('logserver_public', 'log.syslog.host', log.syslog.host);
  if (config.mtu > 1300) give('mtu_headroom', 'mtu', `${config.mtu}`);
  if (admin.enabled && admin.cert_file === undefined && isPublic(admin.address))
    give('admin_clear', 'admin.address', admin.address);
}

function sites(config: Config, give: Give): void {
  for (const [name, system] of Object.entries(config.systems)) {
    const all = Object.entries(system.sites);
    if (all.length === 1) give('single_site', `systems.${name}.sites`, all.map(([site]) => site).join());
    for (const [site, { nodes }] of all)
      if (!nodes.some((node) => node.tcp)) give('mtu_no_tcp', `systems.${name}.sites.${site}.nodes`, site);
  }
}

/** Each SIP server uses the nodes that it reaches: a site needs one for each. */
function reach(config: Config, give: Give): void {
  for (const [system, { sites: all }] of Object.entries(config.systems))
    for (const [site, { nodes }] of Object.entries(all))
      for (const server of config.sip_servers)
        if (!nodes.some(({ uri }) => canReach(server, uri)))
          give('site_unreachable', `systems.${system}.sites.${site}.nodes`, `from SIP server ${server.name}`);
}

/** Fewer bits of network than a provider is given. */
const WIDE = { 4: 8, 6: 16 } as const;

/** Who is trusted by the address alone. */
function sources(config: Config, give: Give): void {
  const isWide = (net: string): boolean => {
    const { prefix, family } = parseNet(net) ?? { prefix: 32, family: 4 };
    return prefix < WIDE[family];
  };
  const owners = new Map<string, string>();
  for (const [system, { sites: all }] of Object.entries(config.systems))
    for (const [site, { trusted_nets: nets }] of Object.entries(all))
      nets.forEach((net, index) => {
        const path = `systems.${system}.sites.${site}.trusted_nets[${index}]`;
        const here = `${system}/${site}`;
        const owner = owners.get(canonicalNet(net)) ?? here;
        if (owner !== here) give('net_of_two_sites', path, `${net}, also of ${owner}`);
        else owners.set(canonicalNet(net), here);
        if (isWide(net)) give('net_wide', path, net);
      });
  config.peers.forEach(({ nets }, peer) =>
    nets.forEach((net, index) => {
      if (isWide(net)) give('net_wide', `peers[${peer}].nets[${index}]`, net);
    }),
  );
}

/** Virtual IPs and aliases, DSBC servers (their service addresses), and site nodes, as far as they are public. */
function publicAddresses(config: Config): string[] {
  const { ha } = config;
  const servers = ha === undefined ? [] : [ha.listen, ...ha.peers].flatMap((links) => links.service ?? []);
  const all = [
    ...config.sip_servers.map(({ entry }) => entry.address),
    ...servers.map(hostOf),
    ...nodesOf(config).flatMap(([, uri]) => parseNodeUri(uri)?.host ?? []),
  ];
  return [...new Set(all.filter(isPublic))];
}

function nodesOf(config: Config): (readonly [path: string, uri: string])[] {
  return Object.entries(config.systems).flatMap(([system, { sites: all }]) =>
    Object.entries(all).flatMap(([site, { nodes }]) =>
      nodes.map(({ uri }, index) => [`systems.${system}.sites.${site}.nodes[${index}]`, uri] as const),
    ),
  );
}

const hostOf = (text: string): string => parseHostPort(text)?.host ?? text;

/** Names are not looked up: what they stand for may differ from place to place. */
const isPublic = (host: string): boolean => isIP(host) !== 0 && !isPrivate(host);
