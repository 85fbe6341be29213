/** One metric: what Prometheus is told about it, and docs/metrics.md with it. */
export interface MetricSpec {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds in seconds, histograms only. */
  readonly buckets?: readonly number[];
}

const CALL_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32] as const;
const LOOKUP_SECONDS = [
  0.00001, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
] as const;

/** Every metric of the product. Labels have few values: no accounts, numbers, Call-IDs or addresses of endpoints. */
export const METRICS = {
  dsbc_build_info: {
    type: 'gauge',
    help: 'Always 1; its labels name the versions.',
    labels: ['version', 'node'],
  },
  dsbc_native_info: {
    type: 'gauge',
    help: 'Always 1; its labels name what runs, `native` or `typescript`, and the mode that is configured (docs/native.md).',
    labels: ['running', 'mode'],
  },
  dsbc_requests_total: {
    type: 'counter',
    help: 'Requests by method, role of the source, and final status as heard by it (0: none).',
    labels: ['method', 'role', 'status'],
  },
  dsbc_request_seconds: {
    type: 'histogram',
    help: 'Time from a request to its final answer.',
    labels: ['method', 'relay'],
    buckets: CALL_SECONDS,
  },
  dsbc_requests_in_flight: { type: 'gauge', help: 'Requests under way.', labels: [] },
  dsbc_requests_refused_total: {
    type: 'counter',
    help: 'Requests turned away before routing: standby, draining, too_many, too_many_of_source, too_fast, blocked.',
    labels: ['reason'],
  },
  dsbc_dispatched_total: {
    type: 'counter',
    help: 'Requests by the site they were first sent to.',
    labels: ['system', 'site', 'method'],
  },
  dsbc_attempts_total: {
    type: 'counter',
    help: 'Attempts by site and how they ended: answered, timeout, transport_error, unavailable, cancelled.',
    labels: ['system', 'site', 'outcome'],
  },
  dsbc_failovers_total: {
    type: 'counter',
    help: 'Requests that moved on to another node.',
    labels: ['system', 'method'],
  },
  dsbc_requests_delayed_total: {
    type: 'counter',
    help: 'Requests that another node answered after the first one failed, by how that failed: timeout, transport_error, link_lost, unavailable (503).',
    labels: ['method', 'relay', 'reason'],
  },
  dsbc_requests_lost_total: {
    type: 'counter',
    help: 'Requests that no node answered. The last attempt ended in timeout, transport_error or unavailable; or no_node (none could be tried), link_lost, no_outcome (the SIP server did not say), server_refused, caller_gone.',
    labels: ['method', 'relay', 'reason'],
  },
  dsbc_mtu_exceeded_total: {
    type: 'counter',
    help: 'Requests that outgrew `mtu` over UDP, and what was done: tcp or udp.',
    labels: ['method', 'sent_over'],
  },
  dsbc_sip_server_up: { type: 'gauge', help: '1 while the SIP server is connected.', labels: ['server'] },
  dsbc_sip_server_losses_total: {
    type: 'counter',
    help: 'Connections to a SIP server that were lost.',
    labels: ['server'],
  },
  dsbc_node_up: {
    type: 'gauge',
    help: '1 while health says that the node is up.',
    labels: ['system', 'site', 'node'],
  },
  dsbc_probe_seconds: {
    type: 'histogram',
    help: 'Answer time of health probes.',
    labels: ['system', 'site'],
    buckets: CALL_SECONDS,
  },
  dsbc_ejections_total: {
    type: 'counter',
    help: 'Nodes left out because real traffic failed.',
    labels: ['system', 'site'],
  },
  dsbc_site_state: {
    type: 'gauge',
    help: '1 for the state a site is in: active, drain, maintenance, down.',
    labels: ['system', 'site', 'state'],
  },
  dsbc_site_share: {
    type: 'gauge',
    help: 'Share of new accounts that a site gets now, 0 to 1.',
    labels: ['system', 'site'],
  },
  dsbc_registry_up: {
    type: 'gauge',
    help: '1 while the forwarding registry answers: it is open and connected, and look-ups do not fail.',
    labels: [],
  },
  dsbc_registry_lookups_total: {
    type: 'counter',
    help: 'What the look-up cache did: hit, negative_hit, miss, coalesced, stale_while_revalidate, stale_if_error, load, load_failed, load_overtaken, evicted.',
    labels: ['result'],
  },
  dsbc_registry_lookup_seconds: {
    type: 'histogram',
    help: 'Time of look-ups in the registry itself, cache misses only.',
    labels: [],
    buckets: LOOKUP_SECONDS,
  },
  dsbc_cache_entries: { type: 'gauge', help: 'Answers in the cache.', labels: [] },
  dsbc_cache_invalidations_total: {
    type: 'counter',
    help: 'Answers dropped because their entry changed.',
    labels: [],
  },
  dsbc_events_total: {
    type: 'counter',
    help: 'Provisioning events by outcome: applied, duplicate, unknown, invalid, unavailable.',
    labels: ['outcome'],
  },
  dsbc_bindings: { type: 'gauge', help: 'Registrations known for keepalive.', labels: [] },
  dsbc_flows: { type: 'gauge', help: 'Ways to endpoints known for keepalive.', labels: [] },
  dsbc_bindings_refused_total: {
    type: 'counter',
    help: 'Registrations not taken in because the table was full.',
    labels: [],
  },
  dsbc_pings_total: { type: 'counter', help: 'Keepalive pings: answered or missed.', labels: ['result'] },
  dsbc_flows_abandoned_total: {
    type: 'counter',
    help: 'Flows no longer pinged because they did not answer.',
    labels: [],
  },
  dsbc_tokens_rejected_total: {
    type: 'counter',
    help: 'Requests with a flow token that is not valid: bad_token, unknown_key.',
    labels: ['reason'],
  },
  dsbc_hook_failures_total: {
    type: 'counter',
    help: 'Hooks that threw, were late or returned what they may not: error, timeout, result.',
    labels: ['hook', 'reason'],
  },
  dsbc_group_state: {
    type: 'gauge',
    help: '1 for the state this instance is in within its group.',
    labels: ['state'],
  },
  dsbc_group_transitions_total: { type: 'counter', help: 'Changes of that state.', labels: ['to'] },
  dsbc_group_peer_up: { type: 'gauge', help: '1 while heartbeats of a peer are heard.', labels: ['peer'] },
  dsbc_group_conflict: {
    type: 'gauge',
    help: '1 while another instance claims to be active too (split brain).',
    labels: [],
  },
  dsbc_group_alarms_total: {
    type: 'counter',
    help: 'Alarms of the group that began, by name (ha.md).',
    labels: ['alarm'],
  },
  dsbc_group_heartbeats_refused_total: {
    type: 'counter',
    help: 'Heartbeats that were not taken, by reason: malformed, forged, foreign, version.',
    labels: ['reason'],
  },
  dsbc_config_reloads_total: { type: 'counter', help: 'Reloads: applied or rejected.', labels: ['outcome'] },
  dsbc_logserver_up: {
    type: 'gauge',
    help: '1 while nothing is known against the LogServer of `log.syslog`; over UDP only a refusal is seen. Absent without one.',
    labels: [],
  },
  dsbc_log_lines_dropped_total: {
    type: 'counter',
    help: 'Log lines that could not be sent to the LogServer, or that nobody took from the standard output.',
    labels: [],
  },
} as const satisfies Readonly<Record<string, MetricSpec>>;

type Table = typeof METRICS;
export type MetricName = keyof Table;
type NameOf<Type> = { [Name in MetricName]: Table[Name]['type'] extends Type ? Name : never }[MetricName];
export type CounterName = NameOf<'counter'>;
export type GaugeName = NameOf<'gauge'>;
export type HistogramName = NameOf<'histogram'>;

/** The labels of a metric: all of them, no others. */
export type LabelsOf<Name extends MetricName> = Readonly<Record<Table[Name]['labels'][number], string>>;

/** The table as Markdown, for docs/metrics.md. */
export function metricsReference(): string {
  const rows = Object.entries(METRICS).map(
    ([name, { type, help, labels }]) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  );
  return ['| metric | type | labels | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}
