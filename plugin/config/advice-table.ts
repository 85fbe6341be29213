/** `warning`: sooner or later callers will notice. `note`: worth knowing, or a choice to be made knowingly. */
export type AdviceLevel = 'warning' | 'note';

interface AdviceEntry {
  readonly level: AdviceLevel;
  readonly reason: string;
  readonly fix: string;
}

/** Everything `dsbc check` may advise, by code; docs/cli.md lists it. */
export const ADVICE = {
  entry_loopback: {
    level: 'note',
    reason: 'Only this machine reaches a loopback entry address: good for tests, not for phones.',
    fix: 'Set `entry.address` to the public virtual IP.',
  },
  entry_private: {
    level: 'note',
    reason:
      'The entry address is private: phones on the internet reach it only if a router maps a public address to it one to one.',
    fix: 'Use a public address, or a one-to-one mapping without SIP ALG.',
  },
  embedded_server: {
    level: 'warning',
    reason:
      'The embedded SIP server is for tests and first steps, and this entry address can be reached from outside.',
    fix: 'Run drachtio-server and set `server: drachtio`.',
  },
  single_instance: {
    level: 'warning',
    reason: 'There is a single instance: while it is updated or down, no phone can call or register.',
    fix: 'Add a second DSBC server and the section `ha`, which shares the virtual IP between them.',
  },
  single_main_instance: {
    level: 'warning',
    reason:
      'No site has two instances: updating one moves all calls to another site, and meanwhile nothing is left if that fails.',
    fix: 'Put two DSBC servers on the main site.',
  },
  no_secondary_instance: {
    level: 'note',
    reason:
      'All instances of this group stand on one site: if that site is lost, its virtual IP is lost with it.',
    fix: 'Put at least one DSBC server on the secondary site, or give that site a group and virtual IP of its own.',
  },
  instance_sites_unknown: {
    level: 'note',
    reason: 'It is not said where the instances stand, so nothing can be said about the loss of a site.',
    fix: 'Set `ha.site` and `ha.peers[].site`.',
  },
  one_heartbeat_link: {
    level: 'warning',
    reason:
      'There is one heartbeat link: one cable or switch can make both instances believe that they are alone.',
    fix: 'Add `m2`, at an address of its own, to `ha.listen` and to every peer, on a network that shares no switch with `m1`.',
  },
  no_witness: {
    level: 'note',
    reason:
      'The instances stand on several sites: if the sites lose sight of each other, both hold the virtual IP until they meet again.',
    fix: 'Set `ha.witness` (needs `registry.driver: cassandra`).',
  },
  not_alone: {
    level: 'warning',
    reason: 'Another server shares this machine: its load delays heartbeats and calls.',
    fix: 'Give DSBC a server of its own.',
  },
  registry_public: {
    level: 'warning',
    reason: 'Cassandra is reached over a public address: it should not be reachable from outside at all.',
    fix: 'Put Cassandra into the private network, and use its addresses there.',
  },
  registry_single: {
    level: 'warning',
    reason:
      'One contact point: if that Cassandra node is away when an instance starts, the registry is away.',
    fix: 'List at least three nodes in `registry.contact_points`.',
  },
  registry_local: {
    level: 'warning',
    reason:
      'Every instance of the group has a registry of its own: they will disagree about where accounts are.',
    fix: 'Use `registry.driver: cassandra`, which all instances share.',
  },
  registry_memory: {
    level: 'note',
    reason: 'The registry is in memory: entries and operator decisions are gone when the process ends.',
    fix: 'Use `registry.driver: lmdb` on one machine, `cassandra` for a group.',
  },
  logserver_none: {
    level: 'note',
    reason: 'Log lines stay on this machine: after its loss nobody can say what happened.',
    fix: 'Set `log.syslog` to your LogServer.',
  },
  logserver_public: {
    level: 'warning',
    reason: 'Log lines with numbers and addresses travel over a public network in clear text.',
    fix: 'Put the LogServer into the private network, or set `log.syslog.protocol: tls`.',
  },
  mtu_headroom: {
    level: 'warning',
    reason:
      'RFC 3261 §18.1.1 leaves 200 bytes of head-room: larger datagrams are cut into fragments, which many firewalls drop.',
    fix: 'Set `mtu` to 1300, or to the path MTU less 200.',
  },
  mtu_no_tcp: {
    level: 'note',
    reason:
      'Path, Via and Record-Route add some 250 bytes; a large INVITE for this site has no way but UDP fragments.',
    fix: 'Set `tcp: true` on nodes that take TCP.',
  },
  single_site: {
    level: 'note',
    reason: 'The system has one site: nothing can take its calls while it is down or updated.',
    fix: 'Add a site, with a share of 0 if it is to be a backup only.',
  },
  site_unreachable: {
    level: 'warning',
    reason:
      'This SIP server can send to no node of the site: its entry is of another address family (IPv4, IPv6) or lacks the transport. What comes in there never gets to this site.',
    fix: 'Give the site a node that this entry reaches, or the entry the transport (`transports`, `tls_port`).',
  },
  net_of_two_sites: {
    level: 'warning',
    reason: 'Two sites trust the same network: all that comes from it counts as of the first.',
    fix: 'Name the narrower networks of each site.',
  },
  net_wide: {
    level: 'warning',
    reason:
      'So wide a network takes phones of strangers for a site or peer: what they say of who they are may be believed, and no limit holds for them.',
    fix: "Name the addresses that are really the site's or the peer's.",
  },
  no_default_system: {
    level: 'note',
    reason:
      'Keys that the registry does not know are answered 404, and so is every key that is not cached while the registry is away.',
    fix: 'Set `default_system` if one system is to take them.',
  },
  nat_key_random: {
    level: 'warning',
    reason:
      'Flow tokens are signed with a random key: after a restart no phone behind NAT can be called until it registers again.',
    fix: 'Set `nat.keys`.',
  },
  secret_shipped: {
    level: 'warning',
    reason: 'This secret is the one that the examples ship with: everybody knows it.',
    fix: 'Make one of your own with `openssl rand -hex 32`: the same on every instance of a group, except `admin.token`.',
  },
  admin_clear: {
    level: 'warning',
    reason: 'The admin API is reached from outside over plain HTTP: its token can be read on the way.',
    fix: 'Listen on loopback or a private address, or set `admin.cert_file` and `admin.key_file`.',
  },
  file_unreadable: {
    level: 'warning',
    reason:
      'A file that is read at the start cannot be read here, is no PEM, or holds another key than its certificate: on this machine `dsbc run` would refuse to start.',
    fix: 'Put the right one there, readable for the user that runs dsbc. Checked on another machine than it serves on: `--no-files`.',
  },
  registry_unwritable: {
    level: 'warning',
    reason:
      'The registry file cannot be made or written here: on this machine `dsbc run` would end with DSBC_REGISTRY_UNAVAILABLE.',
    fix: 'Make the folder, and let the user that runs dsbc write it, the file and the `-lock` file beside it. Checked on another machine than it serves on: `--no-files`.',
  },
  public_addresses: {
    level: 'note',
    reason: 'Public addresses this installation takes: virtual IPs, DSBC servers and site nodes.',
    fix: 'Order so many (two sites: 5 or 7 with one virtual IP, 6 or 8 with two).',
  },
} as const satisfies Readonly<Record<string, AdviceEntry>>;

export type AdviceCode = keyof typeof ADVICE;

/** The table as Markdown, for docs/cli.md. */
export function adviceReference(): string {
  const rows = Object.entries(ADVICE).map(
    ([code, { level, reason, fix }]) => `| \`${code}\` | ${level} | ${reason} | ${fix} |`,
  );
  return ['| code | level | reason | fix |', '| --- | --- | --- | --- |', ...rows].join('\n');
}
