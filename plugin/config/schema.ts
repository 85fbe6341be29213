import { z } from 'zod';
import { crossCheck } from './cross-check';
import { ha } from './group';
import { nat } from './nat';
import { admin, hooks, log } from './operation';
import { outbound, peers } from './parties';
import { failover, health, limits } from './sending';
import { sipServers } from './sip-servers';
import { cache, registry } from './stores';
import { systems } from './systems';
import { count, domain, milliseconds, name } from './values';

/** How a call from one system to another goes. */
export const INTER_SYSTEM = ['redirect', 'relay'] as const;
/** Whether in-dialog requests pass through us. */
export const DIALOG_MODES = ['auto', 'bypass', 'on_path'] as const;

const dialogMode = z.enum(DIALOG_MODES).default('auto');

/** Whether the native addon runs: where it loads; or not without it; or never. */
export const NATIVE_MODES = ['auto', 'require', 'off'] as const;

/** Everything that can be configured. What each room may take apart is typed in types.ts. */
export const configStructure = z.strictObject({
  instance: name.default('dsbc').describe('Name of this instance; must differ within a group.'),
  domains: z
    .array(domain)
    .default([])
    .describe(
      'Domains served by us. Our entry addresses always count. Without one each system needs its `domain`.',
    ),
  sip_servers: sipServers,
  default_system: name.optional().describe('For keys the registry does not know. Absent: 404.'),
  systems,
  peers,
  outbound,
  inter_system: z
    .enum(INTER_SYSTEM)
    .default('redirect')
    .describe(
      "A call to another system: 302 with that system's address, so that it goes direct; or relayed.",
    ),
  dialogs: z
    .strictObject({
      endpoint: dialogMode.describe('Dialogs that an endpoint opens or is called in.'),
      peer: dialogMode.describe('Dialogs that a peer opens or is called in.'),
    })
    .prefault({})
    .describe('`auto`: on our path only where NAT or a stream transport needs it.'),
  mtu: count(576, 65_507)
    .default(1300)
    .describe('A request over UDP longer than this is reported, and sent over TCP where the node takes it.'),
  registry: registry.prefault({ driver: 'memory' }),
  cache,
  health,
  failover,
  nat,
  ha: ha.optional(),
  limits,
  admin,
  log,
  hooks,
  native: z
    .enum(NATIVE_MODES)
    .default('auto')
    .describe(
      'The native addon (header scanner, addresses, announcements): `auto` where it loads, `require` refuses to start without it, `off` runs TypeScript and iproute2.',
    ),
  drain_ms: milliseconds(0, 600_000)
    .default(5000)
    .describe('At the end, how long requests under way may take to finish.'),
});

export const configSchema = configStructure.superRefine(crossCheck);
