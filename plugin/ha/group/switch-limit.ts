import type { Turn } from './turn';

/** Counts a planned switch of the group, whoever made it, so that the limit survives the switch. */
export function noteSwitch({ config, state, now }: Turn, grant: number): void {
  if (grant === state.lastGrant) return;
  state.lastGrant = grant;
  state.lastSwitchAt = now;
  state.switches = [...state.switches.filter((at) => now - at < config.timing.switchWindow), now];
}

/** When a planned switch would be allowed, so far as the last one and the lock say. */
export function plannedAllowedAt({ config, state }: Turn): number {
  return Math.max(state.lastSwitchAt + config.timing.settle, state.lockedUntil, state.retryAt);
}

/** Asks for one planned switch; too many in the window lock them. A takeover is never asked about. */
export function mayTakePlanned(turn: Turn): boolean {
  const { config, state, now } = turn;
  if (now < plannedAllowedAt(turn)) return false;
  const recent = state.switches.filter((at) => now - at < config.timing.switchWindow);
  if (recent.length < config.timing.switchLimit) return true;
  state.lockedUntil = now + config.timing.switchLock;
  return false;
}
