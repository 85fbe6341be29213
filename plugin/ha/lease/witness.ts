import type { WitnessRow } from '../ports';
import type { WitnessReply } from '../group/event';
import type { WitnessPending, WitnessView } from '../group/state';
import type { Turn } from '../group/turn';
import { isLive, peerOf } from '../group/turn';

/*
 * The witness row (owner, term, seq), written by compare-and-set on (term, seq):
 *
 *   claim     a contender that saw the row unchanged for `witnessTake`, or released, writes itself with a higher term
 *   renew     the holder adds one to seq every heartbeat; it is protected for `witness` ms counted from when it SENT
 *   transfer  in a hand-over the holder writes the target with seq 0; the target serves after RELINQUISH only
 *   release   owner becomes empty: the next contender need not wait
 *
 * Safe because what a contender has seen unchanged was written before it looked, and the holder counts from before it
 * wrote; compare-and-set orders the rest. A request without an answer is unknown: it is read back, and until then only
 * what earlier answers allow is done.
 */

/** May the addresses be held, and their lease be renewed, now? */
export function mayHold(turn: Turn): boolean {
  const { config, state, now } = turn;
  if (config.witness === 'none') return true;
  if (state.witness.heldUntil - now > config.timing.witnessSpare) return true;
  return config.witness === 'failsafe' && now + config.timing.witnessSpare <= acknowledgedUntil(turn);
}

/**
 * The witness answered lately, so that the row can be given to another. Without it a hand-over ends with nobody having it
 * until the witness is back.
 */
export function answersLately({ config, state, now }: Turn): boolean {
  const { heartbeat, witnessTimeout } = config.timing;
  return config.witness === 'none' || now - state.witness.answeredAt <= heartbeat + witnessTimeout;
}

/** Until when no peer can claim, because each has said it heard us as the holder (failsafe). */
function acknowledgedUntil(turn: Turn): number {
  const { config, state } = turn;
  let until = Infinity;
  for (const id of config.peers) {
    const view = peerOf(state, id);
    if (!isLive(turn, view) || view.holding) return -Infinity;
    until = Math.min(until, view.heardMeHoldingAt + config.timing.witnessTake);
  }
  return config.peers.length === 0 ? -Infinity : until;
}

/** When the addresses must go unless the row, or the acknowledgements, are renewed before. */
export function mustLetGoAt({ config, state }: Turn): number {
  return config.witness === 'none' ? Infinity : state.witness.heldUntil - config.timing.witnessSpare;
}

/** When the row we know may be taken; Infinity while we know none. */
export function takeableAt({ config, state }: Turn): number {
  const { row, seenAt } = state.witness;
  if (row === undefined) return Infinity;
  // Our own row needs no waiting, unless it was given to us (seq 0): then the giver may still hold the addresses.
  const free = row === null || row.owner === '' || (row.owner === config.id && row.seq > 0);
  return free ? -Infinity : seenAt + config.timing.witnessTake;
}

/** Reads the row every heartbeat, or writes it if it is ours to renew. */
export function pollWitness(turn: Turn): void {
  const { config, state, now } = turn;
  if (config.witness === 'none') return;
  const { pending } = state.witness;
  if (pending !== undefined && now - pending.sentAt >= config.timing.witnessTimeout) {
    forget(turn);
  }
  if (state.witness.pending !== undefined || now < state.witness.nextPollAt) return;
  const { row } = state.witness;
  update(turn, { nextPollAt: now + config.timing.heartbeat });
  if (state.holding && state.handover?.phase !== 'transfer' && row?.owner === config.id) {
    write(turn, 'renew', row, { owner: config.id, term: row.term, seq: row.seq + 1 });
  } else read(turn);
}

/** A contender asks for the row. False: a request is under way already. */
export function requestClaim(turn: Turn): boolean {
  const { config, state } = turn;
  const { row, pending } = state.witness;
  if (row === undefined || (pending !== undefined && pending.operation !== 'read')) return false;
  const term = Math.max(state.highestTerm, row?.term ?? 0) + 1;
  write(turn, 'claim', row, { owner: config.id, term, seq: 1 });
  return true;
}

/** The holder gives the row to the target of a hand-over. An earlier request still under way is superseded. */
export function requestTransfer(turn: Turn, target: string): boolean {
  const { config, state } = turn;
  const { row } = state.witness;
  if (row?.owner !== config.id) return false;
  const term = Math.max(state.highestTerm, row.term) + 1;
  write(turn, 'transfer', row, { owner: target, term, seq: 0 });
  return true;
}

/** Lets the next contender take the row at once. Only after the addresses are gone. */
export function releaseRow(turn: Turn): void {
  const { config, state } = turn;
  const { row } = state.witness;
  if (config.witness === 'none' || row?.owner !== config.id) return;
  update(turn, { heldUntil: -Infinity });
  write(turn, 'release', row, { owner: '', term: row.term, seq: row.seq + 1 });
}

/** The row was given to us: it protects us from when we said READY, for nobody can have seen it before. */
export function takeTransferredRow(turn: Turn, grant: number, readyAt: number): void {
  const { config, now } = turn;
  update(turn, {
    row: { owner: config.id, term: grant, seq: 0 },
    seenAt: now,
    heldUntil: readyAt + config.timing.witness,
    pending: undefined,
    nextPollAt: now,
  });
}

export type WitnessOutcome =
  | 'claimed'
  | 'transferred'
  | 'transfer-refused'
  /** The row is somebody else's. */
  | 'lost'
  | undefined;

/** Takes in an answer. Answers of superseded requests only matter if they come back by a later read. */
export function onWitnessReply(turn: Turn, id: number, reply: WitnessReply): WitnessOutcome {
  const { state, now, config } = turn;
  const { pending } = state.witness;
  if (pending?.id !== id) return undefined;
  if (reply.type === 'unknown') {
    forget(turn);
    return undefined;
  }
  update(turn, { pending: undefined, answeredAt: now });
  if (reply.type === 'applied') {
    observe(turn, pending.next ?? null);
    return applied(turn, pending);
  }
  observe(turn, reply.row);
  const { row } = state.witness;
  // A holder reads, or is refused, only in doubt about a request of its own: now it knows where to renew from.
  if (state.holding) update(turn, { nextPollAt: now });
  if (pending.operation === 'transfer') return 'transfer-refused';
  // A renewal was under way when it was released, and came first.
  if (pending.operation === 'release' && !state.holding) releaseRow(turn);
  return state.holding && row?.owner !== config.id ? 'lost' : undefined;
}

function applied(turn: Turn, pending: WitnessPending): WitnessOutcome {
  const { timing } = turn.config;
  switch (pending.operation) {
    case 'claim':
    case 'renew':
      update(turn, {
        heldUntil: Math.max(turn.state.witness.heldUntil, pending.sentAt + timing.witness),
      });
      return pending.operation === 'claim' ? 'claimed' : undefined;
    case 'transfer':
      update(turn, { heldUntil: -Infinity });
      return 'transferred';
    case 'release':
    case 'read':
      return undefined;
  }
}

function forget(turn: Turn): void {
  update(turn, { pending: undefined, nextPollAt: turn.now });
  read(turn);
  update(turn, { nextPollAt: turn.now + turn.config.timing.heartbeat });
}

function observe(turn: Turn, row: WitnessRow | null): void {
  const known = turn.state.witness.row;
  const same =
    known !== undefined &&
    known?.owner === row?.owner &&
    known?.term === row?.term &&
    known?.seq === row?.seq;
  if (row !== null) turn.state.highestTerm = Math.max(turn.state.highestTerm, row.term);
  if (!same) update(turn, { row, seenAt: turn.now });
}

function read(turn: Turn): void {
  const id = turn.state.witness.lastId + 1;
  update(turn, { lastId: id, pending: { id, operation: 'read', sentAt: turn.now, next: undefined } });
  turn.effects.push({ type: 'witness-read', id });
}

function write(
  turn: Turn,
  operation: WitnessPending['operation'],
  expected: WitnessRow | null,
  next: WitnessRow,
): void {
  const id = turn.state.witness.lastId + 1;
  update(turn, { lastId: id, pending: { id, operation, sentAt: turn.now, next } });
  turn.effects.push({ type: 'witness-write', id, expected, next });
}

function update(turn: Turn, change: Partial<WitnessView>): void {
  turn.state.witness = { ...turn.state.witness, ...change };
}
