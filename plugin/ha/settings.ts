import { SocketAddress, isIPv6 } from 'node:net';
import { parseHostPort } from '../config/address';
import type { HaConfig, HaLinksConfig } from '../config/types';
import { DsbcError } from '../errors';
import type { GroupConfig, Preemption, WitnessMode } from './group/state';
import { timingFor } from './group/timing';
import type { Endpoint } from './heartbeat/sockets';
import type { HeartbeatLink } from './heartbeat/statistics';
import type { VipAddress } from './ports';

type Links = Readonly<Partial<Record<HeartbeatLink, Endpoint>>>;

/** Everything a group needs to know, as plain values: they cross into the worker thread. */
export interface GroupSettings {
  readonly group: string;
  /** Name of this instance; unique in the group. */
  readonly instance: string;
  /** Signs heartbeats and the replication channel. */
  readonly key: string;
  /** Higher is better among instances with as many active links. Default 100. */
  readonly priority?: number;
  /** Default 500; see `timingFor` for what is allowed. */
  readonly heartbeatMs?: number;
  readonly listen: Links;
  readonly peers: readonly { readonly id: string; readonly links: Links }[];
  /** The VIP and its aliases: they move together. */
  readonly vips: readonly VipAddress[];
  /** Interfaces whose links are counted and compared. Default: those of `vips`. */
  readonly serviceInterfaces?: readonly string[];
  /** Default `never`. */
  readonly preemption?: Preemption;
  /** Default `none`. */
  readonly witness?: WitnessMode;
  /** How long the witness row protects its holder, in ms. Default 3000. */
  readonly witnessMs?: number;
  /** Retry of an absent peer, in ms. Default 15,000. */
  readonly probeMs?: number;
  /** The owner announces again this often, in ms. Default 10,000. */
  readonly refreshMs?: number;
  /** How long an operator's hand-over lets in-flight work end, in ms. Default 1000. */
  readonly drainMs?: number;
  /** Default: ARP and neighbour advertisements. */
  readonly announce?: { readonly arp: boolean; readonly command?: readonly string[] };
}

/** Port of a heartbeat link that names none. */
export const DEFAULT_HEARTBEAT_PORT = 5405;

function linksOf({ m1, m2, service }: HaLinksConfig): Links {
  const links: Partial<Record<HeartbeatLink, Endpoint>> = {};
  for (const [name, text] of Object.entries({ m1, m2, service })) {
    const parsed = text === undefined ? undefined : parseHostPort(text);
    if (parsed === undefined) continue;
    links[name as HeartbeatLink] = {
      host: parsed.host.replace(/^\[|\]$/g, ''),
      port: parsed.port ?? DEFAULT_HEARTBEAT_PORT,
    };
  }
  return links;
}

/** Settings of a group from the section `ha` of the configuration. */
export function settingsOf(ha: HaConfig, instance: string): GroupSettings {
  const { command } = ha.announce;
  return {
    group: ha.group,
    instance,
    key: ha.key,
    priority: ha.priority,
    heartbeatMs: ha.heartbeat_ms,
    listen: linksOf(ha.listen),
    peers: ha.peers.map((peer) => ({ id: peer.instance, links: linksOf(peer) })),
    vips: ha.vips.map((vip) => ({ ...vip, family: isIPv6(vip.address) ? 6 : 4 })),
    serviceInterfaces: ha.service_interfaces,
    preemption: ha.preempt === 'never' ? 'never' : { delayMs: ha.preempt.after_s * 1000 },
    witness: ha.witness?.on_loss ?? 'none',
    ...(ha.witness === undefined ? {} : { witnessMs: ha.witness.lease_ms }),
    probeMs: ha.probe_absent_s * 1000,
    refreshMs: ha.announce.refresh_s * 1000,
    announce: {
      arp: ha.announce.driver === 'arp',
      ...(command === undefined ? {} : { command }),
    },
  };
}

const invalid = (message: string, details: Record<string, unknown>): DsbcError =>
  new DsbcError('DSBC_GROUP_INVALID', message, { details });

/**
 * The configuration of the pure machine.
 * @throws DSBC_GROUP_INVALID for what cannot work: an instance that is its own peer, two of one name, no address, no link
 */
export function machineConfig(settings: GroupSettings): GroupConfig {
  const ids = settings.peers.map(({ id }) => id);
  const twice = ids.find((id, index) => id === settings.instance || ids.indexOf(id) !== index);
  if (twice !== undefined)
    throw invalid(`instance ${twice} is named twice in the group`, { instance: twice });
  if (settings.vips.length === 0) throw invalid('a group needs a VIP', { path: 'ha.vips' });
  if (Object.keys(settings.listen).length === 0) {
    throw invalid('a group needs a heartbeat link', { path: 'ha.listen' });
  }
  const timing = timingFor(settings.heartbeatMs);
  const witness = Math.max(settings.witnessMs ?? timing.witness, 2 * timing.witnessSpare);
  return {
    id: settings.instance,
    peers: ids,
    priority: settings.priority ?? 100,
    preemption: settings.preemption ?? 'never',
    witness: settings.witness ?? 'none',
    drainMs: settings.drainMs ?? 1000,
    timing: {
      ...timing,
      witness,
      witnessTake: witness * 1.05,
      witnessReady: witness / 2,
      probe: settings.probeMs ?? timing.probe,
      refresh: settings.refreshMs ?? timing.refresh,
    },
  };
}

/** Interfaces that are watched and counted. */
export function serviceInterfaces(settings: GroupSettings): readonly string[] {
  const named = settings.serviceInterfaces ?? [];
  return named.length > 0 ? named : [...new Set(settings.vips.map((vip) => vip.interface))];
}

/** IPv6 as the kernel writes it, so that addresses can be compared as text. */
export function canonicalVips(vips: readonly VipAddress[]): readonly VipAddress[] {
  return vips.map((vip) =>
    vip.family === 6
      ? { ...vip, address: new SocketAddress({ address: vip.address, family: 'ipv6' }).address }
      : vip,
  );
}
