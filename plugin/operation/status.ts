import type { CacheView, FlowsView, ReadinessView, StatusView } from '../admin/views';
import type { Dsbc } from '../main';
import { packageVersion } from './version';

/** Why this instance can't serve; empty if it can. */
export function readiness(dsbc: Dsbc): ReadinessView {
  const reasons: string[] = [];
  if (dsbc.state !== 'running') reasons.push(`it is ${dsbc.state}`);
  if (dsbc.admission.mode !== 'serving') reasons.push(`it is ${dsbc.admission.mode}`);
  for (const [name, { state, trouble }] of dsbc.servers.links)
    if (state !== 'connected')
      reasons.push(`SIP server ${name} is ${state}${trouble === undefined ? '' : `: ${trouble}`}`);
  const status = dsbc.isReady && dsbc.admission.mode === 'serving' ? 'ready' : 'not_ready';
  return { status, reasons };
}

/** This instance at a glance. */
export async function status(dsbc: Dsbc, startedAt: number, now: number): Promise<StatusView> {
  const { status: ready, reasons } = readiness(dsbc);
  const { config } = dsbc;
  return {
    instance: config.instance,
    version: packageVersion(),
    state: dsbc.state,
    ready: ready === 'ready',
    reasons,
    uptime_s: Math.round((now - startedAt) / 1000),
    in_flight: dsbc.admission.inFlight,
    requests: await requestsByMethod(dsbc),
    sip_servers: config.sip_servers.map(({ name, server, entry }) => ({
      name,
      server,
      address: entry.address,
      port: entry.port,
      state: dsbc.servers.links.get(name)?.state ?? 'closed',
      trouble: dsbc.servers.trouble(name) ?? '',
    })),
    registry: { driver: config.registry.driver, up: registryIsUp(dsbc) },
    native: dsbc.native ?? null,
    log_lines_dropped: dsbc.logLinesDropped,
  };
}

/** The registry is taken to be up until a question to it fails. */
export function registryIsUp(dsbc: Dsbc): boolean {
  return dsbc.registry !== undefined && dsbc.cache?.statistics().failing !== true;
}

export function cacheView(dsbc: Dsbc): CacheView {
  const statistics = dsbc.cache?.statistics();
  if (statistics === undefined) return { entries: 0, loading: 0, failing: false, events: {} };
  const { size, loading, failing, ...events } = statistics;
  return { entries: size, loading, failing, events };
}

export function flowsView(dsbc: Dsbc, limit: number, search: string): FlowsView {
  const { bindings, keepalive } = dsbc;
  const found = bindings.list(limit + 1, search);
  return {
    bindings: bindings.size,
    flows: bindings.flowCount,
    refused: bindings.refused,
    pings: { ...keepalive?.counts },
    more: found.length > limit,
    list: found.slice(0, limit).map(({ aor, contact, flow, expiresIn, pinged, misses }) => ({
      aor,
      contact,
      transport: flow.transport,
      remote: flow.remote,
      entry: flow.entry,
      expires_in_s: expiresIn,
      pinged,
      misses,
    })),
  };
}

async function requestsByMethod(dsbc: Dsbc): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { labels, value } of await dsbc.metrics.values('dsbc_requests_total')) {
    const { method = '' } = labels;
    counts[method] = (counts[method] ?? 0) + value;
  }
  return counts;
}
