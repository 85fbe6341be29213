import type { WitnessMode } from '../../../plugin/ha/group/state';
import type { Mutation } from './mutant';
import { mutantStep } from './mutant';
import { runSchedule, scheduleOf } from './schedule';

/** How many schedules a mutant may survive. */
const PATIENCE = 4_000;

const RULES: readonly (Mutation & { rule: string; modes: readonly WitnessMode[]; from: number })[] = [
  {
    rule: 'drop messages older than the last (incarnation, seq)',
    from: 100,
    modes: ['none'],
    file: 'ha/group/machine.ts',
    find: '!isLater(event.message, peerOf(before, event.message.from))',
    replace: 'event.message.from === config.id && isLater(event.message, event.message)',
  },
  {
    rule: 'announce again when a peer becomes reachable, yields or begins a new life',
    from: 0,
    modes: ['none'],
    file: 'ha/group/peers.ts',
    find: "message.kind === 'YIELD' || before.holding || reachableAgain || newLife",
    replace: 'message.grant < 0',
  },
  {
    rule: 'after a stall read what waits before deciding',
    from: 0,
    modes: ['none'],
    file: 'ha/group/machine.ts',
    find: '  state.draining = true;',
    replace: '  state.draining = false;',
  },
  {
    rule: 'a main thread that stalls loses the addresses',
    from: 0,
    modes: ['none'],
    file: 'ha/group/turn.ts',
    find: 'return now - state.mainBeatAt > config.timing.fence;',
    replace: 'return now - state.mainBeatAt > 1000 * config.timing.fence;',
  },
  {
    rule: 'no claim before the kernel of a killed active has removed the addresses',
    from: 0,
    modes: ['none'],
    file: 'ha/group/election.ts',
    find: 'timing.witnessTake : timing.claim;',
    replace: 'timing.witnessTake : timing.lease;',
  },
  {
    rule: 'a contender has seen the witness row unchanged for longer than it protects',
    from: 1400,
    modes: ['strict'],
    file: 'ha/lease/witness.ts',
    find: 'return free ? -Infinity : seenAt + config.timing.witnessTake;',
    replace: 'return free ? -Infinity : seenAt + config.timing.dead;',
  },
  {
    rule: 'the kernel lease is renewed only with enough of the witness to spare',
    from: 300,
    modes: ['strict'],
    file: 'ha/lease/witness.ts',
    find: 'if (state.witness.heldUntil - now > config.timing.witnessSpare) return true;',
    replace: 'if (state.witness.heldUntil - now > -config.timing.witnessSpare) return true;',
  },
];

describe('a rule that is necessary', () => {
  it.each(RULES)(
    'is missed when it is changed: $rule',
    ({ modes, from, ...mutation }) => {
      const { step, dispose } = mutantStep(mutation);
      try {
        let found: readonly string[] = [];
        // `from` skips seeds that are known to say nothing, to save time.
        let seed = from;
        while (found.length === 0 && seed < from + PATIENCE) {
          found = runSchedule(scheduleOf(seed, modes), step);
          seed += 1;
        }
        expect(found).not.toEqual([]);
      } finally {
        dispose();
      }
    },
    120_000,
  );
});
