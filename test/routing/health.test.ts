import { Health, type NodeReport, type ProbeTarget, type SendProbe } from '../../plugin/routing/health';
import {
  afterAttempt,
  afterProbe,
  newNodeHealth,
  settled,
  type HealthSettings,
  type NodeHealth,
  type Sighting,
} from '../../plugin/routing/node-health';
import { silentLogger } from '../../plugin/telemetry/logger';

const SETTINGS: HealthSettings = {
  interval_ms: 1000,
  timeout_ms: 500,
  jitter_percent: 0,
  rise: 2,
  fall: 2,
  down_codes: [503],
  ejection: { consecutive: 3, base_s: 10, max_s: 25, max_percent: 50 },
};
const ok: Sighting = { kind: 'answer', status: 200, milliseconds: 3 };
const silence: Sighting = { kind: 'silence' };
const run = (sightings: readonly Sighting[], from = newNodeHealth(0)): NodeHealth =>
  sightings.reduce((health, one, i) => afterProbe(health, one, SETTINGS, i + 1), from);

describe('probes', () => {
  it('take a node down after `fall` misses in a row, and bring it up after `rise` answers', () => {
    expect(run([silence]).state).toBe('up');
    expect(run([silence, ok, silence]).state).toBe('up');
    const down = run([silence, silence]);
    expect(down).toMatchObject({ state: 'down', reason: 'did not answer, 2 times in a row', since: 2 });
    expect(run([ok], down).state).toBe('down');
    expect(run([ok, silence, ok], down).state).toBe('down');
    expect(run([ok, ok], down)).toMatchObject({ state: 'up', lastStatus: 200, lastMilliseconds: 3 });
  });

  it.each([
    [200, 'up'],
    [404, 'up'],
    [405, 'up'],
    [500, 'up'],
    [503, 'down'],
  ])('any answer is alive except the codes configured: %d is %s', (status, state) => {
    const answer: Sighting = { kind: 'answer', status, milliseconds: 1 };
    expect(run([answer, answer]).state).toBe(state);
  });

  it('count a transport error as a miss', () => {
    const error: Sighting = { kind: 'transport_error', reason: 'ECONNREFUSED' };
    expect(run([error, error])).toMatchObject({
      state: 'down',
      reason: 'could not be reached: ECONNREFUSED, 2 times in a row',
    });
  });
});

describe('real traffic', () => {
  const fail = (health: NodeHealth, now: number, times = 3): NodeHealth => {
    let next = health;
    for (let i = 0; i < times; i++) next = afterAttempt(next, silence, SETTINGS, now, true);
    return next;
  };

  it('ejects a node after failures in a row, for a time that grows up to a cap', () => {
    let health = fail(newNodeHealth(0), 0);
    expect(health).toMatchObject({ state: 'ejected', ejectedUntil: 10_000 });
    health = settled(health, 10_000);
    expect(health.state).toBe('up');
    health = fail(health, 10_000);
    expect(health.ejectedUntil).toBe(30_000);
    health = fail(settled(health, 30_000), 30_000);
    expect(health.ejectedUntil).toBe(55_000);
  });

  it('a success between them starts the count anew', () => {
    let health = fail(newNodeHealth(0), 0, 2);
    health = afterAttempt(health, ok, SETTINGS, 0, true);
    expect(fail(health, 0, 2).state).toBe('up');
  });

  it('after a quiet time the next ejection is short again', () => {
    let health = fail(newNodeHealth(0), 0);
    health = afterAttempt(health, ok, SETTINGS, 40_000, true);
    expect(fail(health, 40_000).ejectedUntil).toBe(50_000);
  });

  it('a busy or a refusal is no failure, a 503 is', () => {
    const answer = (status: number): Sighting => ({ kind: 'answer', status, milliseconds: 1 });
    for (const status of [404, 486, 500, 603]) {
      let health = newNodeHealth(0);
      for (let i = 0; i < 10; i++) health = afterAttempt(health, answer(status), SETTINGS, 0, true);
      expect(health.state).toBe('up');
    }
    let health = newNodeHealth(0);
    for (let i = 0; i < 3; i++) health = afterAttempt(health, answer(503), SETTINGS, 0, true);
    expect(health.state).toBe('ejected');
  });

  it('honours Retry-After at once, within the cap', () => {
    const busy = (retryAfterS: number): Sighting => ({
      kind: 'answer',
      status: 503,
      milliseconds: 1,
      retryAfterS,
    });
    expect(afterAttempt(newNodeHealth(0), busy(7), SETTINGS, 0, true)).toMatchObject({
      state: 'ejected',
      ejectedUntil: 7000,
    });
    expect(afterAttempt(newNodeHealth(0), busy(9999), SETTINGS, 0, true).ejectedUntil).toBe(25_000);
  });

  it('ejects nobody where enough are out', () => {
    let health = newNodeHealth(0);
    for (let i = 0; i < 10; i++) health = afterAttempt(health, silence, SETTINGS, 0, false);
    expect(health.state).toBe('up');
  });

  it('that could not be sent takes a node down at once, until one probe succeeds', () => {
    const refused: Sighting = { kind: 'transport_error', reason: 'ECONNREFUSED' };
    const down = afterAttempt(newNodeHealth(0), refused, SETTINGS, 5, false);
    expect(down).toMatchObject({
      state: 'down',
      since: 5,
      reason: 'could not be reached: ECONNREFUSED',
      failures: 1,
    });
    expect(afterProbe(down, ok, SETTINGS, 6)).toMatchObject({ state: 'up', failures: 1 });
    // A probe that fails too makes sure of it.
    const sure = afterProbe(down, refused, SETTINGS, 6);
    expect(afterProbe(sure, ok, SETTINGS, 7).state).toBe('down');
    expect(run([ok, ok], sure).state).toBe('up');
  });

  it('that cannot be sent again and again ejects a node, though its probes succeed', () => {
    const reset: Sighting = { kind: 'transport_error' };
    let health = newNodeHealth(0);
    for (let i = 0; i < 2; i++) {
      health = afterProbe(afterAttempt(health, reset, SETTINGS, i, true), ok, SETTINGS, i);
      expect(health.state).toBe('up');
    }
    expect(afterAttempt(health, reset, SETTINGS, 3, true).state).toBe('ejected');
  });

  it('does not shorten what probes found', () => {
    const down = afterProbe(afterProbe(newNodeHealth(0), silence, SETTINGS, 0), silence, SETTINGS, 0);
    expect(fail(down, 0).state).toBe('down');
    expect(settled(down, 1e9).state).toBe('down');
  });
});

const target = (node: string, server = 'main', system = 's'): ProbeTarget => ({
  server,
  destination: { system, site: 'x', node, uri: node },
});

describe('Health', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function lab(send: SendProbe, nodes = ['sip:a', 'sip:b']) {
    const changes: NodeReport[] = [];
    const health = new Health({
      settings: SETTINGS,
      send,
      now: () => Date.now(),
      log: silentLogger,
      random: () => 0.5,
      onChange: (report) => changes.push(report),
    });
    health.watch(
      nodes.map((node) => target(node)),
      SETTINGS,
    );
    return { health, changes };
  }

  it('probes each node every interval, and no node while standing by', async () => {
    const sent: string[] = [];
    const { health } = lab((one) => {
      sent.push(one.destination.node);
      return Promise.resolve(ok);
    });
    await jest.advanceTimersByTimeAsync(5000);
    expect(sent).toEqual([]);
    health.setActive(true);
    await jest.advanceTimersByTimeAsync(3000);
    expect(sent).toEqual(['sip:a', 'sip:b', 'sip:a', 'sip:b', 'sip:a', 'sip:b']);
    health.setActive(false);
    await jest.advanceTimersByTimeAsync(5000);
    expect(sent).toHaveLength(6);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('knows within two seconds that a node went silent', async () => {
    let isSilent = false;
    const { health, changes } = lab(async (_, timeoutMs) => {
      if (!isSilent) return ok;
      await new Promise((resolve) => setTimeout(resolve, timeoutMs));
      return silence;
    });
    health.setActive(true);
    await jest.advanceTimersByTimeAsync(600);
    isSilent = true;
    await jest.advanceTimersByTimeAsync(2000);
    expect(changes.map((one) => one.health.state)).toEqual(['down', 'down']);
    expect(health.isDown('main', 's/x/sip:a')).toBe(true);
    isSilent = false;
    await jest.advanceTimersByTimeAsync(3500);
    expect(health.isDown('main', 's/x/sip:a')).toBe(false);
    health.stop();
  });

  it('asks a node at once that could not be sent to, and sends nothing there before it answers', async () => {
    let there = false;
    const { health } = lab(() => Promise.resolve(there ? ok : { kind: 'transport_error' }));
    health.setActive(true);
    const node = { system: 's', site: 'x', node: 'sip:a' };
    health.attempted('main', node, { kind: 'transport_error' });
    expect(health.isDown('main', 's/x/sip:a')).toBe(true);
    expect(health.isDown('main', 's/x/sip:b')).toBe(false);
    await jest.advanceTimersByTimeAsync(2500);
    expect(health.isDown('main', 's/x/sip:a')).toBe(true);
    there = true;
    await jest.advanceTimersByTimeAsync(3500);
    expect(health.isDown('main', 's/x/sip:a')).toBe(false);
    health.attempted('main', node, { kind: 'transport_error' });
    expect(health.isDown('main', 's/x/sip:a')).toBe(true);
    await jest.advanceTimersByTimeAsync(1);
    expect(health.isDown('main', 's/x/sip:a')).toBe(false);
    health.stop();
  });

  it('looks at once into a failure of real traffic', async () => {
    const sent: number[] = [];
    const { health } = lab(() => {
      sent.push(Date.now());
      return Promise.resolve(silence);
    });
    health.setActive(true);
    const start = Date.now();
    health.attempted('main', { system: 's', site: 'x', node: 'sip:a' }, silence);
    await jest.advanceTimersByTimeAsync(10);
    expect(sent[0]).toBe(start);
    expect(health.isDown('main', 's/x/sip:a')).toBe(true);
    health.stop();
  });

  it('ejects no more than its share of a system’s nodes', () => {
    const { health } = lab(() => Promise.resolve(ok), ['sip:a', 'sip:b', 'sip:c']);
    health.setActive(true);
    for (const node of ['sip:a', 'sip:b', 'sip:c']) {
      for (let i = 0; i < 3; i++)
        health.attempted(
          'main',
          { system: 's', site: 'x', node },
          { kind: 'answer', status: 503, milliseconds: 1 },
        );
    }
    expect(health.reports().filter((one) => one.health.state === 'ejected')).toHaveLength(1);
    health.stop();
  });

  it('a node is judged by each SIP server on its own', () => {
    const { health } = lab(() => Promise.resolve(ok));
    health.watch([target('sip:a', 'main'), target('sip:a', 'alias')], SETTINGS);
    health.setActive(true);
    for (let i = 0; i < 3; i++)
      health.attempted(
        'alias',
        { system: 's', site: 'x', node: 'sip:a' },
        { kind: 'answer', status: 503, milliseconds: 1, retryAfterS: 5 },
      );
    expect(health.isDown('main', 's/x/sip:a')).toBe(false);
    health.stop();
  });

  it('keeps what it knows of nodes that stay through a reload', async () => {
    const { health } = lab(() => Promise.resolve(silence));
    health.setActive(true);
    await jest.advanceTimersByTimeAsync(3000);
    health.watch([target('sip:a'), target('sip:new')], SETTINGS);
    expect(health.isDown('main', 's/x/sip:a')).toBe(true);
    expect(health.isDown('main', 's/x/sip:new')).toBe(false);
    expect(health.reports()).toHaveLength(2);
    health.stop();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('a probe that throws is a miss like any other', async () => {
    const { health } = lab(() => Promise.reject(new Error('no link')));
    health.setActive(true);
    await jest.advanceTimersByTimeAsync(1000);
    expect(health.reports()[0]!.health).toMatchObject({
      state: 'down',
      reason: expect.stringContaining('no link'),
    });
    health.stop();
  });

  it('says that an ejection is over when it is', async () => {
    const { health, changes } = lab(() => Promise.resolve(ok), ['sip:a', 'sip:b']);
    health.setActive(true);
    for (let i = 0; i < 3; i++)
      health.attempted(
        'main',
        { system: 's', site: 'x', node: 'sip:a' },
        { kind: 'answer', status: 503, milliseconds: 1 },
      );
    expect(changes.map((one) => one.health.state)).toEqual(['ejected']);
    await jest.advanceTimersByTimeAsync(11_000);
    expect(changes.map((one) => one.health.state)).toEqual(['ejected', 'up']);
    health.stop();
  });
});
