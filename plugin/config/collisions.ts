import { canonicalNet, parseHostPort, parseNodeUri, sameSpelling } from './address';
import type { Report, Structure } from './cross-check';

/** Port of a heartbeat link that names none, as in ha/settings.ts. */
const HEARTBEAT_PORT = 5405;

/** What can have only one owner: sockets of this machine, ends of heartbeat links, source networks. */
export function checkCollisions(config: Structure, report: Report): void {
  checkEntries(config, report);
  checkControls(config, report);
  checkAdminSocket(config, report);
  checkHeartbeats(config, report);
  checkPeerNets(config, report);
}

/** Two SIP servers at one address need other ports for TCP, TLS, WS and WSS. */
function checkEntries({ sip_servers }: Structure, report: Report): void {
  const owners = new Map<string, string>();
  sip_servers.forEach(({ name, entry }, index) => {
    for (const key of ['port', 'tls_port', 'ws_port', 'wss_port'] as const) {
      const port = entry[key];
      if (port === undefined || (key === 'port' && !entry.transports.includes('tcp'))) continue;
      const at = `${sameSpelling(entry.address)} port ${port}`;
      const owner = owners.get(at) ?? name;
      if (owner !== name)
        report(
          ['sip_servers', index, 'entry', key],
          'a port of its own for TCP, TLS, WS and WSS',
          `${at}, as of ${owner}`,
        );
      owners.set(at, owner);
    }
  });
}

function checkControls(config: Structure, report: Report): void {
  const controls = new Map<string, string>();
  const captures = new Map<number, string>();
  config.sip_servers.forEach((server, index) => {
    if (server.server !== 'drachtio') return;
    const { host, port, capture_port: capture } = server.control;
    const at = `${sameSpelling(host)} port ${port}`;
    const same = controls.get(at);
    if (same !== undefined)
      report(['sip_servers', index, 'control'], 'a control port of its own', `${at}, as of ${same}`);
    controls.set(at, server.name);
    if (capture === undefined) return;
    const other = captures.get(capture);
    if (other !== undefined)
      report(
        ['sip_servers', index, 'control', 'capture_port'],
        'a port of its own',
        `${capture}, as of ${other}`,
      );
    captures.set(capture, server.name);
  });
}

/** The admin API can't listen where a SIP server does. */
function checkAdminSocket({ admin, sip_servers }: Structure, report: Report): void {
  if (!admin.enabled) return;
  const everywhere = admin.address === '0.0.0.0' || sameSpelling(admin.address) === '::';
  for (const server of sip_servers) {
    const { address, port, transports, tls_port, ws_port, wss_port } = server.entry;
    const taken = [transports.includes('tcp') ? port : undefined, tls_port, ws_port, wss_port].map(
      (each) => [address, each] as const,
    );
    const control = server.server === 'drachtio' ? [[server.control.host, server.control.port] as const] : [];
    const clash = [...taken, ...control].find(
      ([host, each]) =>
        each === admin.port &&
        (sameSpelling(host) === sameSpelling(admin.address) || (everywhere && host === address)),
    );
    if (clash !== undefined)
      report(
        ['admin', 'port'],
        `a port that SIP server ${server.name} does not listen on`,
        `${clash[0]} port ${admin.port}`,
      );
  }
}

/** Every end of every heartbeat link is a socket of its own, and none may move with the VIP. */
function checkHeartbeats({ ha }: Structure, report: Report): void {
  if (ha === undefined) return;
  const vips = new Set(ha.vips.map(({ address }) => sameSpelling(address)));
  const seen = new Map<string, string>();
  const ends = [
    { path: ['ha', 'listen'], links: ha.listen },
    ...ha.peers.map((links, index) => ({ path: ['ha', 'peers', index], links })),
  ];
  for (const { path, links } of ends)
    for (const link of ['m1', 'm2', 'service'] as const) {
      const text = links[link];
      const parsed = text === undefined ? undefined : parseHostPort(text);
      if (text === undefined || parsed === undefined) continue;
      const host = sameSpelling(parsed.host);
      const place = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
      if (vips.has(host))
        report([...path, link], "the instance's own address: a virtual IP moves between instances", text);
      const at = `${host} port ${parsed.port ?? HEARTBEAT_PORT}`;
      const other = seen.get(at);
      if (other !== undefined)
        report(
          [...path, link],
          'an address and port that no other end of a link has',
          `${text}, as of ${other}`,
        );
      seen.set(at, `${place.slice(1)}.${link}`);
    }
}

/** A source belongs to the first that names its network, and to a site before a peer: the other would never be asked. */
function checkPeerNets({ systems, peers }: Structure, report: Report): void {
  const owners = new Map<string, string>();
  for (const [system, { sites }] of Object.entries(systems))
    for (const [site, { nodes, trusted_nets: nets }] of Object.entries(sites)) {
      const hosts = nodes.flatMap(({ uri }) => parseNodeUri(uri)?.host ?? []);
      for (const net of [...hosts, ...nets]) owners.set(canonicalNet(net), `site ${system}/${site}`);
    }
  peers.forEach((peer, index) =>
    peer.nets.forEach((net, at) => {
      const owner = owners.get(canonicalNet(net));
      if (owner !== undefined)
        report(
          ['peers', index, 'nets', at],
          'a network that nobody else has',
          `${net}, which is of ${owner}`,
        );
      else owners.set(canonicalNet(net), `peer ${peer.name}`);
    }),
  );
}
