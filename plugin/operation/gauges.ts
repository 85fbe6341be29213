import type { GroupOperation } from '../admin/operation';
import type { GroupView } from '../admin/views';
import type { Dsbc } from '../main';
import type { EventHandler } from '../registry/provisioning/handler';
import { NODE_STATES } from '../routing/states';
import type { CounterName } from '../telemetry/metric-table';
import type { SitesDesk } from './sites';
import { registryState } from './status';
import { packageVersion } from './version';

/** Counters kept elsewhere as running totals: what came since the last reading is added. */
class Totals {
  readonly #before = new Map<string, number>();

  /** How much a total has grown. */
  growth(name: string, total: number): number {
    const grown = total - (this.#before.get(name) ?? 0);
    this.#before.set(name, total);
    return Math.max(0, grown);
  }
}

/** What there is beside the instance itself. */
export interface GaugeSources {
  /** Absent until the registry is open. */
  readonly events: () => EventHandler | undefined;
  /** Absent until the group is joined, and for an instance that stands alone. */
  readonly group: () => GroupOperation | undefined;
}

/** Sets what is not counted as it happens, whenever the metrics are read. Returns a function that ends it. */
export function keepGauges(dsbc: Dsbc, sites: SitesDesk, { events, group }: GaugeSources): () => void {
  const { metrics } = dsbc;
  const totals = new Totals();
  const grow = (
    name: CounterName &
      (
        | 'dsbc_bindings_refused_total'
        | 'dsbc_flows_abandoned_total'
        | 'dsbc_log_lines_dropped_total'
        | 'dsbc_cache_invalidations_total'
      ),
    total: number,
  ): void => metrics.add(name, {}, totals.growth(name, total));
  metrics.set('dsbc_build_info', { version: packageVersion(), node: process.versions.node }, 1);
  return metrics.onCollect(async () => {
    if (dsbc.native !== undefined) {
      const { running, mode } = dsbc.native;
      metrics.set('dsbc_native_info', { running, mode }, 1);
    }
    metrics.set('dsbc_requests_in_flight', {}, dsbc.admission.inFlight);
    metrics.set('dsbc_registry_up', {}, registryState(dsbc).up ? 1 : 0);
    metrics.set('dsbc_bindings', {}, dsbc.bindings.size);
    metrics.set('dsbc_flows', {}, dsbc.bindings.flowCount);
    grow('dsbc_bindings_refused_total', dsbc.bindings.refused);
    grow('dsbc_log_lines_dropped_total', dsbc.logLinesDropped);
    if (dsbc.logServerTrouble !== undefined)
      metrics.set('dsbc_logserver_up', {}, dsbc.logServerTrouble === '' ? 1 : 0);
    const pings = dsbc.keepalive?.counts;
    if (pings !== undefined) {
      metrics.add('dsbc_pings_total', { result: 'answered' }, totals.growth('answered', pings.answered));
      metrics.add('dsbc_pings_total', { result: 'missed' }, totals.growth('missed', pings.missed));
      grow('dsbc_flows_abandoned_total', pings.abandoned);
    }
    cacheGauges(dsbc, totals);
    siteGauges(dsbc, sites);
    for (const [outcome, total] of Object.entries(events()?.statistics() ?? {}))
      metrics.add('dsbc_events_total', { outcome }, totals.growth(`event ${outcome}`, total));
    const joined = group();
    if (joined !== undefined) groupGauges(dsbc, await joined.group(), totals);
  });
}

function cacheGauges({ cache, metrics }: Dsbc, totals: Totals): void {
  if (cache === undefined) return;
  const {
    size,
    loading: _loading,
    failing: _failing,
    sinceFailure: _since,
    invalidated,
    ...events
  } = cache.statistics();
  metrics.set('dsbc_cache_entries', {}, size);
  metrics.add('dsbc_cache_invalidations_total', {}, totals.growth('invalidated', invalidated));
  for (const [result, total] of Object.entries(events))
    metrics.add('dsbc_registry_lookups_total', { result }, totals.growth(`lookup ${result}`, total));
}

function siteGauges({ metrics, health }: Dsbc, sites: SitesDesk): void {
  for (const name of ['dsbc_site_state', 'dsbc_site_share', 'dsbc_node_up'] as const) metrics.clear(name);
  for (const { system, site, state, share } of sites.states()) {
    metrics.set('dsbc_site_share', { system, site }, share);
    for (const each of NODE_STATES)
      metrics.set('dsbc_site_state', { system, site, state: each }, each === state ? 1 : 0);
  }
  for (const { destination, health: seen } of health.reports()) {
    const { system, site, node } = destination;
    metrics.set('dsbc_node_up', { system, site, node }, seen.state === 'up' ? 1 : 0);
  }
}

function groupGauges({ metrics }: Dsbc, group: GroupView, totals: Totals): void {
  for (const name of ['dsbc_group_state', 'dsbc_group_peer_up'] as const) metrics.clear(name);
  metrics.set('dsbc_group_state', { state: group.state }, 1);
  metrics.set('dsbc_group_conflict', {}, group.alarms.some(({ name }) => name === 'split_brain') ? 1 : 0);
  for (const { instance, state } of group.peers)
    metrics.set('dsbc_group_peer_up', { peer: instance }, state === 'unheard' ? 0 : 1);
  for (const [reason, total] of Object.entries(group.heartbeats_refused))
    metrics.add(
      'dsbc_group_heartbeats_refused_total',
      { reason },
      totals.growth(`heartbeat ${reason}`, total),
    );
}
