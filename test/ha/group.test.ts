import { createSocket } from 'node:dgram';
import { join } from 'node:path';
import type { Group, GroupOptions } from '../../plugin/ha/group';
import { createGroup } from '../../plugin/ha/group';
import type { GroupSettings } from '../../plugin/ha/settings';
import type { WitnessRow, WitnessStore } from '../../plugin/ha/ports';
import { builtPlugin } from '../fixtures/ha/built';
import { freePort } from '../fixtures/sip-endpoint';

const NETWORK = join(__dirname, '../fixtures/ha/memory-network.cjs');
/** The worker as it is built; main's side runs from the sources. */
const workerFile = join(builtPlugin(), 'ha/worker.js');

async function until(condition: () => boolean, what: string, withinMs = 8000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('a group as main sees it', () => {
  const groups: Group[] = [];
  const make = async (
    names: readonly string[],
    change: Partial<GroupSettings> = {},
    options: Partial<GroupOptions> = {},
  ): Promise<readonly Group[]> => {
    const ports = await Promise.all(names.map(() => freePort()));
    const made = names.map((instance, index) =>
      createGroup({
        settings: {
          group: 'g',
          instance,
          key: 'a key of the test',
          heartbeatMs: 100,
          drainMs: 50,
          listen: { m1: { host: '127.0.0.1', port: ports[index]! } },
          peers: names
            .map((id, at) => ({ id, links: { m1: { host: '127.0.0.1', port: ports[at]! } } }))
            .filter(({ id }) => id !== instance),
          vips: [{ address: '198.51.100.10', family: 4, interface: 'eth0' }],
          ...change,
        },
        networkModule: NETWORK,
        workerFile,
        ...options,
      }),
    );
    groups.push(...made);
    return made;
  };
  const started = async (...args: Parameters<typeof make>): Promise<readonly Group[]> => {
    const made = await make(...args);
    await Promise.all(made.map((group) => group.start()));
    for (const group of made) group.setSipHealthy(true);
    await until(() => made.filter(({ state }) => state === 'ACTIVE').length === 1, 'one active');
    await until(
      () => made.filter(({ state }) => state === 'STANDBY').length === made.length - 1,
      'the others stand by',
    );
    // The addresses come right behind the state.
    await until(() => made.some((group) => group.servingTerm() > 0), 'the addresses are held');
    return made;
  };
  afterEach(async () => {
    await Promise.all(groups.splice(0).map((group) => group.close()));
  });

  it('has one member that may send SIP, and moves that right by a hand-over', async () => {
    const [a, b] = await started(['a', 'b']);
    const first = a!.servingTerm() > 0 ? a! : b!;
    const second = first === a ? b! : a!;
    expect(first.state).toBe('ACTIVE');
    expect(second.servingTerm()).toBe(0);
    const leaders: string[] = [];
    second.on('leader', (instance) => leaders.push(instance));
    const term = first.servingTerm();
    // Both must have heard that they are heard.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await first.handover()).toMatchObject({ done: true });
    await until(() => second.servingTerm() > term, 'the other serves');
    expect(first.servingTerm()).toBe(0);
    expect(leaders.at(-1)).toBe(second === a ? 'a' : 'b');
    expect(await first.handover()).toMatchObject({
      done: false,
      reason: expect.stringMatching(/only the active/),
    });
  });

  it('hands over before maintenance, does not claim in it, and comes back', async () => {
    const [a, b] = await started(['a', 'b']);
    const first = a!.state === 'ACTIVE' ? a! : b!;
    const second = first === a ? b! : a!;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await first.maintenance(true)).done).toBe(true);
    await until(() => first.state === 'MAINT', 'maintenance');
    expect(await second.handover()).toEqual({ done: false, reason: 'no peer can take over' });
    expect((await first.maintenance(false)).done).toBe(true);
    await until(() => first.state === 'STANDBY', 'standby again');
  });

  it('lets in-flight work end before a hand-over, but not for ever', async () => {
    const waited: number[] = [];
    const quiesce = (limitMs: number): Promise<void> => {
      waited.push(limitMs);
      return new Promise(() => undefined);
    };
    const made = await started(['a', 'b'], {}, { quiesce });
    await new Promise((resolve) => setTimeout(resolve, 300));
    // A machine that stalls for two heartbeats of this test makes the other one the active.
    const serving = (): Group | undefined => made.find((group) => group.servingTerm() > 0);
    await until(() => serving() !== undefined, 'the addresses are held');
    expect((await serving()!.leave()).done).toBe(true);
    expect(waited).toEqual([50]);
  });

  it('says what it knows', async () => {
    const [a] = await started(['a', 'b']);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const status = await a!.status();
    expect(status).toMatchObject({
      instance: 'a',
      links: 1,
      sipHealthy: true,
      network: 'iproute2',
      witness: undefined,
    });
    expect(status.peers).toEqual([expect.objectContaining({ instance: 'b', links: 1, priority: 100 })]);
    expect(status.peers[0]!.paths.m1!.received).toBeGreaterThan(2);
    expect(status.rejected.forged).toBe(0);
  });

  it('takes the right to serve from a main thread that is blocked, before it can run again', async () => {
    const [alone] = await started(['a']);
    expect(alone!.servingTerm()).toBeGreaterThan(0);
    const discards: number[] = [];
    alone!.on('discard', () => discards.push(1));
    const end = performance.now() + 400;
    while (performance.now() < end);
    // Not one turn of the event loop has passed.
    expect(alone!.servingTerm()).toBe(0);
    await until(() => discards.length > 0, 'what queued is to be discarded');
    await until(() => alone!.servingTerm() > 0, 'it serves again');
  });

  it('holds the addresses only while the witness lets it', async () => {
    let row: WitnessRow | null = null;
    let reachable = true;
    const store: WitnessStore = {
      read: () => (reachable ? Promise.resolve(row) : Promise.reject(new Error('unreachable'))),
      compareAndSet: (_group, expected, next) => {
        if (!reachable) return new Promise(() => undefined);
        const applied: boolean = row?.term === expected?.term && row?.seq === expected?.seq;
        if (applied) row = next;
        return Promise.resolve({ applied, current: row });
      },
    };
    const [alone] = await started(['a'], { witness: 'strict' }, { witness: store });
    await until(() => alone!.servingTerm() > 0, 'it serves');
    expect(row).toMatchObject({ owner: 'a' });
    reachable = false;
    const cut = performance.now();
    await until(() => alone!.servingTerm() === 0, 'it lets go');
    expect(performance.now() - cut).toBeLessThan(2100);
    reachable = true;
    await until(() => alone!.servingTerm() > 0, 'it serves again');
  });

  it('refuses to start with what cannot work', async () => {
    await expect(make(['a'], { peers: [{ id: 'a', links: {} }] })).rejects.toThrow(
      expect.objectContaining({ code: 'DSBC_GROUP_INVALID' }),
    );
    await expect(make(['a'], { witness: 'strict' })).rejects.toThrow(/store/);
    const [refused] = await make(['a'], {
      vips: [{ address: '198.51.100.10', family: 4, interface: 'refuses' }],
    });
    await expect(refused!.start()).rejects.toThrow('this network refuses');
  });

  it('an instance that the others do not list stands by, also while they hand over, and they name it', async () => {
    const names = ['a', 'b', 'c'];
    const ends = await Promise.all(names.map(async () => ({ host: '127.0.0.1', port: await freePort() })));
    const one = async (index: number, peers: readonly number[]): Promise<Group> => {
      const [group] = await make([names[index]!], {
        listen: { m1: ends[index]! },
        peers: peers.map((at) => ({ id: names[at]!, links: { m1: ends[at]! } })),
      });
      await group!.start();
      group!.setSipHealthy(true);
      return group!;
    };
    const listed = [await one(0, [1]), await one(1, [0])] as const;
    const named = new Set<string>();
    for (const group of listed)
      group.on('alarm', ({ name, about }) => name === 'unlisted' && named.add(about));
    await until(() => listed.some(({ state }) => state === 'ACTIVE'), 'one active');
    const late = await one(2, [0, 1]);
    const claims: string[] = [];
    late.on('state', ({ to }) => claims.push(to));
    await new Promise((resolve) => setTimeout(resolve, 700));
    for (let round = 0; round < 3; round++) {
      const active = listed.find(({ state }) => state === 'ACTIVE')!;
      expect(await active.handover()).toMatchObject({ done: true });
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(claims).toEqual(['STANDBY']);
    expect([...named]).toEqual(['c']);
  });

  it('does not claim before a heartbeat link is open', async () => {
    const port = await freePort();
    const taken = createSocket('udp4');
    await new Promise<void>((resolve) => taken.bind(port, '127.0.0.1', resolve));
    const [late] = await make(['a', 'b'], { heartbeatMs: 50, listen: { m1: { host: '127.0.0.1', port } } });
    const alarms: string[] = [];
    late!.on('alarm', ({ name, on }) => name === 'deaf' && alarms.push(on ? 'raised' : 'cleared'));
    await late!.start();
    late!.setSipHealthy(true);
    await new Promise((resolve) => setTimeout(resolve, 500));
    taken.close();
    expect(late!.state).toBe('INIT');
    expect(alarms).toEqual(['raised']);
    await until(() => late!.state === 'ACTIVE', 'active, since nobody is heard');
    expect(alarms).toEqual(['raised', 'cleared']);
  });

  it('says so when its worker fails', async () => {
    const [doomed] = await make(['a'], {
      vips: [{ address: '198.51.100.10', family: 4, interface: 'explodes' }],
    });
    const failed = new Promise<Error>((resolve) => doomed!.once('failed', resolve));
    await doomed!.start();
    expect((await failed).message).toBe('the network exploded');
    expect(doomed!.state).toBe('FAULT');
    await expect(doomed!.status()).rejects.toThrow(/not running/);
  });

  it('ends a worker that hangs, and says so', async () => {
    const [hung] = await started(['a'], {
      heartbeatMs: 50,
      vips: [{ address: '198.51.100.10', family: 4, interface: 'hangs' }],
    });
    const failures: string[] = [];
    hung!.on('failed', ({ message }) => failures.push(message));
    let standby = 0;
    hung!.on('standby', () => (standby += 1));
    await until(() => failures.length > 0, 'it is noticed');
    expect(hung!.state).toBe('FAULT');
    expect(hung!.servingTerm()).toBe(0);
    expect(standby).toBe(1);
    await hung!.close();
    expect(failures).toEqual(['the group worker hangs']);
  });

  it('closes twice, and before it was started', async () => {
    const [never] = await make(['a']);
    await never!.close();
    const [once] = await started(['a']);
    await Promise.all([once!.close(), once!.close()]);
    expect(once!.servingTerm()).toBe(0);
  });
});
