import type { AlarmName } from './group/effect';
import type { GroupConfig, GroupState } from './group/state';
import { peerOf } from './group/turn';
import type { HeartbeatStatistics } from './heartbeat/statistics';
import type { Network } from './ports';
import type { GroupStatus, PathAlarm } from './worker-protocol';

/** What operators see of the group. */
export function statusOf(
  config: GroupConfig,
  state: Readonly<GroupState>,
  statistics: HeartbeatStatistics,
  paths: readonly PathAlarm[],
  network: Network['name'],
  now: number,
): GroupStatus {
  const { row, heldUntil } = state.witness;
  return {
    instance: config.id,
    state: state.name,
    age: now - state.since,
    reason: state.reason,
    term: state.term,
    holding: state.holding,
    links: state.links,
    sipHealthy: state.sip,
    priority: config.priority,
    peers: config.peers.map((id) => {
      const view = peerOf(state, id);
      return {
        instance: id,
        state: now - view.heardAt < config.timing.dead ? view.state : 'unheard',
        age: now - view.heardAt,
        links: view.links,
        priority: view.priority,
        term: view.term,
        paths: statistics.of(id),
      };
    }),
    alarms: [
      ...state.alarms.map((key) => {
        const [name, about] = key.split('|') as [AlarmName, string];
        return { name, about };
      }),
      ...paths,
    ],
    rejected: statistics.rejected(),
    network,
    witness:
      config.witness === 'none'
        ? undefined
        : { owner: row?.owner ?? '', heldForMs: Math.max(0, heldUntil - now) },
  };
}
