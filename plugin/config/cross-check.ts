import type { z } from 'zod';
import { isLoopback, parseNodeUri, sameSpelling } from './address';
import { checkCollisions } from './collisions';
import { HEARTBEAT_BYTES, longestHeartbeat } from './heartbeat-size';
import { canReach } from './reach';
import type { configStructure } from './schema';

export type Structure = z.output<typeof configStructure>;
type Path = (string | number)[];

/** Adds one problem: where, what was expected, what was found (never a secret). */
export type Report = (path: Path, expected: string, found: string) => void;

/** The keys of `ha.listen` and of each of `ha.peers` that hold an address. */
const HEARTBEAT_LINKS = ['m1', 'm2', 'service'] as const;

/** What only the whole can tell: references, sums and combinations. Runs once the structure is right. */
export function crossCheck(config: Structure, context: z.RefinementCtx): void {
  const report: Report = (path, expected, found) => {
    context.addIssue({ code: 'custom', path, message: expected, params: { found } });
  };
  checkSystems(config, report);
  checkNodes(config, report);
  checkSipServers(config, report);
  checkParties(config, report);
  checkTimes(config, report);
  checkCertificates(config, report);
  checkNat(config, report);
  checkAdmin(config, report);
  checkGroup(config, report);
  checkCollisions(config, report);
}

function checkSystems(config: Structure, report: Report): void {
  const names = Object.keys(config.systems);
  if (
    config.default_system !== undefined &&
    names.length > 0 &&
    config.systems[config.default_system] === undefined
  )
    report(['default_system'], `one of the systems: ${names.join(', ')}`, config.default_system);
  const owners = new Map<string, string>();
  for (const [systemName, system] of Object.entries(config.systems)) {
    if (system.domain === undefined && config.domains.length === 0)
      report(['systems', systemName], '`domain` here, or at least one of `domains` at the top', 'neither');
    if (system.load_distribution !== 'auto')
      checkShares(
        ['systems', systemName, 'load_distribution'],
        system.load_distribution,
        Object.keys(system.sites),
        report,
      );
    for (const [siteName, site] of Object.entries(system.sites))
      site.nodes.forEach((node, index) => {
        const place = `${systemName}/${siteName}`;
        const owner = owners.get(node.uri.toLowerCase());
        if (owner !== undefined)
          report(
            ['systems', systemName, 'sites', siteName, 'nodes', index, 'uri'],
            'a URI that no other node has',
            `${node.uri}, which is also a node of ${owner}`,
          );
        owners.set(node.uri.toLowerCase(), place);
      });
  }
}

/** A node that is one of our own entry addresses would send every request back to us. */
function checkNodes(config: Structure, report: Report): void {
  const own = new Set(
    config.sip_servers.flatMap(({ entry }) =>
      [entry.port, entry.tls_port, entry.ws_port, entry.wss_port].map(
        (port) => `${sameSpelling(entry.address)} port ${port}`,
      ),
    ),
  );
  for (const [system, { sites }] of Object.entries(config.systems))
    for (const [site, { nodes }] of Object.entries(sites))
      nodes.forEach(({ uri }, index) => {
        const { host = '', port, transport } = parseNodeUri(uri) ?? {};
        if (own.has(`${sameSpelling(host)} port ${port ?? (transport === 'tls' ? 5061 : 5060)}`))
          report(
            ['systems', system, 'sites', site, 'nodes', index, 'uri'],
            'the address of the site, not an entry address of ours, which would send its requests back to us',
            uri,
          );
        else if (!config.sip_servers.some((server) => canReach(server, uri)))
          report(
            ['systems', system, 'sites', site, 'nodes', index, 'uri'],
            'a node that a SIP server can send to, from an entry of its address family (IPv4, IPv6) and transport (TLS: drachtio with `tls_port`)',
            uri,
          );
      });
}

function checkShares(
  path: Path,
  shares: Readonly<Record<string, number>>,
  sites: string[],
  report: Report,
): void {
  for (const [site, share] of Object.entries(shares)) {
    if (!sites.includes(site)) report([...path, site], `one of the sites: ${sites.join(', ')}`, site);
    if (!(share >= 0 && share <= 100)) report([...path, site], 'a percentage from 0 to 100', String(share));
  }
  const missing = sites.filter((site) => shares[site] === undefined);
  if (missing.length > 0)
    report(path, 'a percentage for each site (0 means backup only)', `none for ${missing.join(', ')}`);
  // Percentages such as 33.3 are allowed: the sum is compared at a millionth.
  const sum = Object.values(shares).reduce((total, share) => total + share, 0);
  if (Math.abs(sum - 100) > 1e-6) report(path, 'percentages that add up to 100', `${Number(sum.toFixed(6))}`);
}

function checkSipServers(config: Structure, report: Report): void {
  duplicates(
    config.sip_servers.map((server) => server.name),
    (index, value) => report(['sip_servers', index, 'name'], 'a name that no other SIP server has', value),
  );
  duplicates(
    config.sip_servers.map(({ entry }) => `${sameSpelling(entry.address)} port ${entry.port}`),
    (index, value) => report(['sip_servers', index, 'entry'], 'an entry address and port of its own', value),
  );
  config.sip_servers.forEach((server, index) => {
    const { port, tls_port, ws_port, wss_port, transports } = server.entry;
    const ports = [transports.includes('tcp') ? port : undefined, tls_port, ws_port, wss_port].filter(
      (each) => each !== undefined,
    );
    if (new Set(ports).size !== ports.length)
      report(
        ['sip_servers', index, 'entry'],
        'a port of its own for each of TCP, TLS, WS and WSS',
        ports.join(', '),
      );
    if (server.server !== 'embedded') return;
    for (const key of ['tls_port', 'ws_port', 'wss_port'] as const)
      if (server.entry[key] !== undefined)
        report(
          ['sip_servers', index, 'entry', key],
          'no such port: the embedded server speaks UDP and TCP',
          key,
        );
  });
}

function checkParties(config: Structure, report: Report): void {
  duplicates(
    config.peers.map((peer) => peer.name),
    (index, value) => report(['peers', index, 'name'], 'a name that no other peer has', value),
  );
  duplicates(
    config.outbound.allow.map((rule) => rule.host.toLowerCase()),
    (index, value) => report(['outbound', 'allow', index, 'host'], 'a host that no other rule has', value),
  );
}

function checkTimes(config: Structure, report: Report): void {
  const { health, failover } = config;
  if (health.timeout_ms > health.interval_ms)
    report(
      ['health', 'timeout_ms'],
      `at most health.interval_ms (${health.interval_ms})`,
      `${health.timeout_ms}`,
    );
  if (health.ejection.base_s > health.ejection.max_s)
    report(
      ['health', 'ejection', 'base_s'],
      `at most max_s (${health.ejection.max_s})`,
      `${health.ejection.base_s}`,
    );
  if (failover.timeout_ms > failover.total_ms)
    report(
      ['failover', 'timeout_ms'],
      `at most failover.total_ms (${failover.total_ms})`,
      `${failover.timeout_ms}`,
    );
  if (config.nat.keepalive.timeout_s > config.nat.keepalive.interval_s)
    report(
      ['nat', 'keepalive', 'timeout_s'],
      `at most nat.keepalive.interval_s (${config.nat.keepalive.interval_s})`,
      `${config.nat.keepalive.timeout_s}`,
    );
}

function checkNat(config: Structure, report: Report): void {
  duplicates(
    config.nat.keys.map((key) => String(key.id)),
    (index, value) => report(['nat', 'keys', index, 'id'], 'an id that no other key has', value),
  );
  if (config.ha !== undefined && config.nat.keys.length === 0)
    report(['nat', 'keys'], 'at least one key, the same on every instance of the group', 'none');
}

/** A CA that nothing is checked by: whoever names it believes that there is TLS. */
function checkCertificates({ sip_servers, log, registry }: Structure, report: Report): void {
  sip_servers.forEach((server, index) => {
    if (server.server === 'drachtio' && server.control.ca_file !== undefined && !server.control.tls)
      report(['sip_servers', index, 'control', 'ca_file'], '`tls: true` with it', 'tls: false');
  });
  if (registry.driver === 'cassandra') {
    const { cert_file: cert, key_file: key } = registry.tls ?? {};
    if ((cert === undefined) !== (key === undefined))
      report(['registry', 'tls'], '`cert_file` and `key_file` together, or neither', 'one of them');
  }
  const { ca_file: ca, protocol } = log.syslog ?? {};
  if (ca !== undefined && protocol !== 'tls')
    report(['log', 'syslog', 'ca_file'], '`protocol: tls` with it', `protocol: ${protocol}`);
}

function checkAdmin(config: Structure, report: Report): void {
  const { admin } = config;
  if (admin.enabled && admin.token === undefined && !isLoopback(admin.address))
    report(['admin', 'token'], `a token, because ${admin.address} can be reached from outside`, 'none');
  if ((admin.cert_file === undefined) !== (admin.key_file === undefined))
    report(['admin'], '`cert_file` and `key_file` together, or neither', 'one of them');
}

function checkGroup(config: Structure, report: Report): void {
  const { ha } = config;
  if (ha === undefined) return;
  duplicates([config.instance, ...ha.peers.map((peer) => peer.instance)], (index, value) =>
    report(['ha', 'peers', index - 1, 'instance'], 'a name that no other instance of the group has', value),
  );
  duplicates(
    ha.vips.map((vip) => sameSpelling(vip.address)),
    (index, value) => report(['ha', 'vips', index, 'address'], 'an address that is listed once', value),
  );
  ha.peers.forEach((peer, index) => {
    for (const link of ['m2', 'service'] as const)
      if ((peer[link] === undefined) !== (ha.listen[link] === undefined))
        report(['ha', 'peers', index], `\`${link}\` on both ends of the link, or on neither`, 'one end only');
  });
  const longest = longestHeartbeat(ha.group, [config.instance, ...ha.peers.map((peer) => peer.instance)]);
  if (longest > HEARTBEAT_BYTES)
    report(
      ['ha', 'peers'],
      `fewer instances or shorter names: a heartbeat, which names all, has ${HEARTBEAT_BYTES} bytes at most`,
      `${ha.peers.length} peers, ${longest} bytes`,
    );
  const own = new Set(HEARTBEAT_LINKS.map((link) => ha.listen[link]));
  ha.peers.forEach((peer, index) => {
    for (const link of HEARTBEAT_LINKS) {
      const value = peer[link];
      // The file of another instance, copied: it would beat to itself, and nobody would hear it.
      if (value !== undefined && own.has(value))
        report(['ha', 'peers', index, link], 'an address of the other instance, not our own', value);
    }
  });
  const entries = new Set(config.sip_servers.map((server) => sameSpelling(server.entry.address)));
  ha.vips.forEach((vip, index) => {
    if (!entries.has(sameSpelling(vip.address)))
      report(['ha', 'vips', index, 'address'], 'the entry address of a SIP server', vip.address);
  });
  if (ha.announce.driver === 'command' && ha.announce.command === undefined)
    report(['ha', 'announce'], '`command` for the driver "command"', 'none');
  if (ha.witness !== undefined && config.registry.driver !== 'cassandra')
    report(
      ['ha', 'witness'],
      'registry.driver: cassandra, which holds the witness row',
      config.registry.driver,
    );
}

/** Calls back with each value that was there before, and its place. */
function duplicates(values: readonly string[], found: (index: number, value: string) => void): void {
  const seen = new Set<string>();
  values.forEach((value, index) => {
    if (seen.has(value)) found(index, value);
    seen.add(value);
  });
}
