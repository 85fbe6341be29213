import { isLater, type GroupMessage } from './message';
import type { Turn } from './turn';

/*
 * Another instance of the same name: two that both count as `a` hear each other as nobody, and both would have the addresses.
 * The one that started first stays; the other has the obstacle of its name. What is recorded and sent again must not
 * take the addresses from anybody, so a message counts only if its sender lives now: it says that it heard this very life of ours.
 */

type Look = Pick<Turn, 'config' | 'state' | 'now'>;

const isOwner = (name: string): boolean => name === 'ACTIVE' || name === 'HANDOVER';

/** Takes in a message under our own name. */
export function receiveTwin(turn: Turn, message: GroupMessage, address: string): void {
  const { config, state, now } = turn;
  const { twin: before } = state;
  const isOwn = message.incarnation === state.incarnation;
  if (isOwn || (before !== undefined && !isLater(message, before))) return;
  const known = before?.incarnation === message.incarnation ? before.provenAt : -Infinity;
  const proven = message.heard[config.id]?.incarnation === state.incarnation;
  const { incarnation, seq, state: name } = message;
  state.twin = { incarnation, seq, name, address, provenAt: proven ? now : known };
  if (before?.incarnation === incarnation) return;
  // For it to hear at once that it was heard.
  state.nextProbeAt = now;
  turn.beat = true;
}

/** Where it is, as long as it was heard lately; absent instances are tried every `probe` only. */
export function twinAddress({ config, state, now }: Look): string | undefined {
  const { twin } = state;
  return twin !== undefined && now - twin.provenAt < 2 * config.timing.probe ? twin.address : undefined;
}

/** Why we cannot have the addresses: it started before us and could have them, or has them. */
export function twinObstacle(look: Look): string | undefined {
  const { config, state, now } = look;
  const { twin } = state;
  const address = twinAddress(look);
  if (twin === undefined || address === undefined || twin.incarnation > state.incarnation) return undefined;
  if (twin.name === 'FAULT' || twin.name === 'MAINT') return undefined;
  if (isOwner(twin.name) && now - twin.provenAt > 2 * config.timing.dead) return undefined;
  return `the instance at ${address} has the name ${config.id}, too, and started earlier`;
}

/** The same for one that has the addresses itself: only another owner moves it to let go. */
export function twinOwns(look: Look): string | undefined {
  return look.state.twin !== undefined && isOwner(look.state.twin.name) ? twinObstacle(look) : undefined;
}
