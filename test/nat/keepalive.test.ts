import type { KeepaliveConfig } from '../../plugin/config/types';
import { BindingTable } from '../../plugin/nat/bindings';
import type { Flow } from '../../plugin/nat/flow';
import { Keepalive, type PingTarget } from '../../plugin/nat/keepalive';
import { silentLogger } from '../../plugin/telemetry/logger';

const config: KeepaliveConfig = { enabled: true, interval_s: 25, misses: 3, timeout_s: 4 };
const flowAt = (index: number, transport: Flow['transport'] = 'udp'): Flow => ({
  entry: { address: '198.51.100.10', port: 5060 },
  transport,
  remote: { address: `203.0.${index >> 8}.${index & 0xff}`, port: 5060 },
});

describe('Keepalive', () => {
  let pings: { at: number; target: PingTarget }[];
  let answers: (target: PingTarget) => Promise<boolean>;
  const made: Keepalive[] = [];

  const setUp = (changes: Partial<KeepaliveConfig> = {}) => {
    const table = new BindingTable({ maxBindings: 100_000, now: () => performance.now() });
    const keepalive = new Keepalive({
      table,
      config: { ...config, ...changes },
      now: () => performance.now(),
      log: silentLogger,
      send: (target) => {
        pings.push({ at: performance.now(), target });
        return answers(target);
      },
    });
    made.push(keepalive);
    keepalive.setActive(true);
    keepalive.start();
    const add = (index: number, options: { expires?: number; ping?: boolean } = {}) =>
      table.take(
        {
          aor: `${index}@example.com`,
          all: false,
          contacts: [{ uri: `sip:${index}@192.0.2.33`, device: 'd', expires: options.expires ?? 3600 }],
        },
        flowAt(index),
        options.ping ?? true,
      );
    return { table, keepalive, add };
  };

  beforeEach(() => {
    jest.useFakeTimers();
    pings = [];
    answers = () => Promise.resolve(true);
  });
  afterEach(() => {
    for (const keepalive of made.splice(0)) keepalive.stop();
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });

  it('pings each flow once per interval, from the entry it registered to', async () => {
    const { add } = setUp();
    for (let index = 0; index < 10; index++) add(index);
    await jest.advanceTimersByTimeAsync(25_000);
    expect(new Set(pings.map(({ target }) => target.flow.remote.address)).size).toBe(10);
    expect(pings).toHaveLength(10);
    expect(pings[0]?.target).toMatchObject({ flow: { entry: { address: '198.51.100.10', port: 5060 } } });
    await jest.advanceTimersByTimeAsync(50_000);
    expect(pings).toHaveLength(30);
  });

  it('takes other settings while it runs: off, on, and another interval for the flows there are', async () => {
    const { keepalive, add } = setUp({ enabled: false });
    for (let index = 0; index < 10; index++) add(index);
    await jest.advanceTimersByTimeAsync(30_000);
    expect(pings).toHaveLength(0);
    keepalive.configure({ ...config, enabled: true });
    await jest.advanceTimersByTimeAsync(25_000);
    expect(pings).toHaveLength(10);
    pings = [];
    keepalive.configure({ ...config, interval_s: 5 });
    await jest.advanceTimersByTimeAsync(5000);
    expect(new Set(pings.map(({ target }) => target.flow.remote.address)).size).toBe(10);
    await jest.advanceTimersByTimeAsync(5000);
    expect(pings).toHaveLength(20);
    pings = [];
    keepalive.configure({ ...config, interval_s: 5, enabled: false });
    await jest.advanceTimersByTimeAsync(30_000);
    expect(pings).toHaveLength(0);
  });

  it('spreads the pings evenly: no second differs from the mean by more than 5 %', async () => {
    const { add } = setUp();
    for (let index = 0; index < 12_500; index++) add(index);
    await jest.advanceTimersByTimeAsync(25_000);
    pings = [];
    await jest.advanceTimersByTimeAsync(25_000);
    const perSecond = Array.from({ length: 25 }, () => 0);
    const start = pings[0]?.at ?? 0;
    for (const { at } of pings) {
      const second = Math.min(24, Math.floor((at - start) / 1000));
      perSecond[second] = (perSecond[second] ?? 0) + 1;
    }
    expect(pings).toHaveLength(12_500);
    for (const count of perSecond) expect(Math.abs(count - 500)).toBeLessThanOrEqual(25);
  });

  it('stays even after most flows have gone and others came', async () => {
    const { add, table } = setUp();
    for (let index = 0; index < 20_000; index++) add(index);
    for (let index = 0; index < 20_000; index++) if (index % 3 !== 0) table.dropFlow(flowAt(index));
    for (let index = 20_000; index < 33_333; index++) add(index);
    await jest.advanceTimersByTimeAsync(25_000);
    const perSecond = Array.from({ length: 25 }, () => 0);
    for (const { at } of pings) {
      const second = Math.min(24, Math.floor((at - (pings[0]?.at ?? 0)) / 1000));
      perSecond[second] = (perSecond[second] ?? 0) + 1;
    }
    const mean = pings.length / 25;
    for (const count of perSecond) expect(Math.abs(count - mean)).toBeLessThanOrEqual(mean * 0.05);
  });

  it('gives a flow up after the configured misses in a row, and takes it back when it registers again', async () => {
    const { add, keepalive, table } = setUp();
    answers = () => Promise.resolve(false);
    add(1);
    await jest.advanceTimersByTimeAsync(200_000);
    expect(pings).toHaveLength(3);
    expect(keepalive.counts).toEqual({ sent: 3, answered: 0, missed: 3, abandoned: 1 });
    expect(table.list(1)[0]).toMatchObject({ pinged: false, misses: 3 });
    add(1);
    await jest.advanceTimersByTimeAsync(25_000);
    expect(pings).toHaveLength(4);
  });

  it('forgives misses after one answer', async () => {
    const { add } = setUp();
    let turn = 0;
    answers = () => Promise.resolve(turn++ % 3 === 2);
    add(1);
    await jest.advanceTimersByTimeAsync(250_000);
    expect(pings).toHaveLength(10);
  });

  it('takes a send that rejects as a miss', async () => {
    const { add, keepalive } = setUp();
    answers = () => Promise.reject(new Error('no socket'));
    add(1);
    await jest.advanceTimersByTimeAsync(25_000);
    expect(keepalive.counts).toMatchObject({ sent: 1, missed: 1 });
  });

  it('does not ping while this instance is not active, and counts no silence meanwhile', async () => {
    const { add, keepalive, table } = setUp();
    answers = () => new Promise((resolve) => setTimeout(() => resolve(false), 4000));
    add(1);
    await jest.advanceTimersByTimeAsync(25_000);
    const before = pings.length;
    keepalive.setActive(false);
    await jest.advanceTimersByTimeAsync(100_000);
    expect(pings).toHaveLength(before);
    expect(table.list(1)[0]?.misses).toBeLessThanOrEqual(1);
  });

  it('pings no flow that needs none, but drops its binding when it runs out', async () => {
    const { add, table } = setUp();
    add(1, { ping: false, expires: 60 });
    await jest.advanceTimersByTimeAsync(59_000);
    expect([pings.length, table.size]).toEqual([0, 1]);
    await jest.advanceTimersByTimeAsync(27_000);
    expect(table.size).toBe(0);
  });

  it('drops what ran out on a standby, and with pings switched off', async () => {
    const { add, table, keepalive } = setUp({ enabled: false });
    keepalive.setActive(false);
    add(1, { expires: 30 });
    await jest.advanceTimersByTimeAsync(60_000);
    expect([pings.length, table.size]).toEqual([0, 0]);
  });

  it('sends no burst after the process was stalled', async () => {
    const { add } = setUp();
    for (let index = 0; index < 12_500; index++) add(index);
    await jest.advanceTimersByTimeAsync(25_000);
    pings = [];
    // The clock moves on, no timer runs: as after SIGSTOP.
    jest.setSystemTime(Date.now() + 10_000);
    const frozen = performance.now();
    jest.spyOn(performance, 'now').mockReturnValue(frozen + 10_000);
    await jest.advanceTimersByTimeAsync(20);
    jest.restoreAllMocks();
    expect(pings.length).toBeLessThanOrEqual(5 * 11);
  });

  it('makes up for a stall of a fifth of a second within the next, at twice the rate at most', async () => {
    const { add } = setUp();
    for (let index = 0; index < 12_500; index++) add(index);
    await jest.advanceTimersByTimeAsync(25_000);
    pings = [];
    const clock = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => clock() + 200);
    let most = 0;
    for (let tick = 0; tick < 10; tick++) {
      const before = pings.length;
      await jest.advanceTimersByTimeAsync(20);
      most = Math.max(most, pings.length - before);
    }
    jest.restoreAllMocks();
    // 500 a second: 10 each tick. 400 ms have gone by.
    expect([most, pings.length]).toEqual([20, 200]);
  });

  it('keeps its place in the schedule over a refresh of the registration', async () => {
    const { add } = setUp();
    for (let index = 0; index < 7; index++) add(index);
    for (let round = 0; round < 10; round++) {
      await jest.advanceTimersByTimeAsync(10_000);
      add(3);
    }
    expect(pings.filter(({ target }) => target.flow.remote.address === '203.0.0.3')).toHaveLength(4);
  });

  it('starts and stops as often as one likes', async () => {
    const { add, keepalive } = setUp();
    add(1);
    keepalive.start();
    keepalive.stop();
    keepalive.stop();
    await jest.advanceTimersByTimeAsync(50_000);
    expect(pings).toHaveLength(0);
    keepalive.start();
    await jest.advanceTimersByTimeAsync(25_000);
    expect(pings).toHaveLength(1);
  });
});
