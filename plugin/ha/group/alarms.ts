import type { AlarmName } from './effect';
import { otherHolder } from './election';
import type { Turn } from './turn';
import { twinAddress } from './twin';
import { isLive, isMainStalled, isServing, peerOf } from './turn';

/** How long an announcement of our addresses by somebody else keeps the alarm up. */
const FOREIGN_ARP_ALARM_MS = 5_000;

/** Raises and clears alarms; called at every heartbeat. */
export function updateAlarms(turn: Turn): void {
  const { state, effects } = turn;
  const now = currentAlarms(turn);
  for (const key of now) if (!state.alarms.includes(key)) effects.push(alarm(key, true));
  for (const key of state.alarms) if (!now.includes(key)) effects.push(alarm(key, false));
  state.alarms = now;
}

function alarm(key: string, on: boolean) {
  const [name, about] = key.split('|') as [AlarmName, string];
  return { type: 'alarm', name, about, on } as const;
}

function currentAlarms(turn: Turn): string[] {
  const { config, state, now } = turn;
  const { timing } = config;
  const alarms: string[] = [];
  const raise = (name: AlarmName, about = ''): void => void alarms.push(`${name}|${about}`);
  if (state.holding) {
    const other = otherHolder(turn);
    if (other !== undefined) raise('split_brain', other.id);
    else if (now - state.lastForeignArpAt < FOREIGN_ARP_ALARM_MS) raise('split_brain', 'arp');
  }
  if (!state.hears) raise('deaf');
  for (const id of config.peers) {
    const view = peerOf(state, id);
    if (!isLive(turn, view)) {
      if (state.name !== 'INIT') raise('peer_lost', id);
    } else if (now - view.reachableSince > 2 * timing.dead && now - view.heardMeAt > 2 * timing.dead) {
      raise('one_way', id);
    }
  }
  if (isServing(state.name) && (!state.sip || state.links === 0)) raise('degraded');
  if (now < state.lockedUntil) raise('planned_locked');
  if (
    config.witness !== 'none' &&
    now - state.witness.answeredAt > 2 * timing.witnessTimeout + timing.heartbeat
  ) {
    raise('witness_unknown');
  }
  if (isMainStalled(turn)) raise('main_stalled');
  const twin = twinAddress(turn);
  if (twin !== undefined) raise('duplicate_name', twin);
  for (const { alarm: name, about } of state.obstacles) raise(name, about);
  return alarms;
}
