import { OrderRefused, type GroupOperation } from '../admin/operation';
import type { GroupView } from '../admin/views';
import type { Config } from '../config/types';
import { DsbcError } from '../errors';
import type { Group, GroupStatus, Outcome } from '../ha/group';
import type { Registry } from '../registry/registry';

/** The group of this instance, as the admin API shows and orders it. */
export function groupOperation(config: Config, group: Group): GroupOperation {
  return {
    group: async () => viewOf(config, await group.status()),
    handOver: async (to) => obeyed(group.handover(to ?? '')),
    maintain: async (on) => obeyed(group.maintenance(on)),
  };
}

/** A refusal of the group is one of the order. */
async function obeyed(order: Promise<Outcome>): Promise<void> {
  let outcome: Outcome;
  try {
    outcome = await order;
  } catch (error) {
    if (error instanceof DsbcError && error.code === 'DSBC_GROUP_REFUSED')
      throw new OrderRefused('conflict', error.message);
    throw error;
  }
  if (!outcome.done) throw new OrderRefused('conflict', outcome.reason);
}

/**
 * Refuses an operator's word on an instance that is not active: where every instance has a registry of its own, the active tells the
 * others, so what is said here would neither reach it nor last.
 */
export async function refuseUnlessActive(
  group: Pick<Group, 'status'> | undefined,
  driver: Registry['driver'] | undefined,
): Promise<void> {
  if (group === undefined || driver === 'cassandra') return;
  const { state, peers } = await group.status();
  if (state === 'ACTIVE') return;
  const active = peers.find((peer) => peer.state === 'ACTIVE')?.instance;
  throw new OrderRefused(
    'conflict',
    `This instance is ${state}, and decisions about sites go from the active to the others: ${
      active === undefined ? 'nobody is active now.' : `say it on ${active}, which is active.`
    }`,
  );
}

function viewOf({ ha, instance }: Config, status: GroupStatus): GroupView {
  return {
    group: ha?.group ?? '',
    instance,
    state: status.state,
    state_for_ms: Math.round(status.age),
    reason: status.reason,
    term: status.term,
    priority: status.priority,
    active_links: status.links,
    sip_healthy: status.sipHealthy,
    holds_vips: status.holding,
    vips: ha?.vips.map((vip) => vip.address) ?? [],
    witness_owner: status.witness?.owner ?? null,
    alarms: [...status.alarms],
    heartbeats_refused: { ...status.rejected },
    peers: status.peers.map((peer) => {
      const site = ha?.peers.find((each) => each.instance === peer.instance)?.site;
      return {
        instance: peer.instance,
        ...(site === undefined ? {} : { site }),
        state: peer.state,
        heard_ms_ago: Number.isFinite(peer.age) ? Math.round(peer.age) : null,
        active_links: peer.links,
        priority: peer.priority,
      };
    }),
  };
}
