import type { OperatorDecision, RegistryChange } from '../../plugin/registry/registry';
import { createMemoryRegistry } from '../../plugin/registry/memory';
import { replicatedDecisions } from '../../plugin/registry/replicated-decisions';
import { replicatedDrops } from '../../plugin/registry/replicated-drops';
import { silentLogger } from '../../plugin/telemetry/logger';

const decision = (site: string, state: OperatorDecision['state'] = 'maintenance'): OperatorDecision => ({
  system: 's',
  site,
  state,
  by: 'someone',
  at: '2026-01-01T00:00:00Z',
  why: '',
});

describe('what a standby takes over of the registry', () => {
  it('drops what the active dropped, and everything when it may have missed some or does not understand', () => {
    const dropped: RegistryChange[] = [];
    const topic = replicatedDrops({ invalidate: (change) => dropped.push(change) });
    expect([...topic.snapshot()]).toEqual([]);
    topic.apply({ type: 'entry', key: { kind: 'did', value: '12025550123' } });
    topic.apply({ type: 'customer', id: 'c1' });
    for (const odd of [null, 7, { type: 'entry', key: { kind: 'new kind', value: 'x' } }, { type: 'new' }])
      topic.apply(odd);
    topic.reset();
    expect(dropped).toEqual([
      { type: 'entry', key: { kind: 'did', value: '12025550123' } },
      { type: 'customer', id: 'c1' },
      ...Array.from({ length: 5 }, () => ({ type: 'all' })),
    ]);
  });

  it('follows the operator states of the active, and writes them into a registry of its own', async () => {
    const own = createMemoryRegistry();
    await own.putDecision(decision('kept'));
    const used: (readonly OperatorDecision[])[] = [];
    const topic = replicatedDecisions({
      current: () => undefined,
      decide: (all) => used.push(all),
      own,
      log: silentLogger,
    });
    expect([...topic.snapshot()]).toEqual([]);
    let writes = 0;
    own.onDecision(() => (writes += 1));
    const all = [decision('kept'), decision('new'), decision('other', 'drain')];
    topic.apply([...all, { system: 's', site: 'x', state: 'unknown' }]);
    topic.apply('nonsense');
    topic.apply(all);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(used).toEqual([all, all]);
    expect(await own.listDecisions()).toEqual(all);
    // What it had was not written again.
    expect(writes).toBe(2);
  });

  it('gives all decisions as one record of the snapshot, and writes nothing into a shared registry', () => {
    const topic = replicatedDecisions({
      current: () => [decision('a')],
      decide: () => undefined,
      log: silentLogger,
    });
    expect([...topic.snapshot()]).toEqual([[decision('a')]]);
  });
});
