import { OrderRefused } from '../admin/operation';
import type { NodeView, SiteOrder, SiteView } from '../admin/views';
import type { Dsbc } from '../main';
import type { OperatorDecision } from '../registry/registry';
import type { NodeReport } from '../routing/health';
import { namedSite } from '../routing/named-site';
import { effectiveShares } from '../routing/share';
import { nodeKey, type SiteModel, type SystemModel } from '../routing/snapshot';
import type { NodeState } from '../routing/states';

/** From the best to the worst; a site is in the state of its best node. */
const RANK: readonly NodeState[] = ['active', 'drain', 'down', 'maintenance'];

const better = (a: NodeState, b: NodeState): NodeState => (RANK.indexOf(a) <= RANK.indexOf(b) ? a : b);

/** Everything that is shown of sites and nodes; with several SIP servers, what the best placed one sees. */
export class SitesDesk {
  readonly #dsbc: Dsbc;
  readonly #now: () => number;

  constructor(dsbc: Dsbc, now: () => number) {
    this.#dsbc = dsbc;
    this.#now = now;
  }

  async views(): Promise<SiteView[]> {
    const [traffic, decisions] = await Promise.all([this.#traffic(), this.#decisions()]);
    const reports = this.#dsbc.health.reports();
    return [...this.#dsbc.snapshot.systems.values()].flatMap((system) =>
      this.#systemViews(system, decisions, reports, traffic),
    );
  }

  /** Shares and states as they are now, without traffic; quick enough for every reading of the metrics. */
  states(): { system: string; site: string; state: NodeState; share: number }[] {
    return [...this.#dsbc.snapshot.systems.values()].flatMap((system) => {
      const states = system.sites.map((site) => this.#siteState(system, site));
      const shares = sharesNow(system, states);
      return system.sites.map((site, index) => ({
        system: system.name,
        site: site.name,
        state: states[index] ?? 'down',
        share: shares[index] ?? 0,
      }));
    });
  }

  /** Stores an operator's decision, so that all instances follow. */
  async order(systemName: string, siteName: string, order: SiteOrder): Promise<SiteView> {
    const found = namedSite(this.#dsbc.snapshot, systemName, siteName);
    if (!found.ok) throw new OrderRefused('not_found', found.reason);
    const { system, site } = found;
    const { node, state, by, why } = order;
    const nodes = site.nodes.map(({ destination }) => destination.node);
    if (node !== undefined && !nodes.includes(node))
      throw new OrderRefused(
        'not_found',
        `${systemName}/${siteName} has no node ${node}: it has ${nodes.join(', ')}.`,
      );
    if (state !== 'active' && !order.force) this.#refuseIfLast(system, site, node);
    const { registry } = this.#dsbc;
    if (registry === undefined) throw new OrderRefused('conflict', 'The registry is not open.');
    await registry.putDecision({
      system: systemName,
      site: siteName,
      ...(node === undefined ? {} : { node }),
      state,
      by,
      why,
      at: new Date().toISOString(),
    });
    // The others hear of it by the registry; here it holds at once.
    this.#dsbc.states.decide(await registry.listDecisions());
    const view = (await this.views()).find((each) => each.system === systemName && each.site === siteName);
    if (view === undefined)
      throw new OrderRefused('not_found', `There is no site ${systemName}/${siteName} any more.`);
    return view;
  }

  /** Refuses what would leave a system without an active site. */
  #refuseIfLast(system: SystemModel, site: SiteModel, node: string | undefined): void {
    const isActive = (other: SiteModel): boolean => this.#siteState(system, other) === 'active';
    if (system.sites.some((other) => other !== site && isActive(other))) return;
    if (!isActive(site)) return;
    const rest = site.nodes.filter(
      ({ destination, key }) => destination.node !== node && this.#nodeState(key) === 'active',
    );
    if (node !== undefined && rest.length > 0) return;
    throw new OrderRefused('conflict', `System ${system.name} would have no active site left.`);
  }

  #systemViews(
    system: SystemModel,
    decisions: readonly OperatorDecision[],
    reports: readonly NodeReport[],
    traffic: ReadonlyMap<string, Record<string, number>>,
  ): SiteView[] {
    const states = system.sites.map((site) => this.#siteState(system, site));
    const shares = sharesNow(system, states);
    return system.sites.map((site, index) => ({
      system: system.name,
      site: site.name,
      state: states[index] ?? 'down',
      share_configured: site.share,
      share_now: shares[index] ?? 0,
      operator: operatorOf(decisions, system.name, site.name, undefined),
      nodes: site.nodes.map(({ key, destination }) => ({
        uri: destination.node,
        state: this.#nodeState(key),
        ...this.#healthOf(key, reports),
        operator: operatorOf(decisions, system.name, site.name, destination.node),
      })),
      requests: traffic.get(`${system.name}/${site.name}`) ?? {},
    }));
  }

  #siteState(_system: SystemModel, site: SiteModel): NodeState {
    return site.nodes.map(({ key }) => this.#nodeState(key)).reduce(better, 'maintenance');
  }

  #nodeState(key: string): NodeState {
    const servers = [...this.#dsbc.servers.links.keys()];
    if (servers.length === 0) return this.#dsbc.states.of('').get(key) ?? 'active';
    return servers
      .map((server) => this.#dsbc.states.of(server).get(key) ?? 'active')
      .reduce(better, 'maintenance');
  }

  #healthOf(
    key: string,
    reports: readonly NodeReport[],
  ): Pick<NodeView, 'healthy' | 'reason' | 'since_s' | 'last_code' | 'latency_ms'> {
    const own = reports.filter(
      ({ destination }) => nodeKey(destination.system, destination.site, destination.node) === key,
    );
    const report = own.find(({ health }) => health.state === 'up') ?? own[0];
    if (report === undefined)
      return { healthy: false, reason: 'not watched', since_s: null, last_code: null, latency_ms: null };
    const { reason, since, lastStatus, lastMilliseconds } = report.health;
    return {
      healthy: report.health.state === 'up',
      reason,
      since_s: Math.max(0, Math.round((this.#now() - since) / 1000)),
      last_code: lastStatus ?? null,
      latency_ms: lastMilliseconds === undefined ? null : Number(lastMilliseconds.toFixed(2)),
    };
  }

  async #traffic(): Promise<Map<string, Record<string, number>>> {
    const sites = new Map<string, Record<string, number>>();
    for (const { labels, value } of await this.#dsbc.metrics.values('dsbc_dispatched_total')) {
      const { system = '', site = '', method = '' } = labels;
      const counts = sites.get(`${system}/${site}`) ?? {};
      counts[method] = (counts[method] ?? 0) + value;
      sites.set(`${system}/${site}`, counts);
    }
    return sites;
  }

  /** Who decided, and why; a registry that is away costs this only, the states themselves are known. */
  async #decisions(): Promise<readonly OperatorDecision[]> {
    try {
      return (await this.#dsbc.registry?.listDecisions()) ?? [];
    } catch (error) {
      this.#dsbc.log.warn({ err: error }, "operators' decisions can't be read");
      return [];
    }
  }
}

/** A site that is not active takes no new accounts. */
function sharesNow(system: SystemModel, states: readonly NodeState[]): readonly number[] {
  return effectiveShares(
    system.sites.map((site) => site.share),
    states.map((state) => state === 'active'),
  );
}

function operatorOf(
  decisions: readonly OperatorDecision[],
  system: string,
  site: string,
  node: string | undefined,
): SiteView['operator'] {
  const found = decisions.find((each) => each.system === system && each.site === site && each.node === node);
  if (found === undefined) return null;
  const { state, by, at, why } = found;
  return { state, by, at, why };
}
