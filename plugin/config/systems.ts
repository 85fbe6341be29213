import { z } from 'zod';
import { parseNodeUri } from './address';
import { byName, domain, net } from './values';

/** What decides which site a request goes to. */
export const AFFINITIES = ['account', 'call', 'none'] as const;
/** Whether dialogs of endpoints behind NAT stay on our path, or the site does far-end NAT itself. */
export const NAT_DIALOGS = ['on_path', 'bypass'] as const;

const node = z.strictObject({
  uri: z
    .string()
    .refine(
      (text) => parseNodeUri(text) !== undefined,
      'a SIP URI without user, such as sip:198.51.100.21:5060 or sip:node.example.com;transport=tcp (sips: is not taken)',
    )
    .describe('Where requests for this node go: `sip:host[:port][;transport=udp|tcp|tls]`.'),
  tcp: z
    .boolean()
    .default(false)
    .describe('The node also takes TCP: a request that outgrows `mtu` is sent that way instead of over UDP.'),
});

const site = z.strictObject({
  nodes: z
    .array(node)
    .min(1, 'at least one node')
    .describe("The site's SIP addresses, normally one cluster VIP."),
  trusted_nets: z
    .array(net)
    .default([])
    .describe('Further source networks that count as this site; the nodes themselves always do.'),
  nat_dialogs: z
    .enum(NAT_DIALOGS)
    .default('on_path')
    .describe(
      '`on_path`: dialogs with endpoints behind NAT pass through us. `bypass`: the site does far-end NAT on UDP: it is ' +
        'told the flow in `nat.header`; dialogs over TCP, TLS and WebSocket pass through us all the same.',
    ),
});

const system = z.strictObject({
  domain: domain
    .optional()
    .describe(
      'Host part of the Request-URIs we build. Default: the domain the caller wrote, else the first of `domains`. drachtio-server carries calls whose domain has to change as b2bua.',
    ),
  load_distribution: z
    .union([z.literal('auto'), byName(z.number())], {
      error: '"auto", or a percentage for each site',
    })
    .default('auto')
    .describe('`auto`: equal shares. Or a percentage per site: together 100, 0 means backup only.'),
  affinity: z
    .enum(AFFINITIES)
    .default('account')
    .describe('`account`: the same account, the same site. `call`: by Call-ID. `none`: in turn, by weight.'),
  sites: byName(site)
    .refine((sites) => Object.keys(sites).length > 0, 'at least one site')
    .describe('The locations of this system, by name.'),
});

export const systems = byName(system)
  .refine((all) => Object.keys(all).length > 0, 'at least one system')
  .describe('The installations behind us, by name.');
