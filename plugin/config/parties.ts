import { z } from 'zod';
import { isHost, isHostName } from './address';
import { count, name, net } from './values';

const digits = z.string().regex(/^[+0-9*#A-Za-z]{0,32}$/, 'at most 32 digits, "+", "*", "#" or letters');

const peer = z.strictObject({
  name: name.describe('Name in logs, metrics and API.'),
  nets: z
    .array(net)
    .min(1, 'at least one network')
    .describe(
      'Source networks that are this peer, over any transport: SIP servers do not tell the names in TLS certificates.',
    ),
  trust_identity: z
    .boolean()
    .default(false)
    .describe('Take its P-Asserted-Identity and the like; otherwise they are stripped.'),
  prefix_strip: digits.default('').describe('Removed from the front of the called number, if it is there.'),
  prefix_add: digits.default('').describe('Then put in front of the called number.'),
  force_route_through_dsbc: z
    .boolean()
    .default(true)
    .describe('Calls of our sites to it leave through us; `false`: the site is told to go direct (302).'),
});

export const peers = z.array(peer).default([]).describe('Vendors and static PBXs, known by their address.');

const outboundRule = z.strictObject({
  host: z
    .string()
    .refine(
      (text) => isHost(text) || (text.startsWith('*.') && isHostName(text.slice(2))),
      'a host name, *.domain or an IP address',
    )
    .describe('Destination host: a name, `*.domain` for all below it, or an address.'),
  force_route_through_dsbc: z
    .boolean()
    .default(true)
    .describe('`true`: relayed by us; `false`: 302 to the target.'),
  max_requests_per_s: count(1, 100_000)
    .optional()
    .describe('Requests per second to this destination; more get 503.'),
});

export const outbound = z
  .strictObject({
    allow: z
      .array(outboundRule)
      .default([])
      .describe('Where the sites may send calls through us; nothing else.'),
  })
  .prefault({})
  .describe('Calls of the sites to vendors, external SIP URIs and static PBXs. Peers are always allowed.');
