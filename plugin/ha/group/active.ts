import { answersLately, mayHold, mustLetGoAt, releaseRow } from '../lease/witness';
import { bestTarget, standbys } from './election';
import { settleHandover, startHandover } from './handover';
import { mayTakePlanned, plannedAllowedAt } from './switch-limit';
import type { Turn } from './turn';
import { twinOwns } from './twin';
import { endHandover, enter, isLive, isMainStalled, peerOf, removeAddresses, send } from './turn';

/** Gives the addresses up for a reason of our own; a peer may take them at once. */
export function stepDown(turn: Turn, to: 'STANDBY' | 'RECHECK', reason: string): void {
  const { state, now, config } = turn;
  endHandover(turn, false, reason);
  const had = state.holding;
  removeAddresses(turn);
  if (had) releaseRow(turn);
  enter(turn, to, reason);
  if (to === 'RECHECK') {
    state.listenUntil = now + config.timing.recheck;
    turn.effects.push({ type: 'discard' });
  }
  if (had) send(turn, 'YIELD');
}

/** What an instance with the addresses checks at every step. */
export function settleActive(turn: Turn): void {
  const { state, now } = turn;
  if (isMainStalled(turn)) {
    stepDown(turn, 'RECHECK', 'the main thread does not answer');
    return;
  }
  const twin = state.holding ? twinOwns(turn) : undefined;
  if (twin !== undefined) {
    stepDown(turn, 'STANDBY', twin);
    return;
  }
  if (state.holding && now >= mustLetGoAt(turn) && !mayHold(turn)) {
    stepDown(turn, 'STANDBY', 'the witness was not renewed in time');
    return;
  }
  if (state.name === 'HANDOVER') settleHandover(turn);
  else considerSwitch(turn);
  announceDue(turn);
}

/** A stall so long that peers may have taken over: whatever we think we hold may be somebody else's. */
export function noticeStall(turn: Turn): void {
  const { state, now, config } = turn;
  if (now - state.lastBeatAt > config.timing.fence) {
    stepDown(turn, 'RECHECK', `did not run for ${Math.round(now - state.lastBeatAt)} ms`);
  }
}

function announceDue(turn: Turn): void {
  const { state, now, config, effects } = turn;
  if (!state.holding) return;
  const scheduled = now >= (state.announceAt[0] ?? Infinity);
  if (!scheduled && now < state.refreshAt) return;
  effects.push({ type: 'announce' });
  state.announceAt = state.announceAt.filter((at) => at > now);
  state.refreshAt = now + config.timing.refresh;
}

/** Hands over when a peer can serve better: our SIP server is not healthy, a peer has more links, or goes first. */
function considerSwitch(turn: Turn): void {
  const { state, now, config } = turn;
  if (!state.sip) {
    const target = now >= state.retryAt ? bestTarget(turn) : undefined;
    if (target !== undefined) {
      startHandover(turn, { target: target.id, reason: 'the SIP server is not healthy' });
    }
    return;
  }
  const by = betterBy(turn);
  if (by === undefined) {
    state.better = undefined;
    return;
  }
  if (state.better?.by !== by) state.better = { by, since: now };
  if (now < betterDueAt(turn) || !answersLately(turn) || !mayTakePlanned(turn)) return;
  const target = bestTarget(turn);
  if (target === undefined) return;
  startHandover(turn, {
    target: target.id,
    reason:
      by === 'links'
        ? `${target.id} has ${target.links} active links, this instance ${state.links}`
        : `${target.id} has priority ${target.priority}, this instance ${config.priority}`,
    drain: by === 'priority',
    only: true,
  });
}

function betterBy(turn: Turn): 'links' | 'priority' | undefined {
  const { state, config } = turn;
  const best = standbys(turn)[0];
  if (best === undefined) return undefined;
  if (best.links > state.links) return 'links';
  const first = config.preemption !== 'never' && best.links === state.links;
  return first && best.priority > config.priority ? 'priority' : undefined;
}

/** When a peer that is better now has been so for long enough; Infinity: none is. */
export function betterDueAt(turn: Turn): number {
  const { state, config } = turn;
  if (state.better === undefined) return Infinity;
  const { preemption, timing } = config;
  const delay =
    state.better.by === 'priority' && preemption !== 'never'
      ? Math.max(preemption.delayMs, timing.debounce)
      : timing.debounce;
  return Math.max(state.better.since + delay, plannedAllowedAt(turn));
}

/**
 * Somebody else announced our addresses: say again whose they are, at most once per heartbeat. What came in between is answered by
 * the announcement that is due a heartbeat after the first.
 */
export function onForeignArp(turn: Turn): void {
  const { state, now, config } = turn;
  if (!state.holding) return;
  state.lastForeignArpAt = now;
  if (now - state.foreignArpAnsweredAt < config.timing.heartbeat) return;
  state.foreignArpAnsweredAt = now;
  state.announceAt = config.timing.announce.map((delay) => now + delay);
}

/** An operator wants the addresses elsewhere. */
export function onOperator(
  turn: Turn,
  { request, action, to }: { readonly request: number; readonly action: string; readonly to: string },
): void {
  const { state, effects } = turn;
  const answer = (done: boolean, reason: string): void => {
    effects.push({ type: 'answer', request, done, reason });
  };
  if (action === 'maintenance-off') {
    state.maintenance = false;
    // One under way goes on, but not into maintenance.
    if (state.handover?.then === 'maintenance') state.handover = { ...state.handover, then: 'standby' };
    answer(true, 'takes part again');
    return;
  }
  const then = action === 'terminate' ? 'leave' : action === 'maintenance-on' ? 'maintenance' : 'standby';
  if (state.name === 'HANDOVER' && state.handover !== undefined) {
    if (then === 'standby') {
      answer(false, 'a hand-over is under way');
      return;
    }
    if (state.handover.request > 0) {
      effects.push({ type: 'answer', request: state.handover.request, done: false, reason: 'superseded' });
    }
    state.handover = { ...state.handover, request, then };
    return;
  }
  if (state.name !== 'ACTIVE') {
    if (then === 'standby') answer(false, `this instance is ${state.name}, only the active hands over`);
    else {
      if (then === 'leave') state.leaving = true;
      else state.maintenance = true;
      answer(true, `was ${state.name}`);
    }
    return;
  }
  if (then !== 'leave' && !answersLately(turn)) {
    answer(false, 'the witness does not answer');
    return;
  }
  const view = to === '' ? undefined : peerOf(state, to);
  const named = view?.state === 'STANDBY' && isLive(turn, view) ? to : undefined;
  const target = to === '' ? bestTarget(turn)?.id : named;
  if (target !== undefined) {
    startHandover(turn, {
      target,
      request,
      then,
      only: to !== '',
      drain: true,
      reason: `asked by an operator (${action})`,
    });
  } else if (then === 'leave') {
    state.leaving = true;
    answer(true, 'no peer can take over');
    stepDown(turn, 'STANDBY', 'leaving; no peer can take over');
  } else answer(false, to === '' ? 'no peer can take over' : `${to} is not a standby that can take over`);
}
