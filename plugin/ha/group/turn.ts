import type { GroupEffect } from './effect';
import type { GroupMessage, GroupStateName, MessageKind, MessageOrder } from './message';
import type { GroupConfig, GroupState, PeerView } from './state';
import { UNHEARD } from './state';
import { twinObstacle } from './twin';

/** One step being taken: the new state in the making (a copy, so the step stays pure) and the effects so far. */
export interface Turn {
  readonly config: GroupConfig;
  readonly state: GroupState;
  readonly now: number;
  readonly effects: GroupEffect[];
  /** The heartbeat must go out at the end of this step. */
  beat: boolean;
}

export const peerOf = (state: Readonly<GroupState>, id: string): PeerView => state.peers[id] ?? UNHEARD;

export function isLive({ config, now }: Pick<Turn, 'config' | 'now'>, peer: PeerView): boolean {
  return now - peer.heardAt < config.timing.dead;
}

export const isServing = (name: GroupStateName): boolean => name === 'ACTIVE' || name === 'HANDOVER';

/** The main thread has not shown life for longer than the fence allows. */
export function isMainStalled({ config, state, now }: Turn): boolean {
  return now - state.mainBeatAt > config.timing.fence;
}

/** Nothing about this machine keeps it from serving. */
export function isWell(turn: Turn): boolean {
  const { state } = turn;
  if (state.obstacles.length > 0 || twinObstacle(turn) !== undefined) return false;
  return state.links > 0 && state.sip && !isMainStalled(turn);
}

/** Could this instance serve, if the addresses were here? */
export function isFit(turn: Turn): boolean {
  const { state } = turn;
  return isWell(turn) && !state.maintenance && !state.leaving;
}

export function enter(turn: Turn, name: GroupStateName, reason: string): void {
  const { state, effects, now } = turn;
  if (name !== state.name) effects.push({ type: 'state', from: state.name, to: name, reason });
  state.name = name;
  state.since = now;
  state.reason = reason;
  turn.beat = true;
}

/** Takes the addresses off, if we have them. Comes before anything that tells the peers. */
export function removeAddresses({ state, effects }: Turn, settles = false): void {
  if (!state.holding) return;
  effects.push({ type: 'remove', settles });
  state.holding = false;
  state.leasedUntil = -Infinity;
  state.announceAt = [];
  state.refreshAt = Infinity;
}

/** Owning the addresses from now on, under a term higher than any seen. */
export function becomeActive(turn: Turn, reason: string, atLeastTerm = 0): void {
  const { state, effects, now, config } = turn;
  state.term = Math.max(state.highestTerm + 1, atLeastTerm);
  state.highestTerm = state.term;
  state.tenure += 1;
  state.handover = undefined;
  state.ready = undefined;
  state.better = undefined;
  state.lastSwitchAt = now;
  state.lastForeignArpAt = state.foreignArpAnsweredAt = -Infinity;
  effects.push({ type: 'add' });
  state.holding = true;
  state.leasedUntil = now + config.timing.lease;
  state.announceAt = config.timing.announce.map((delay) => now + delay);
  state.refreshAt = now + config.timing.refresh;
  enter(turn, 'ACTIVE', reason);
}

/** A hand-over is over, one way or the other: whoever asked is told. */
export function endHandover({ state, effects }: Turn, done: boolean, reason: string): void {
  const { handover } = state;
  if (handover === undefined) return;
  state.handover = undefined;
  if (handover.then === 'leave') state.leaving = true;
  if (handover.then === 'maintenance' && done) state.maintenance = true;
  if (handover.request > 0) effects.push({ type: 'answer', request: handover.request, done, reason });
}

/** Starts the announcements afresh: somebody may have heard another owner last. */
export function announceAgain({ state, now, config }: Turn): void {
  if (state.holding) state.announceAt = config.timing.announce.map((delay) => now + delay);
}

/** Sends one message: to all peers, except that heartbeats of those without the addresses spare absent peers. */
export function send(turn: Turn, kind: MessageKind, to = ''): void {
  const { config, state, now, effects } = turn;
  state.seq += 1;
  const heard: Record<string, MessageOrder> = {};
  for (const id of config.peers) {
    const { incarnation, seq } = peerOf(state, id);
    if (incarnation >= 0) heard[id] = { incarnation, seq };
  }
  if (state.twin !== undefined) {
    heard[config.id] = { incarnation: state.twin.incarnation, seq: state.twin.seq };
  }
  const message: GroupMessage = {
    kind,
    from: config.id,
    to,
    state: state.name,
    incarnation: state.incarnation,
    seq: state.seq,
    term: state.term,
    highestTerm: state.highestTerm,
    tenure: state.tenure,
    links: state.links,
    priority: config.priority,
    grant: state.handover?.phase === 'relinquish' ? state.handover.grant : 0,
    heard,
  };
  effects.push({ type: 'send', message, to: recipients(turn, kind) });
  const oldest = now - 2 * config.timing.witnessTake;
  state.sent = [
    ...(state.sent.length > 64 || (state.sent[0]?.at ?? now) < oldest
      ? state.sent.filter(({ at }) => at >= oldest).slice(-64)
      : state.sent),
    { seq: state.seq, at: now, holding: state.holding },
  ];
}

function recipients({ config, state, now }: Turn, kind: MessageKind): readonly string[] {
  const { absent, probe } = config.timing;
  if (kind !== 'BEAT' || isServing(state.name) || state.name === 'INIT') return config.peers;
  if (now >= state.nextProbeAt) {
    state.nextProbeAt = now + probe;
    return config.peers;
  }
  return config.peers.filter((id) => now - peerOf(state, id).heardAt <= absent);
}
