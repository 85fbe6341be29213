import { mayHold, releaseRow, requestClaim, takeableAt } from '../lease/witness';
import { activeHeardAt, claimDueAt } from './election';
import type { Turn } from './turn';
import { becomeActive, enter, isFit, isMainStalled } from './turn';
import { twinObstacle } from './twin';

/** What an instance without the addresses checks at every step, unless it is catching up after a stall. */
export function settleStandby(turn: Turn): void {
  const { state, now } = turn;
  if ((state.name === 'INIT' || state.name === 'RECHECK') && now >= state.listenUntil) {
    const listened = state.hears ? 'listened' : 'no heartbeat link could be opened in time';
    enter(turn, 'STANDBY', state.name === 'INIT' ? listened : 'rechecked');
  }
  if (state.name === 'MAINT' && !state.maintenance && !state.leaving) {
    enter(turn, 'STANDBY', 'maintenance is over');
  }
  if (state.name !== 'STANDBY' && state.name !== 'FAULT') return;
  if (state.maintenance || state.leaving) {
    enter(turn, 'MAINT', state.leaving ? 'leaving' : 'maintenance');
    return;
  }
  if (!isFit(turn)) {
    if (state.name !== 'FAULT') enter(turn, 'FAULT', unfitReason(turn));
    return;
  }
  if (state.name === 'FAULT') enter(turn, 'STANDBY', 'fit again');
  claimIfDue(turn);
}

function unfitReason(turn: Turn): string {
  if (isMainStalled(turn)) return 'the main thread does not answer';
  const obstacle = turn.state.obstacles[0]?.reason ?? twinObstacle(turn);
  if (obstacle !== undefined) return obstacle;
  return turn.state.links === 0 ? 'no active link' : 'the SIP server is not healthy';
}

function claimIfDue(turn: Turn): void {
  const { config, now } = turn;
  if (now < claimDueAt(turn)) return;
  if (config.witness === 'none') becomeActive(turn, 'no active is heard');
  else if (now >= takeableAt(turn)) requestClaim(turn);
}

/** The witness row is ours. If the reason to claim has gone meanwhile, it is released. */
export function onClaimed(turn: Turn): void {
  const { config, state, now } = turn;
  const silent = now - activeHeardAt(turn) > config.timing.dead;
  if (state.name === 'STANDBY' && !state.draining && isFit(turn) && silent && mayHold(turn)) {
    becomeActive(turn, 'no active is heard; the witness agrees');
  } else releaseRow(turn);
}
