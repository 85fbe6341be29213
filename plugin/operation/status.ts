import type { CacheView, FlowsView, ReadinessView, RegistryState, StatusView } from '../admin/views';
import type { Dsbc } from '../main';
import type { LookupCache } from '../registry/cache';
import type { Registry } from '../registry/registry';
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
    registry: registryState(dsbc),
    native: dsbc.native ?? null,
    log_lines_dropped: dsbc.logLinesDropped,
    log_server: logServer(dsbc),
  };
}

function logServer({ logServerTrouble: trouble }: Dsbc): StatusView['log_server'] {
  return trouble === undefined ? null : { up: trouble === '', trouble };
}

/** A store that tells when it is away is believed again so long after a look-up failed, in ms. */
const FAILED_LATELY_MS = 10_000;

/** Whether the registry can be asked, as far as is known: it is open and connected, and look-ups do not fail. */
export function registryState({ config, registry, cache }: Dsbc): RegistryState {
  const { driver } = config.registry;
  const trouble =
    registry === undefined ? 'it is not open' : (registry.trouble ?? lookupTrouble(registry, cache));
  return { driver, up: trouble === undefined, trouble: trouble ?? '' };
}

function lookupTrouble(registry: Registry, cache: LookupCache | undefined): string | undefined {
  const { failing = false, sinceFailure = 0 } = cache?.statistics() ?? {};
  const isOld = 'trouble' in registry && sinceFailure > FAILED_LATELY_MS;
  return failing && !isOld ? 'the last look-up failed' : undefined;
}

export function cacheView(dsbc: Dsbc): CacheView {
  const statistics = dsbc.cache?.statistics();
  if (statistics === undefined) return { entries: 0, loading: 0, failing: false, events: {} };
  const { size, loading, failing, sinceFailure: _, ...events } = statistics;
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
      pinged: pinged && dsbc.config.nat.keepalive.enabled,
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
