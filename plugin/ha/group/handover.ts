import { mayHold, releaseRow, requestTransfer, takeTransferredRow } from '../lease/witness';
import { bestTarget } from './election';
import type { GroupMessage } from './message';
import type { Handover } from './state';
import { noteSwitch } from './switch-limit';
import type { Turn } from './turn';
import { becomeActive, endHandover, enter, isFit, removeAddresses, send } from './turn';

/*
 * A planned switch, the active on the left:
 *
 *   HANDOVER  drain      in-flight work ends (operator and priority switches only)
 *             prepare    PREPARE ──▶  fit? ── READY ──▶
 *             transfer   with a witness: the row is given to the target
 *             relinquish addresses off, RELINQUISH ──▶ three times ──▶  ACTIVE under a higher term
 *   STANDBY   ◀── heartbeat of the new active
 *
 * Nobody answers PREPARE: the next best target, else stay. Nobody serves after RELINQUISH: take back. The target uses
 * its READY only for `ready` ms, less than the `answer` ms after which the active takes back: so a target that
 * stalls in between never serves beside it.
 */

/** Begins a hand-over to `target`. */
export function startHandover(
  turn: Turn,
  request: Pick<Handover, 'target' | 'reason'> &
    Partial<Pick<Handover, 'request' | 'then' | 'only'>> & { readonly drain?: boolean },
): void {
  const { config, state, now, effects } = turn;
  const drains = request.drain === true && config.drainMs > 0;
  const deadline = now + (drains ? config.drainMs : 0);
  state.handover = {
    target: request.target,
    reason: request.reason,
    request: request.request ?? 0,
    then: request.then ?? 'standby',
    only: request.only ?? false,
    phase: 'drain',
    deadline,
    repeats: [],
    tried: [],
    grant: 0,
  };
  enter(turn, 'HANDOVER', request.reason);
  if (drains) effects.push({ type: 'quiesce', deadline });
  else prepare(turn, state.handover);
}

function prepare(turn: Turn, handover: Handover): void {
  turn.state.handover = { ...handover, phase: 'prepare', deadline: turn.now + turn.config.timing.answer };
  send(turn, 'PREPARE', handover.target);
}

/** In-flight work has ended before its deadline. */
export function onQuiet(turn: Turn): void {
  const { handover } = turn.state;
  if (handover?.phase === 'drain') prepare(turn, handover);
}

export function onReady(turn: Turn, message: GroupMessage): void {
  const { handover } = turn.state;
  if (handover?.phase !== 'prepare' || handover.target !== message.from) return;
  if (turn.config.witness === 'none') relinquish(turn, turn.state.highestTerm + 1);
  else if (requestTransfer(turn, handover.target)) {
    turn.state.handover = {
      ...handover,
      phase: 'transfer',
      deadline: turn.now + turn.config.timing.witnessTimeout,
    };
  }
}

/** Lets go: the addresses first, then the word. */
export function relinquish(turn: Turn, grant: number): void {
  const { config, state, now } = turn;
  const { handover } = state;
  if (handover === undefined) return;
  removeAddresses(turn, true);
  noteSwitch(turn, grant);
  const { repeat, answer } = config.timing;
  state.handover = {
    ...handover,
    phase: 'relinquish',
    grant,
    deadline: now + answer,
    repeats: [now + repeat, now + 2 * repeat],
  };
  send(turn, 'RELINQUISH', handover.target);
}

/** The witness did not give the row to the target: nothing was let go. */
export function onTransferRefused(turn: Turn): void {
  if (turn.state.handover?.phase === 'transfer') giveUp(turn, 'the witness row has changed');
}

/** Deadlines of a hand-over. */
export function settleHandover(turn: Turn): void {
  const { state, now, config } = turn;
  const { handover } = state;
  if (handover === undefined) return;
  if (handover.phase === 'relinquish' && now >= (handover.repeats[0] ?? Infinity)) {
    state.handover = { ...handover, repeats: handover.repeats.slice(1) };
    send(turn, 'RELINQUISH', handover.target);
  }
  if (now < handover.deadline) return;
  switch (handover.phase) {
    case 'drain':
      prepare(turn, handover);
      return;
    case 'prepare': {
      const tried = [...handover.tried, handover.target];
      const next = handover.only ? undefined : bestTarget(turn, tried);
      if (next === undefined) giveUp(turn, `${handover.target} did not answer`);
      else prepare(turn, { ...handover, target: next.id, tried });
      return;
    }
    case 'transfer':
      // The row may be the target's by now: act as if it were.
      endHandover(turn, false, 'the witness did not answer');
      removeAddresses(turn);
      enter(turn, 'STANDBY', 'the witness did not answer during a hand-over');
      return;
    case 'relinquish': {
      if (state.draining) return;
      const { target, grant, then } = handover;
      endHandover(turn, then === 'leave', `${target} does not serve`);
      if (then === 'leave' || config.witness !== 'none') {
        enter(turn, 'STANDBY', `${target} was handed the addresses but does not serve`);
      } else becomeActive(turn, `${target} does not serve`, grant + 1);
      return;
    }
  }
}

function giveUp(turn: Turn, reason: string): void {
  const { state, now, config } = turn;
  const { handover } = state;
  if (handover?.then === 'leave') {
    endHandover(turn, true, reason);
    leave(turn, reason);
    return;
  }
  endHandover(turn, false, reason);
  state.retryAt = now + config.timing.settle;
  enter(turn, 'ACTIVE', reason);
}

/** Stops taking part: addresses off, the witness row released, never a claim again. */
export function leave(turn: Turn, reason: string): void {
  turn.state.leaving = true;
  const held = turn.state.holding;
  removeAddresses(turn);
  if (held) releaseRow(turn);
  enter(turn, 'MAINT', reason);
}

/** An active asks whether we could take over. Silence is the answer of those that can't. */
export function onPrepare(turn: Turn, message: GroupMessage): void {
  const { state, now } = turn;
  if (state.name !== 'STANDBY' || state.draining || !isFit(turn)) return;
  state.ready = { to: message.from, at: now };
  send(turn, 'READY', message.from);
}

/**
 * The addresses are free: ours to take, if our READY is still fresh. Otherwise whoever they are meant for, or who takes
 * them back, gets the time that needs.
 */
export function onRelinquish(turn: Turn, message: GroupMessage): void {
  const { config, state, now } = turn;
  if (isForUs(turn, message)) {
    if (config.witness !== 'none') takeTransferredRow(turn, message.grant, state.ready?.at ?? -Infinity);
    if (mayHold(turn)) {
      becomeActive(turn, `handed over by ${message.from}`, message.grant);
      return;
    }
  }
  state.claimHeldUntil = Math.max(state.claimHeldUntil, now + config.timing.stagger);
}

function isForUs(turn: Turn, message: GroupMessage): boolean {
  const { config, state, now } = turn;
  const { ready } = state;
  if (message.to !== config.id || ready?.to !== message.from) return false;
  if (state.name !== 'STANDBY' || !isFit(turn)) return false;
  const { timing } = config;
  return now - ready.at <= (config.witness === 'none' ? timing.ready : timing.witnessReady);
}
