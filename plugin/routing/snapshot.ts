import { parseUri } from '../message/uri';
import { AddressTable, canonicalHost } from './address';
import type { Destination } from './decision';
import { hashText } from './hash';
import { OwnNames } from './own-names';
import { makeSchedule, type Schedule } from './rotation';
import type {
  Affinity,
  DialogMode,
  NatDialogs,
  OutboundRule,
  PeerSettings,
  RoutingSettings,
  SystemSettings,
} from './settings';
import { configuredShares, shareSite, type ShareSite } from './share';

/** Who the source of a packet is. */
export type Source =
  | { readonly role: 'endpoint' }
  | { readonly role: 'peer'; readonly peer: PeerSettings }
  | { readonly role: 'site'; readonly system: string; readonly site: string };

export interface NodeModel {
  /** `system/site/uri`, the name under which states are kept. */
  readonly key: string;
  readonly destination: Destination;
  readonly seed: number;
}

export interface SiteModel extends ShareSite {
  readonly nodes: readonly NodeModel[];
  readonly natDialogs: NatDialogs;
}

export interface SystemModel {
  readonly name: string;
  /** Host part of the Request-URIs we build; undefined: the caller's, if it is a domain of ours, else the first domain. */
  readonly domain: string | undefined;
  readonly affinity: Affinity;
  readonly sites: readonly SiteModel[];
  readonly schedule: Schedule;
}

/** Everything of the configuration that a decision uses, made once per reload and never changed. */
export interface Snapshot {
  readonly systems: ReadonlyMap<string, SystemModel>;
  readonly defaultSystem: string | undefined;
  /** True: keys that can't be looked up are refused rather than sent to the default system. */
  readonly rejectOnRegistryError: boolean;
  readonly own: OwnNames;
  readonly firstDomain: string;
  readonly sources: AddressTable<Source>;
  readonly nodeHosts: ReadonlySet<string>;
  readonly peers: readonly PeerSettings[];
  readonly outbound: readonly OutboundRule[];
  readonly interSystem: 'redirect' | 'relay';
  readonly dialogs: { readonly endpoint: DialogMode; readonly peer: DialogMode };
}

const ENDPOINT: Source = Object.freeze({ role: 'endpoint' });

/** The names `system/site/uri` and `system/site`, under which node and site states are kept. */
export const nodeKey = (system: string, site: string, node: string): string => `${system}/${site}/${node}`;

/** Who a packet from this address comes from; the most specific network of the configuration decides. */
export const sourceOf = (snapshot: Snapshot, address: string): Source =>
  snapshot.sources.find(address) ?? ENDPOINT;

/** The node of this name, if the configuration has it. */
export const destinationOf = (
  snapshot: Snapshot,
  { system, site, node }: Pick<Destination, 'system' | 'site' | 'node'>,
): Destination | undefined =>
  snapshot.systems
    .get(system)
    ?.sites.find(({ name }) => name === site)
    ?.nodes.find(({ destination }) => destination.node === node)?.destination;

/** Makes the snapshot of a validated configuration. */
export function makeSnapshot(settings: RoutingSettings): Snapshot {
  const systems = new Map(
    Object.entries(settings.systems).map(([name, system]) => [name, systemModel(name, system)]),
  );
  const peers = settings.peers ?? [];
  const systemDomains = [...systems.values()].flatMap((system) => system.domain ?? []);
  const entries = settings.sip_servers.flatMap(({ entry }) =>
    [entry.port, entry.tls_port, entry.ws_port, entry.wss_port].flatMap((port) =>
      port === undefined ? [] : { address: entry.address, port },
    ),
  );
  const nodes = [...systems.values()].flatMap((system) => system.sites.flatMap((site) => site.nodes));
  return {
    systems,
    defaultSystem: settings.default_system,
    rejectOnRegistryError: settings.registry?.on_error === 'reject',
    own: new OwnNames(entries, [...settings.domains, ...systemDomains]),
    firstDomain: settings.domains[0] ?? systemDomains[0] ?? bracketed(entries[0]?.address ?? 'localhost'),
    sources: sourceTable(settings, nodes, peers),
    nodeHosts: new Set(nodes.flatMap((node) => hostOf(node.destination.uri) ?? [])),
    peers,
    outbound: settings.outbound?.allow ?? [],
    interSystem: settings.inter_system ?? 'redirect',
    dialogs: settings.dialogs ?? { endpoint: 'auto', peer: 'auto' },
  };
}

const bracketed = (host: string): string =>
  host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;

function hostOf(uri: string): string | undefined {
  const parsed = parseUri(uri);
  return parsed === undefined ? undefined : canonicalHost(parsed.host);
}

/** Sites are entered before peers: an address named by both is the site's. */
function sourceTable(
  settings: RoutingSettings,
  nodes: readonly NodeModel[],
  peers: readonly PeerSettings[],
): AddressTable<Source> {
  const table = new AddressTable<Source>();
  for (const { destination } of nodes) {
    const host = parseUri(destination.uri)?.host;
    if (host !== undefined) {
      table.add(host, { role: 'site', system: destination.system, site: destination.site });
    }
  }
  for (const [system, { sites }] of Object.entries(settings.systems)) {
    for (const [site, { trusted_nets: nets = [] }] of Object.entries(sites)) {
      for (const net of nets) table.add(net, { role: 'site', system, site });
    }
  }
  for (const peer of peers) for (const net of peer.nets) table.add(net, { role: 'peer', peer });
  return table;
}

function systemModel(name: string, settings: SystemSettings): SystemModel {
  const names = Object.keys(settings.sites);
  const shares = configuredShares(names, settings.load_distribution);
  const sites = Object.entries(settings.sites).map(
    ([site, { nodes, nat_dialogs: natDialogs }], i): SiteModel => ({
      ...shareSite(name, site, shares[i] ?? 0),
      natDialogs: natDialogs ?? 'on_path',
      nodes: nodes.map(({ uri, tcp }) => ({
        key: nodeKey(name, site, uri),
        destination: Object.freeze({ system: name, site, node: uri, uri, ...(tcp === true ? { tcp } : {}) }),
        seed: hashText(`node ${name}/${site}/${uri}`),
      })),
    }),
  );
  return {
    name,
    domain: settings.domain,
    affinity: settings.affinity,
    sites,
    schedule: makeSchedule(shares),
  };
}
