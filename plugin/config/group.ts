import { z } from 'zod';
import { count, hostPort, milliseconds, name, ownAddress, seconds, secret } from './values';

/** Who tells the network that an address has moved. */
export const ANNOUNCERS = ['arp', 'command'] as const;
/** What puts addresses on interfaces: the addon, iproute2, or whichever is there. */
export const VIP_DRIVERS = ['auto', 'native', 'iproute2'] as const;
export const WITNESS_ON_LOSS = ['strict', 'failsafe'] as const;

const vip = z.strictObject({
  address: ownAddress.describe('The VIP, or an alias of it.'),
  interface: z
    .string()
    .regex(/^[^\s/]{1,15}$/, 'an interface name')
    .describe('The interface it lives on.'),
});

const links = z.strictObject({
  m1: hostPort.describe('First heartbeat link: address and port.'),
  m2: hostPort.optional().describe('Second heartbeat link.'),
  service: hostPort.optional().describe('The service network, used when both are lost.'),
});

const peer = links.extend({
  instance: name.describe("The other's `instance`."),
  site: name.optional().describe('Where it stands, for `dsbc check`.'),
});

export const ha = z
  .strictObject({
    group: name.describe('Name of the group; instances of other groups are not heard.'),
    key: secret(16).describe('Signs heartbeats; the same on every instance.'),
    site: name.optional().describe('Where this instance stands, for `dsbc check`.'),
    priority: count(0, 255).default(100).describe('Higher wins among those that have as many active links.'),
    heartbeat_ms: milliseconds(50, 2000)
      .refine((ms) => ms <= 500 || ms % 500 === 0, '50 to 500, or 1000, 1500 or 2000')
      .default(500)
      .describe(
        'All other times of the group scale with it; above 500 in steps of 500, as the kernel counts leases in seconds.',
      ),
    listen: links.describe('Our own ends of the heartbeat links.'),
    peers: z.array(peer).min(1, 'at least one other instance').describe('The other instances.'),
    vips: z.array(vip).min(1, 'at least one VIP').describe('The VIP and its aliases; they move together.'),
    service_interfaces: z
      .array(z.string().regex(/^[^\s/]{1,15}$/, 'an interface name'))
      .default([])
      .describe(
        'Links that are compared between instances; heartbeat links never are. Default: those of `vips`.',
      ),
    preempt: z
      .union(
        [
          z.literal('never'),
          z.strictObject({
            after_s: seconds(1, 86_400).describe(
              'Seconds it must have been the better one before it takes the VIP.',
            ),
          }),
        ],
        {
          error: '"never", or { after_s: seconds }',
        },
      )
      .default('never')
      .describe('Whether a better instance takes the VIP back, and after how long.'),
    probe_absent_s: seconds(1, 3600).default(15).describe('How often a peer that is away is tried.'),
    vip_driver: z.enum(VIP_DRIVERS).default('auto').describe('What sets the addresses.'),
    announce: z
      .strictObject({
        driver: z
          .enum(ANNOUNCERS)
          .default('arp')
          .describe('ARP and neighbour advertisements, or a command (BGP).'),
        command: z
          .array(z.string().min(1))
          .min(1, 'a program and its arguments')
          .optional()
          .describe('Run with `add` or `remove` and all addresses behind it.'),
        refresh_s: seconds(1, 3600).default(10).describe('How often the owner announces again.'),
      })
      .prefault({})
      .describe('How the network learns of a takeover.'),
    witness: z
      .strictObject({
        on_loss: z
          .enum(WITNESS_ON_LOSS)
          .default('strict')
          .describe('`failsafe`: stay while every peer agrees.'),
        lease_ms: milliseconds(500, 60_000)
          .default(3000)
          .describe('A row unchanged for so long may be taken.'),
      })
      .optional()
      .describe('A row in Cassandra that only one instance can hold: split brain can not happen.'),
    on_active: z
      .array(z.string().min(1))
      .min(1, 'a program and its arguments')
      .optional()
      .describe('Program and arguments, run when this instance has become active; never waited for.'),
    on_standby: z
      .array(z.string().min(1))
      .min(1, 'a program and its arguments')
      .optional()
      .describe('Program and arguments, run when it is active no more; never waited for.'),
  })
  .describe('The group that shares the VIP. Absent: this instance stands alone.');
