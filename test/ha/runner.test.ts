import { timingFor } from '../../plugin/ha/group/timing';
import type { GroupConfig } from '../../plugin/ha/group/state';
import type { GroupMessage } from '../../plugin/ha/group/message';
import type { HeldAddress, VipAddress } from '../../plugin/ha/ports';
import { DsbcError } from '../../plugin/errors';
import { GroupRunner } from '../../plugin/ha/runner';
import { silentLogger } from '../../plugin/telemetry/logger';

const VIP: VipAddress = { address: '198.51.100.10', family: 4, interface: 'eth0' };
const config: GroupConfig = {
  id: 'a',
  peers: [],
  priority: 100,
  timing: timingFor(50),
  preemption: 'never',
  witness: 'none',
  drainMs: 0,
};

/** A runner over a driver that writes down what it is asked, with a clock that tests can push. */
function bench(held: readonly HeldAddress[] = [], peers: readonly string[] = []) {
  const calls: string[] = [];
  const states: string[] = [];
  const said: string[] = [];
  let skew = 0;
  const fail = { prepare: false, add: false, remove: false, renew: false, deafen: false };
  let errno = 'EBUSY';
  const failure = (operation: string) =>
    new DsbcError('DSBC_NETWORK_FAILED', `${operation}: ${errno}`, { details: { operation, errno } });
  const act = (name: keyof typeof fail) => (): Promise<void> => {
    if (name !== 'prepare') calls.push(name);
    return fail[name] ? Promise.reject(failure(name)) : Promise.resolve();
  };
  const errors: string[] = [];
  const alarms: string[] = [];
  const runner = new GroupRunner({
    config: { ...config, peers },
    incarnation: 1,
    vips: [VIP],
    driver: {
      prepare: act('prepare'),
      add: act('add'),
      renew: act('renew'),
      remove: act('remove'),
      deafen: act('deafen'),
      list: () => Promise.resolve(held),
    },
    announcer: {
      announce: () => {
        calls.push('announce');
        return Promise.resolve();
      },
    },
    now: () => performance.now() + skew,
    mainAge: () => 0,
    send: ({ kind, state }) => {
      calls.push(kind === 'BEAT' ? 'send' : kind);
      said.push(state);
    },
    drain: () => Promise.resolve(),
    settle: () => {
      calls.push('settle');
      return Promise.resolve();
    },
    onLease: (forMs) => calls.push(forMs > 0 ? 'granted' : 'revoked'),
    onLeader: () => undefined,
    onNotice: (notice) => {
      if (notice.type === 'state') states.push(notice.to);
      if (notice.type === 'alarm' && notice.on) alarms.push(notice.name);
    },
    log: { ...silentLogger, error: (_fields, message) => errors.push(message ?? '') },
  });
  const refuse = (value: string): void => {
    errno = value;
    fail.add = fail.remove = fail.renew = true;
  };
  return {
    ...{ runner, calls, states, said, errors, alarms, fail, refuse },
    push: (ms: number) => (skew += ms),
  };
}

type Bench = ReturnType<typeof bench>;

async function run({ runner }: Bench): Promise<void> {
  await runner.prepare();
  runner.start();
  runner.give({ type: 'links', active: 1 });
  runner.give({ type: 'sip', healthy: true });
}

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 3000;
  while (!condition()) {
    if (performance.now() > end) throw new Error('not within 3 s');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

describe('the runner of the machine', () => {
  const benches: Bench[] = [];
  const open = (...args: Parameters<typeof bench>): Bench => {
    const made = bench(...args);
    benches.push(made);
    return made;
  };
  afterEach(() => Promise.all(benches.splice(0).map(({ runner }) => runner.close())));

  it('adds, announces, then says so; and renews right behind every heartbeat', async () => {
    const made = open();
    await run(made);
    await until(() => made.calls.filter((call) => call === 'renew').length > 3);
    const from = made.calls.indexOf('add');
    expect(made.calls.slice(from, from + 4)).toEqual(['add', 'granted', 'announce', 'send']);
    made.calls.forEach((call, index) => {
      if (call === 'renew')
        expect(made.calls.slice(index - 1, index + 2)).toEqual(['send', 'renew', 'granted']);
    });
  });

  it('listens from its start, however long the preparation took', async () => {
    const made = open([], ['b']);
    await made.runner.prepare();
    made.push(10 * config.timing.listen);
    made.runner.start();
    expect(made.runner.state.name).toBe('INIT');
    const left = made.runner.state.listenUntil - performance.now() - 10 * config.timing.listen;
    expect(left).toBeGreaterThan(config.timing.listen - 50);
  });

  it('does not believe in addresses that could not be added', async () => {
    const made = open();
    made.fail.add = true;
    await run(made);
    await until(() => made.states.includes('RECHECK'));
    expect(made.calls).not.toContain('granted');
  });

  it('is no candidate where it may not change addresses, says why, and does not say it again and again', async () => {
    const made = open();
    made.refuse('EPERM');
    await run(made);
    await until(() => made.states.includes('FAULT'));
    expect(made.runner.state.reason).toMatch(/may not add or remove addresses/);
    expect(made.alarms).toContain('not_permitted');
    expect(made.states.slice(made.states.indexOf('ACTIVE'))).toEqual([
      'ACTIVE',
      'RECHECK',
      'STANDBY',
      'FAULT',
    ]);
    expect(made.said).not.toContain('ACTIVE');
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(made.calls.filter((call) => call === 'remove').length).toBeGreaterThan(1);
    expect(made.errors).toHaveLength(2);
    expect(made.states.filter((state) => state === 'ACTIVE')).toHaveLength(1);
  });

  it('knows from its preparation that it may not change addresses, and never claims', async () => {
    const made = open();
    made.refuse('EPERM');
    made.fail.prepare = true;
    await run(made);
    await until(() => made.states.includes('FAULT'));
    expect(made.states).toEqual(['STANDBY', 'FAULT']);
    expect(made.alarms).toContain('not_permitted');
    expect(made.calls).not.toContain('add');
  });

  it('removes and rechecks when a renewal fails', async () => {
    const made = open();
    await run(made);
    await until(() => made.calls.includes('granted'));
    made.fail.renew = true;
    await until(() => made.states.includes('RECHECK'));
    expect(made.calls.at(-1) === 'send' || made.calls.includes('remove')).toBe(true);
    expect(made.calls.slice(made.calls.lastIndexOf('granted'))).toContain('revoked');
  });

  it('tries again to remove what could not be removed', async () => {
    const made = open();
    await run(made);
    await until(() => made.calls.includes('granted'));
    made.fail.remove = true;
    // So that it does not claim again meanwhile.
    made.runner.give({ type: 'sip', healthy: false });
    made.runner.give({ type: 'vip-lost' });
    await until(() => made.calls.filter((call) => call === 'remove').length >= 2);
    made.fail.remove = false;
  });

  describe('a hand-over', () => {
    let seq = 0;
    const hear = ({ runner }: Bench, kind: GroupMessage['kind']): void => {
      seq += 1;
      const { incarnation, seq: ours } = runner.state;
      runner.give({
        type: 'message',
        message: {
          ...{ kind, from: 'b', to: kind === 'READY' ? 'a' : '', state: 'STANDBY', incarnation: 1, seq },
          ...{ term: 0, highestTerm: 0, tenure: 0, links: 1, priority: 1, grant: 0 },
          heard: { a: { incarnation, seq: ours } },
        },
      });
    };
    const handOver = async (made: Bench): Promise<void> => {
      await run(made);
      await until(() => made.calls.includes('granted'));
      hear(made, 'BEAT');
      made.calls.length = 0;
      made.runner.give({ type: 'operator', request: 1, action: 'handover', to: '' });
      hear(made, 'READY');
    };

    it('deafens first, lets go what was received, then removes, then says so', async () => {
      const made = open([], ['b']);
      await handOver(made);
      await until(() => made.calls.includes('RELINQUISH'));
      const from = made.calls.indexOf('deafen');
      expect(made.calls.slice(from, from + 5)).toEqual([
        ...['deafen', 'settle', 'revoked', 'remove', 'RELINQUISH'],
      ]);
    });

    it('goes on where the addresses cannot be deafened', async () => {
      const made = open([], ['b']);
      made.fail.deafen = true;
      await handOver(made);
      await until(() => made.calls.includes('RELINQUISH'));
      expect(made.calls).not.toContain('settle');
      expect(made.calls).toContain('remove');
    });

    it('that nobody takes, after a removal that failed, adds anew, for the addresses to hear again', async () => {
      const made = open([], ['b']);
      made.fail.remove = true;
      await handOver(made);
      await until(() => made.calls.includes('RELINQUISH'));
      made.fail.remove = false;
      await until(() => made.calls.includes('add'));
      const at = made.calls.indexOf('add');
      expect(made.calls.slice(made.calls.indexOf('RELINQUISH'), at + 1)).toContain('remove');
      await until(() => made.calls.slice(at).includes('granted'));
    });
  });

  it('adds addresses at which nothing arrives anew, and does not take its own removal for somebody else’s', async () => {
    const made = open();
    made.runner.refresh();
    await run(made);
    await until(() => made.calls.includes('granted'));
    expect(made.calls).not.toContain('remove');
    made.calls.length = 0;
    made.runner.refresh();
    await until(() => made.calls.includes('announce'));
    made.runner.observe({ type: 'vip-lost' });
    const at = made.calls.indexOf('remove');
    expect(made.calls.slice(at, at + 4)).toEqual(['remove', 'add', 'granted', 'announce']);
    expect(made.runner.state.name).toBe('ACTIVE');
    made.runner.give({ type: 'vip-lost' });
    expect(made.runner.state.name).toBe('RECHECK');
  });

  it('renews nothing that was decided before a stall', async () => {
    const made = open();
    await run(made);
    await until(() => made.calls.includes('granted'));
    // The clock jumps over the fence, as after a stop: the next step drops the addresses instead of renewing.
    const before = made.calls.length;
    made.push(500);
    made.runner.give({ type: 'timer' });
    await until(() => made.states.includes('RECHECK'));
    expect(made.calls.slice(before)).not.toContain('renew');
    expect(made.calls.slice(before)).toContain('remove');
  });

  it('neither says nor renews what a stall between the decision and its doing has made untrue', async () => {
    const made = open();
    await run(made);
    // Nothing is due but the next heartbeat: the announcements of the takeover are over.
    await until(() => made.runner.state.name === 'ACTIVE' && made.runner.state.announceAt.length === 0);
    made.push(made.runner.state.nextBeatAt - performance.now() + 1);
    const [said, calls] = [made.said.length, made.calls.length];
    made.runner.give({ type: 'timer' });
    // What was decided is done as soon as this turn of the loop ends.
    made.push(500);
    await until(() => made.states.includes('RECHECK'));
    expect(made.said.slice(said)).not.toContain('ACTIVE');
    expect(made.calls.slice(calls)).not.toContain('renew');
  });

  it('removes leftovers of its own and nothing else', async () => {
    const leftover: HeldAddress = { ...VIP, prefix: 32, validS: 1 };
    const other: HeldAddress = { ...VIP, address: '198.51.100.1', prefix: 24, validS: Infinity };
    const made = open([leftover, other]);
    await made.runner.prepare();
    expect(made.calls).toEqual(['remove']);
  });

  it('refuses to start when its address is on the machine for good', async () => {
    const made = open([{ ...VIP, prefix: 24, validS: Infinity }]);
    await expect(made.runner.prepare()).rejects.toThrow(
      expect.objectContaining({ code: 'DSBC_GROUP_INVALID' }),
    );
    expect(made.calls).toEqual([]);
  });

  it('takes the addresses with it when it is closed', async () => {
    const made = open();
    await run(made);
    await until(() => made.calls.includes('granted'));
    await made.runner.close();
    expect(made.calls.at(-1)).toBe('remove');
    await made.runner.close();
  });
});
