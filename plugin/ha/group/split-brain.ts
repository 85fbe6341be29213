import { outranks } from './election';
import type { GroupMessage } from './message';
import type { Turn } from './turn';
import { endHandover, enter, removeAddresses, send } from './turn';

/**
 * Two instances have the addresses, or had: the higher (term, priority, id) stays. The loser first removes its
 * addresses, then says so; the winner beats at once, so that the loser hears it.
 */
export function conflict(turn: Turn, message: GroupMessage): void {
  const { config, state, now } = turn;
  const self = { term: state.term, priority: config.priority, id: config.id };
  const other = { term: message.term, priority: message.priority, id: message.from };
  if (outranks(self, other)) {
    if (now - state.lastBeatAt >= config.timing.repeat) turn.beat = true;
    return;
  }
  const { handover } = state;
  const expected = handover?.phase === 'relinquish' && handover.target === message.from;
  endHandover(turn, expected, `${message.from} is active`);
  const had = state.holding;
  removeAddresses(turn);
  enter(
    turn,
    'STANDBY',
    expected ? `handed over to ${message.from}` : `${message.from} has the better claim`,
  );
  if (had) send(turn, 'YIELD');
}
