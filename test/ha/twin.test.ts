import { join } from 'node:path';
import type { GroupEvent } from '../../plugin/ha/group/event';
import { step } from '../../plugin/ha/group/machine';
import type { GroupMessage, GroupStateName } from '../../plugin/ha/group/message';
import type { GroupConfig, GroupState } from '../../plugin/ha/group/state';
import { initialState } from '../../plugin/ha/group/state';
import { timingFor } from '../../plugin/ha/group/timing';
import { createGroup, type Group } from '../../plugin/ha/group';
import { builtPlugin } from '../fixtures/ha/built';
import { freePort } from '../fixtures/sip-endpoint';

const NETWORK = join(__dirname, '../fixtures/ha/memory-network.cjs');
const workerFile = join(builtPlugin(), 'ha/worker.js');

async function until(condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 5000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within 5 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('two instances on two machines', () => {
  const groups: Group[] = [];
  const alarms: string[][] = [];
  let ports: readonly [number, number];
  const start = async (index: 0 | 1, instance: string, key = 'a key of the test'): Promise<Group> => {
    const group = createGroup({
      settings: {
        group: 'g',
        instance,
        key,
        heartbeatMs: 100,
        drainMs: 50,
        listen: { m1: { host: '127.0.0.1', port: ports[index] } },
        peers: [{ id: 'b', links: { m1: { host: '127.0.0.1', port: ports[1 - index]! } } }],
        vips: [{ address: '198.51.100.10', family: 4, interface: 'eth0' }],
      },
      networkModule: NETWORK,
      workerFile,
    });
    const raised: string[] = [];
    group.on('alarm', ({ name, about, on }) => {
      if (on) raised.push(`${name} ${about}`);
    });
    groups.push(group);
    alarms.push(raised);
    await group.start();
    group.setSipHealthy(true);
    return group;
  };
  beforeEach(async () => {
    ports = [await freePort(), await freePort()];
  });
  afterEach(async () => {
    alarms.length = 0;
    await Promise.all(groups.splice(0).map((group) => group.close()));
  });

  it('of one name: the later one is FAULT, says why, and takes over when the earlier one is gone', async () => {
    const first = await start(0, 'a');
    await until(() => first.state === 'ACTIVE', 'the first serves');
    const second = await start(1, 'a');
    const states: GroupStateName[] = [];
    second.on('state', ({ to }) => states.push(to));
    await until(() => second.state === 'FAULT', 'the second does not');
    expect(await second.status()).toMatchObject({
      reason: 'the instance at 127.0.0.1 has the name a, too, and started earlier',
    });
    await until(() => alarms.every((raised) => raised.includes('duplicate_name 127.0.0.1')), 'both say so');
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect([first.state, second.state]).toEqual(['ACTIVE', 'FAULT']);
    expect(states).not.toContain('ACTIVE');
    await first.close();
    await until(() => second.state === 'ACTIVE', 'the second is better than none');
  });

  it('of two keys: each says whose key is wrong, as long as it is', async () => {
    await start(0, 'a');
    await start(1, 'c', 'another key of the test');
    await until(() => alarms.every((raised) => raised.includes('wrong_key b')), 'both say so');
  });
});

describe('a message under our own name', () => {
  const config: GroupConfig = {
    ...{ id: 'a', peers: ['b'], priority: 100, timing: timingFor(), preemption: 'never' },
    ...{ witness: 'none', drainMs: 0 },
  };
  const active = (): GroupState => {
    let state: Readonly<GroupState> = initialState(config, 0, 100);
    const take = (event: GroupEvent, now: number): void => void ({ state } = step(config, state, event, now));
    take({ type: 'links', active: 1 }, 0);
    take({ type: 'sip', healthy: true }, 0);
    for (let now = 0; now < 4000; now += 20) {
      take({ type: 'main', beatAt: now }, now);
      take({ type: 'timer' }, now);
    }
    expect(state.name).toBe('ACTIVE');
    return state;
  };
  const message = (incarnation: number, heard: GroupMessage['heard'] = {}): GroupMessage => ({
    ...{ kind: 'BEAT', from: 'a', to: '', state: 'ACTIVE', incarnation, seq: 7, heard },
    ...{ term: 1, highestTerm: 1, tenure: 1, links: 1, priority: 100, grant: 0 },
  });
  const told = (twin: GroupMessage): string =>
    step(config, active(), { type: 'twin', message: twin, address: '192.0.2.1' }, 3990).state.name;
  const hearsUs = { a: { incarnation: 100, seq: 1 } };

  it('takes the addresses from the later one, if its sender says that it hears this very life', () => {
    expect(told(message(99, hearsUs))).toBe('FAULT');
    expect(told(message(101, hearsUs))).toBe('ACTIVE');
  });

  it('whose life a peer knows does not make us skip past it, or the earlier one would become the later', () => {
    const later = message(200, hearsUs);
    const { state } = step(config, active(), { type: 'twin', message: later, address: '192.0.2.1' }, 3990);
    const echo = { ...message(1, { a: { incarnation: 200, seq: 7 } }), from: 'b', state: 'FAULT' as const };
    const after = step(config, state, { type: 'message', message: echo }, 3995).state;
    expect(after).toMatchObject({ name: 'ACTIVE', incarnation: 100 });
    // An earlier life of our own, which nobody lives, is skipped all the same.
    const own = { ...echo, seq: 8, heard: { a: { incarnation: 150, seq: 7 } } };
    expect(step(config, active(), { type: 'message', message: own }, 3995).state.incarnation).toBe(151);
  });

  it('that was recorded in an earlier life, and our own, change nothing', () => {
    expect(told(message(99))).toBe('ACTIVE');
    expect(told(message(99, { a: { incarnation: 98, seq: 1 } }))).toBe('ACTIVE');
    expect(told(message(100, hearsUs))).toBe('ACTIVE');
  });
});
