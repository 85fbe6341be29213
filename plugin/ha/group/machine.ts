import {
  mayHold,
  mustLetGoAt,
  onWitnessReply,
  pollWitness,
  requestTransfer,
  takeableAt,
} from '../lease/witness';
import { betterDueAt, noticeStall, onForeignArp, onOperator, settleActive, stepDown } from './active';
import { updateAlarms } from './alarms';
import type { GroupEffect } from './effect';
import { claimDueAt } from './election';
import type { GroupEvent } from './event';
import { onQuiet, onTransferRefused, relinquish } from './handover';
import { receive } from './peers';
import { onClaimed, settleStandby } from './standby';
import type { GroupConfig, GroupState, Obstacle } from './state';
import type { Turn } from './turn';
import { isLater } from './message';
import { announceAgain, isFit, isServing, isWell, peerOf, send } from './turn';
import { receiveTwin } from './twin';

/*
 * The group as one pure function: (state, event, now) → (state, effects).
 *
 *             listen over                no active heard for 1150 ms, rank × 300 ms,
 *   ┌──────┐            ┌─────────┐      fit, witness agrees; or RELINQUISH to us    ┌────────┐
 *   │ INIT │──────────▶ │ STANDBY │ ───────────────────────────────────────────────▶ │ ACTIVE │
 *   └──────┘            └─────────┘ ◀──────────────────────────────────────────────  └────────┘
 *                        ▲ ▲ │ ▲ ▲       better claim heard, witness not renewed       │ │  ▲
 *              unfit/fit │ │ │ │ │                                                     │ │  │ no READY, or
 *   ┌───────┐ ◀──────────┘ │ │ │ │   ┌──────────┐  peer better, operator, SIGTERM      │ │  │ nobody serves:
 *   │ FAULT │              │ │ │ └── │ HANDOVER │ ◀────────────────────────────────────┘ │  │ take back
 *   └───────┘              │ │ │     └──────────┘ ─────────────────────────────────────────┘
 *   ┌───────┐ maintenance  │ │ │     ┌─────────┐   stalled, address removed by somebody  │
 *   │ MAINT │ ◀────────────┴─┘ └──── │ RECHECK │ ◀───────────────────────────────────────┘
 *   └───────┘                700 ms  └─────────┘
 *
 *   state     has the   claims  does, at every heartbeat                 leaves when
 *             addresses
 *   INIT      no        no      beats, listens                           listened for 1.5 s; 15 s without an open link
 *   STANDBY   no        yes     beats (to absent peers every 15 s),      claim due; RELINQUISH; unfit;
 *                               reads the witness                        maintenance
 *   ACTIVE    yes       -       beats, then renews the lease; announces  hand-over; better claim; stall; address
 *                               after 0.1, 0.5, 2 s and every 10 s       gone; witness not renewed
 *   HANDOVER  until it  -       as ACTIVE while it has the addresses     target active; nobody answers
 *             lets go
 *   RECHECK   no        no      beats, listens                           listened
 *   FAULT     no        no      beats, reads the witness                 link, SIP server, main thread well, no obstacle
 *   MAINT     no        no      beats                                    operator
 *
 * Fit: an active service link, a SIP server that answers, a main thread that lives, no obstacle, no maintenance.
 * Figures are those of the default heartbeat, 500 ms (timing.ts).
 */

/** What one event changes and asks for. */
export interface Step {
  readonly state: Readonly<GroupState>;
  readonly effects: readonly GroupEffect[];
}

/**
 * Takes one event in. Pure: neither reads a clock nor changes `before`.
 * @param now boot-clock milliseconds, not less than in any step before
 */
export function step(config: GroupConfig, before: GroupState, event: GroupEvent, now: number): Step {
  // Necessary: a message overtaken on the way would bring back a state that is over, and with it double claims. The
  // copies that come over the other links are old in the same sense.
  if (event.type === 'message' && !isLater(event.message, peerOf(before, event.message.from))) {
    if (now < before.due) return { state: before, effects: [] };
    event = { type: 'timer' };
  }
  const turn: Turn = { config, state: { ...before }, now, effects: [], beat: false };
  noticeLateness(turn);
  noticeFitness(turn, () => take(turn, event));
  settle(turn);
  if (turn.beat || now >= turn.state.nextBeatAt) beat(turn);
  turn.state.due = nextDue(turn);
  return { state: turn.state, effects: turn.effects };
}

/**
 * Necessary: after a stall, timers fire before the waiting heartbeats are read. Nobody may claim on silence that is
 * only his own deafness, so decisions wait until the sockets are read.
 */
function noticeLateness(turn: Turn): void {
  const { state, now, config, effects } = turn;
  if (now - state.due <= config.timing.late) return;
  if (isServing(state.name)) {
    noticeStall(turn);
    // Once the addresses are let go, the word of the one that has them may wait: it is not silence.
    if (isServing(state.name) && state.holding) return;
  }
  state.draining = true;
  state.drainAskedAt = now;
  effects.push({ type: 'drain' });
}

/** Keeps `fitSince` true across an event. */
function noticeFitness(turn: Turn, change: () => void): void {
  change();
  const { state, now } = turn;
  const fit = isWell(turn);
  if (!fit) state.fitSince = Infinity;
  else if (state.fitSince === Infinity) state.fitSince = now;
}

function take(turn: Turn, event: GroupEvent): void {
  const { state, now, config } = turn;
  switch (event.type) {
    case 'timer':
      return;
    case 'drained':
      if (now - state.drainAskedAt <= config.timing.late) state.draining = false;
      else {
        state.drainAskedAt = now;
        turn.effects.push({ type: 'drain' });
      }
      return;
    case 'message':
      receive(turn, event.message);
      return;
    case 'twin':
      receiveTwin(turn, event.message, event.address);
      if (event.message.kind === 'YIELD') announceAgain(turn);
      return;
    case 'hearing':
      onHearing(turn, event.on);
      return;
    case 'main':
      state.mainBeatAt = Math.max(state.mainBeatAt, event.beatAt);
      return;
    case 'links':
      if (event.active !== state.links) turn.beat = true;
      state.links = event.active;
      return;
    case 'sip':
      state.sip = event.healthy;
      return;
    case 'vip-lost':
      if (state.holding) stepDown(turn, 'RECHECK', event.reason ?? 'an address was removed by somebody else');
      return;
    case 'obstacle':
      onObstacle(turn, event);
      return;
    case 'foreign-arp':
      onForeignArp(turn);
      return;
    case 'carrier-up':
      announceAgain(turn);
      return;
    case 'operator':
      onOperator(turn, event);
      return;
    case 'quiet':
      onQuiet(turn);
      return;
    case 'witness':
      takeWitnessReply(turn, event);
      return;
  }
}

/**
 * Nobody may claim on silence that is only his own deafness: addresses may come up after us. But an instance whose heartbeat links
 * are gone for good may be the only one.
 */
function onHearing(turn: Turn, on: boolean): void {
  const { config, state, now } = turn;
  const { listen, absent } = config.timing;
  if (config.peers.length === 0 || on === state.hears) return;
  state.hears = on;
  if (state.name === 'INIT') state.listenUntil = on ? now + listen : state.since + absent;
  if (on) {
    state.claimHeldUntil = Math.max(state.claimHeldUntil, now + listen);
    state.nextProbeAt = now;
  }
  turn.beat = true;
}

function onObstacle(
  turn: Turn,
  { obstacle, on }: { readonly obstacle: Obstacle; readonly on: boolean },
): void {
  const { state } = turn;
  const others = state.obstacles.filter(
    ({ alarm, about }) => alarm !== obstacle.alarm || about !== obstacle.about,
  );
  if (!on && others.length === state.obstacles.length) return;
  state.obstacles = on ? [...others, obstacle] : others;
  turn.beat = true;
}

function takeWitnessReply(turn: Turn, event: Extract<GroupEvent, { type: 'witness' }>): void {
  const outcome = onWitnessReply(turn, event.id, event.reply);
  const { state } = turn;
  switch (outcome) {
    case 'claimed':
      onClaimed(turn);
      return;
    case 'transferred':
      if (state.handover?.phase === 'transfer') relinquish(turn, state.witness.row?.term ?? 0);
      return;
    case 'transfer-refused': {
      // A renewal was under way: the row is still ours, with a higher seq.
      const target = state.handover?.target;
      if (target === undefined || !requestTransfer(turn, target)) onTransferRefused(turn);
      return;
    }
    case 'lost':
      stepDown(turn, 'STANDBY', 'the witness row is somebody else’s');
      return;
    case undefined:
      return;
  }
}

function settle(turn: Turn): void {
  const { state } = turn;
  if (isServing(state.name)) settleActive(turn);
  if (!isServing(state.name) && !state.draining) settleStandby(turn);
  // A claim of this very step announces at once.
  if (state.name === 'ACTIVE') settleActive(turn);
  pollWitness(turn);
}

/**
 * Necessary: the word first, then the lease. A process that dies in between would leave a lease younger than what its
 * peers count from, and they would claim up to 400 ms before it ends. One that stalls in between finds the renewal too
 * late to be done (runner.ts).
 */
function beat(turn: Turn): void {
  const { state, now, config, effects } = turn;
  const renews =
    state.holding && now > state.lastBeatAt && !effects.some(({ type }) => type === 'add') && mayHold(turn);
  send(turn, 'BEAT');
  if (renews) {
    effects.push({ type: 'renew' });
    state.leasedUntil = now + config.timing.lease;
  }
  state.lastBeatAt = now;
  state.nextBeatAt = now + config.timing.heartbeat;
  updateAlarms(turn);
}

/** When something will be due if nothing happens before. */
function nextDue(turn: Turn): number {
  const { state, now, config } = turn;
  let due = state.nextBeatAt;
  const consider = (at: number): void => {
    if (at > now && at < due) due = at;
  };
  if (config.witness !== 'none') {
    const { pending, nextPollAt } = state.witness;
    consider(pending === undefined ? nextPollAt : pending.sentAt + config.timing.witnessTimeout);
  }
  if (isServing(state.name)) {
    consider(state.announceAt[0] ?? Infinity);
    consider(state.refreshAt);
    // Just after, for a fence is over only when it is exceeded.
    consider(state.mainBeatAt + config.timing.fence + 1);
    consider(betterDueAt(turn));
    if (state.holding) consider(mustLetGoAt(turn));
    consider(state.handover?.deadline ?? Infinity);
    consider(state.handover?.repeats[0] ?? Infinity);
  } else if (state.name === 'INIT' || state.name === 'RECHECK') {
    consider(state.listenUntil);
  } else if (state.name === 'STANDBY' && isFit(turn)) {
    consider(claimDueAt(turn));
    if (config.witness !== 'none') consider(takeableAt(turn));
  }
  return due;
}
