import type { GroupState, PeerView } from './state';
import type { Turn } from './turn';
import { isLive, isServing, peerOf } from './turn';

/** What decides between candidates: links first, then priority, then the id, the same on every instance. */
interface Candidate {
  readonly id: string;
  readonly links: number;
  readonly priority: number;
}

function isBetter(a: Candidate, b: Candidate): boolean {
  if (a.links !== b.links) return a.links > b.links;
  if (a.priority !== b.priority) return a.priority > b.priority;
  return a.id > b.id;
}

/** Live peers that could take the addresses now, best first. */
export function standbys(turn: Turn): readonly Candidate[] {
  const { config, state } = turn;
  return config.peers
    .map((id) => ({ id, view: peerOf(state, id) }))
    .filter(({ view }) => view.state === 'STANDBY' && isLive(turn, view))
    .map(({ id, view }) => ({ id, links: view.links, priority: view.priority }))
    .sort((a, b) => (isBetter(a, b) ? -1 : 1));
}

/** The best peer to hand over to: one that also hears us. */
export function bestTarget(turn: Turn, except: readonly string[] = []): Candidate | undefined {
  const { now, config, state } = turn;
  return standbys(turn).find(
    ({ id }) =>
      !except.includes(id) &&
      now - peerOf(state, id).heardMeAt <= config.timing.dead + config.timing.heartbeat,
  );
}

/**
 * Our place among those that would claim at `base`. While the group has had no owner yet, instances still listening
 * count, so that a simultaneous start has one order from the beginning. Whoever was heard shortly before `base` keeps its place although it may fall silent:
 * were the places to move up meanwhile, two instances could find the same one theirs. Half a heartbeat of slack keeps
 * instances that beat in step from counting differently.
 */
function rankAt(turn: Turn, base: number): number {
  const { config, state } = turn;
  const { dead, heartbeat } = config.timing;
  const self: Candidate = { id: config.id, links: state.links, priority: config.priority };
  return config.peers.filter((id) => {
    const view = peerOf(state, id);
    const contends = view.state === 'STANDBY' || (view.state === 'INIT' && state.highestTerm === 0);
    const heard = view.heardAt > base - dead - heartbeat / 2;
    return contends && heard && isBetter({ id, links: view.links, priority: view.priority }, self);
  }).length;
}

/** When an active was last heard; -Infinity: none that still counts. */
export function activeHeardAt(turn: Turn): number {
  let latest = -Infinity;
  for (const id of turn.config.peers) {
    const view = peerOf(turn.state, id);
    if (view.holding && view.heardAt > latest) latest = view.heardAt;
  }
  return latest;
}

/**
 * When a fit standby may claim. In failsafe mode an active may go on without the witness for as long as it is
 * acknowledged, so silence must last as long as its lease could.
 */
export function claimDueAt(turn: Turn): number {
  const { config, state } = turn;
  const { timing } = config;
  const silence = config.witness === 'failsafe' ? timing.witnessTake : timing.claim;
  const from = Math.max(
    activeHeardAt(turn) + silence,
    state.since,
    state.fitSince + timing.debounce,
    state.claimHeldUntil,
  );
  return from + rankAt(turn, from) * timing.stagger;
}

/** Who of two that both have the addresses keeps them: the last to claim, then priority, then id. */
export function outranks(
  a: { readonly term: number; readonly priority: number; readonly id: string },
  b: { readonly term: number; readonly priority: number; readonly id: string },
): boolean {
  if (a.term !== b.term) return a.term > b.term;
  if (a.priority !== b.priority) return a.priority > b.priority;
  return a.id > b.id;
}

/** Somebody else has the addresses, as far as we heard within the time that counts. */
export function otherHolder(
  turn: Pick<Turn, 'config' | 'now'> & { readonly state: Readonly<GroupState> },
): { readonly id: string; readonly view: PeerView } | undefined {
  for (const id of turn.config.peers) {
    const view = peerOf(turn.state, id);
    if (view.holding && isServing(view.state) && isLive(turn, view)) return { id, view };
  }
  return undefined;
}
