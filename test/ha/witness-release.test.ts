import type { GroupEvent } from '../../plugin/ha/group/event';
import type { GroupEffect } from '../../plugin/ha/group/effect';
import { step } from '../../plugin/ha/group/machine';
import type { GroupConfig, GroupState } from '../../plugin/ha/group/state';
import { initialState } from '../../plugin/ha/group/state';
import { timingFor } from '../../plugin/ha/group/timing';
import type { WitnessRow } from '../../plugin/ha/ports';

const config: GroupConfig = {
  ...{ id: 'a', peers: ['b'], priority: 100, timing: timingFor(), preemption: 'never' },
  ...{ witness: 'strict', drainMs: 0 },
};

it('a row whose renewal was under way when it was released is released all the same', () => {
  let row: WitnessRow | null = null;
  let state: Readonly<GroupState> = initialState(config, 0, 1);
  let now = 0;
  const writes: Extract<GroupEffect, { type: 'witness-write' }>[] = [];
  const reads: number[] = [];
  const give = (event: GroupEvent): void => {
    const taken = step(config, state, event, now);
    state = taken.state;
    for (const effect of taken.effects) {
      if (effect.type === 'witness-write') writes.push(effect);
      if (effect.type === 'witness-read') reads.push(effect.id);
    }
  };
  /** The witness does what it was asked for, in that order, and answers. */
  const answer = (): void => {
    for (const id of reads.splice(0)) give({ type: 'witness', id, reply: { type: 'row', row } });
    for (const { id, expected, next } of writes.splice(0)) {
      const applies = row?.term === expected?.term && row?.seq === expected?.seq;
      if (applies) row = next;
      give({ type: 'witness', id, reply: applies ? { type: 'applied' } : { type: 'not-applied', row } });
    }
  };
  give({ type: 'links', active: 1 });
  give({ type: 'sip', healthy: true });
  for (; state.name !== 'ACTIVE'; now += 10) {
    if (now > 5000) throw new Error('it did not become active');
    give({ type: 'main', beatAt: now });
    give({ type: 'timer' });
    answer();
  }
  while (writes.length === 0) {
    now += 10;
    give({ type: 'main', beatAt: now });
    give({ type: 'timer' });
  }
  // The renewal is on its way when the addresses go.
  give({ type: 'vip-lost' });
  expect(writes.map(({ next }) => next.owner)).toEqual(['a', '']);
  answer();
  answer();
  expect(row).toMatchObject({ owner: '' });
});
