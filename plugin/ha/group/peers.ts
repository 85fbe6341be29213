import type { GroupMessage } from './message';
import type { PeerView } from './state';
import type { Turn } from './turn';
import { announceAgain, isServing, peerOf } from './turn';
import { conflict } from './split-brain';
import { onPrepare, onReady, onRelinquish } from './handover';
import { noteSwitch } from './switch-limit';

/** Takes in a message of a peer: first what it says of the peer, then what it asks of us. */
export function receive(turn: Turn, message: GroupMessage): void {
  const { config, state, now } = turn;
  if (!config.peers.includes(message.from)) return;
  const before = peerOf(state, message.from);

  const reachableAgain = now - before.heardAt > config.timing.dead;
  const newLife = message.incarnation !== before.incarnation || message.tenure !== before.tenure;
  state.peers = { ...state.peers, [message.from]: viewOf(turn, message, before, reachableAgain) };
  state.highestTerm = Math.max(state.highestTerm, message.highestTerm, message.term);
  skipUsedIncarnation(turn, message);
  if (message.grant > 0) noteSwitch(turn, message.grant);

  if (isServing(state.name)) {
    if (
      peerOf(state, message.from).holding ||
      (state.handover?.phase === 'relinquish' && message.state === 'ACTIVE')
    ) {
      conflict(turn, message);
    }
    // Necessary: the neighbours may have heard an owner that is none any more, or one we could not hear.
    if (state.holding && (message.kind === 'YIELD' || before.holding || reachableAgain || newLife)) {
      announceAgain(turn);
      if (now - state.lastBeatAt >= config.timing.repeat) turn.beat = true;
    }
  }
  if (before.holding && !peerOf(state, message.from).holding) holdClaims(turn, message, before);
  if (message.kind === 'READY' && message.to === config.id) onReady(turn, message);
  if (message.kind === 'PREPARE' && message.to === config.id) onPrepare(turn, message);
  if (message.grant > 0) onRelinquish(turn, message);
}

/**
 * It let go: the ranks count from here. If because somebody else has the better claim, that one counts as heard, although its own word
 * may come later, or not at all: a claim now would make two owners for as long as it can't hear us. With a witness the
 * row decides.
 */
function holdClaims(turn: Turn, message: GroupMessage, before: PeerView): void {
  const { config, state, now } = turn;
  // One that had to let go for a reason of its own is not a standby now, and nobody need wait.
  const yielded =
    message.state === 'STANDBY' && (message.kind === 'YIELD' || message.highestTerm > before.term);
  const silence = yielded && config.witness === 'none' ? config.timing.claim : 0;
  state.claimHeldUntil = Math.max(state.claimHeldUntil, now + silence);
}

function viewOf(turn: Turn, message: GroupMessage, before: PeerView, reachableAgain: boolean): PeerView {
  const { config, state, now } = turn;
  const echo = message.heard[config.id];
  const acknowledged =
    echo?.incarnation === state.incarnation ? state.sent.find(({ seq }) => seq === echo.seq) : undefined;
  return {
    incarnation: message.incarnation,
    seq: message.seq,
    state: message.state,
    holding: message.state === 'ACTIVE' || (message.state === 'HANDOVER' && message.grant === 0),
    term: message.term,
    tenure: message.tenure,
    links: message.links,
    priority: message.priority,
    heardAt: now,
    reachableSince:
      reachableAgain || message.incarnation !== before.incarnation ? now : before.reachableSince,
    heardMeAt:
      acknowledged?.at ?? (message.incarnation === before.incarnation ? before.heardMeAt : -Infinity),
    heardMeHoldingAt:
      acknowledged?.holding === true
        ? acknowledged.at
        : message.incarnation === before.incarnation
          ? before.heardMeHoldingAt
          : -Infinity,
  };
}

/**
 * A peer that knows a later life of ours would ignore this one. It happens when the wall clock, from which the
 * incarnation is taken at start, was set back in between.
 */
function skipUsedIncarnation({ config, state }: Turn, message: GroupMessage): void {
  const known = message.heard[config.id]?.incarnation ?? -1;
  // The life of another instance of our name, which would skip past ours in turn: neither would stay the earlier one.
  if (known <= state.incarnation || known === state.twin?.incarnation) return;
  state.incarnation = known + 1;
  state.seq = 0;
  state.sent = [];
}
