import { z } from 'zod';

// What the API shows. The types are made from these schemas, and so are the OpenAPI document and the serializers:
// what is not named here is not sent.

const counts = z.record(z.string(), z.number()).describe('Counts by name.');

export const readinessView = z.object({
  status: z.enum(['ready', 'not_ready']),
  reasons: z.array(z.string()).describe('Why it is not ready; empty if it is.'),
});

export const sipServerView = z.object({
  name: z.string(),
  server: z.string(),
  address: z.string(),
  port: z.number(),
  state: z.string().describe('connecting, connected, lost or closed.'),
  trouble: z
    .string()
    .describe(
      'Why it is not connected, or that it does not listen on its entry address; empty if all is well.',
    ),
});

const registryState = z.object({
  driver: z.string(),
  up: z.boolean().describe('It is open and connected, and look-ups do not fail.'),
  trouble: z.string().describe('Why it is not up; empty if it is.'),
});

export const statusView = z.object({
  instance: z.string(),
  version: z.string(),
  state: z.string(),
  ready: z.boolean(),
  reasons: z.array(z.string()),
  uptime_s: z.number(),
  in_flight: z.number().describe('Requests under way.'),
  requests: counts.describe('Requests since start, by method.'),
  sip_servers: z.array(sipServerView),
  registry: registryState,
  native: z
    .object({
      running: z.enum(['native', 'typescript']),
      mode: z.enum(['auto', 'require', 'off']).describe('As configured.'),
      reason: z.string().describe('Why it is this one that runs.'),
    })
    .nullable()
    .describe('The native addon or its TypeScript twin; null before the start.'),
  log_lines_dropped: z.number().describe('Lines that the LogServer or the standard output did not take.'),
  log_server: z
    .object({
      up: z.boolean().describe('Nothing is known against it; over UDP only a refusal is seen.'),
      trouble: z.string().describe('Why it is not reached; empty if it is.'),
    })
    .nullable()
    .describe('The LogServer of `log.syslog`; null without one, or where the application logs.'),
});

const operatorView = z.object({
  state: z.enum(['active', 'maintenance', 'drain']),
  by: z.string(),
  at: z.string(),
  why: z.string(),
});

export const nodeView = z.object({
  uri: z.string(),
  state: z.enum(['active', 'drain', 'maintenance', 'down']),
  healthy: z.boolean().describe('Probes and traffic say that it can be used, whatever operators say.'),
  reason: z.string().describe('Why health says so; empty if there is nothing to say.'),
  since_s: z.number().nullable().describe('Seconds in this state; null if not known.'),
  last_code: z.number().nullable(),
  latency_ms: z.number().nullable(),
  operator: operatorView.nullable(),
});

export const siteView = z.object({
  system: z.string(),
  site: z.string(),
  state: z.enum(['active', 'drain', 'maintenance', 'down']),
  share_configured: z.number().describe('0 to 1.'),
  share_now: z.number().describe('0 to 1, with sites that are out left out.'),
  operator: operatorView.nullable(),
  nodes: z.array(nodeView),
  requests: counts.describe('Requests first sent here since start, by method.'),
});

export const sitesView = z.object({ sites: z.array(siteView) });

export const operatorStates = ['active', 'maintenance', 'drain'] as const;

/** An operator's order for a site, or one node of it. */
export const siteOrder = z.strictObject({
  state: z.enum(operatorStates),
  node: z.string().optional().describe('URI of one node; absent: the whole site.'),
  why: z.string().max(500).default(''),
  by: z.string().max(100).default('api'),
  force: z.boolean().default(false).describe('Also if it leaves the system without an active site.'),
});

export const registryView = registryState.extend({ lookups: counts });

export const lookupView = z.object({
  kind: z.string(),
  value: z.string(),
  system: z.string(),
  account: z.string().optional(),
  site: z.string().optional(),
  customer: z.string().optional(),
  blocked: z.boolean().optional(),
});

export const customerView = z.object({
  id: z.string(),
  source: z.string(),
  target: z.string(),
  exported: z.boolean().describe('True: active in `target`.'),
});

export const customersView = z.object({ customers: z.array(customerView), more: z.boolean() });

export const cacheView = z.object({
  entries: z.number(),
  loading: z.number(),
  failing: z.boolean().describe('The last question to the registry failed.'),
  events: counts,
});

const flowEnd = z.object({ address: z.string(), port: z.number() });

export const flowView = z.object({
  aor: z.string(),
  contact: z.string(),
  transport: z.string(),
  remote: flowEnd,
  entry: flowEnd,
  expires_in_s: z.number(),
  pinged: z.boolean(),
  misses: z.number(),
});

export const flowsView = z.object({
  bindings: z.number(),
  flows: z.number(),
  refused: z.number().describe('Registrations not taken in because the table was full.'),
  pings: counts,
  list: z.array(flowView),
  more: z.boolean().describe('True if there are more than `limit` that fit `search`.'),
});

export const peerView = z.object({
  instance: z.string(),
  site: z.string().optional(),
  state: z.string().describe('State it says it is in; "unheard" while nothing is heard of it.'),
  heard_ms_ago: z.number().nullable().describe('null: never heard.'),
  active_links: z.number(),
  priority: z.number(),
});

export const groupView = z.object({
  group: z.string(),
  instance: z.string(),
  state: z.string().describe('INIT, STANDBY, ACTIVE, HANDOVER, RECHECK, FAULT or MAINT.'),
  state_for_ms: z.number(),
  reason: z.string(),
  term: z.number(),
  priority: z.number(),
  active_links: z.number(),
  sip_healthy: z.boolean(),
  holds_vips: z.boolean(),
  vips: z.array(z.string()),
  witness_owner: z
    .string()
    .nullable()
    .describe('Instance that holds the witness row; null without a witness.'),
  alarms: z.array(z.object({ name: z.string(), about: z.string() })),
  heartbeats_refused: counts.describe('Heartbeats that were not taken since start, by reason.'),
  peers: z.array(peerView),
});

export const handoverOrder = z.strictObject({
  to: z.string().optional().describe('Instance that is to take over; absent: the best one.'),
});

export const maintenanceOrder = z.strictObject({ on: z.boolean() });

export const reloadView = z.object({
  applied: z.boolean(),
  needs_restart: z.array(z.string()).describe('Changed sections that only a restart applies.'),
});

export type ReadinessView = z.infer<typeof readinessView>;
export type StatusView = z.infer<typeof statusView>;
export type SiteView = z.infer<typeof siteView>;
export type NodeView = z.infer<typeof nodeView>;
export type SiteOrder = z.infer<typeof siteOrder>;
export type RegistryState = z.infer<typeof registryState>;
export type RegistryView = z.infer<typeof registryView>;
export type LookupView = z.infer<typeof lookupView>;
export type CustomerView = z.infer<typeof customerView>;
export type CacheView = z.infer<typeof cacheView>;
export type FlowView = z.infer<typeof flowView>;
export type FlowsView = z.infer<typeof flowsView>;
export type GroupView = z.infer<typeof groupView>;
export type PeerView = z.infer<typeof peerView>;
export type ReloadView = z.infer<typeof reloadView>;
