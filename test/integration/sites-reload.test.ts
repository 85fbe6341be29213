import type { ConfigInput } from '../../plugin/config/types';
import { figure, isFull } from '../fixtures/load/figures';
import { LoadLab } from '../fixtures/load/load-lab';
import { bySite, pause } from '../fixtures/load/phones';
import { sipServerKind } from '../fixtures/sip-server';

/** DSBC_LOAD=full: 100 reloads over 50 s at full load, and the idle part ten times as long. */
const RELOADS = isFull ? 100 : 30;
const PAUSE_MS = isFull ? 400 : 100;
const LOAD = isFull ? { registrations: 200, calls: 100 } : { registrations: 100, calls: 50 };
const IDLE_RELOADS = isFull ? 1000 : 100;

/** A reproducible row of numbers from 0 to 1 (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A configuration with something changed that a reload applies. */
function validChange(lab: LoadLab, random: () => number): ConfigInput {
  const base = lab.config();
  const source = base.systems['source']!;
  const pick = Math.floor(random() * 6);
  const main = Math.floor(random() * 80) + 10;
  switch (pick) {
    case 0:
      return lab.config({
        systems: { source: { ...source, load_distribution: { main, a: 100 - main, b: 0 } } },
      });
    case 1:
      return lab.config({
        systems: {
          source: { ...source, affinity: random() < 0.5 ? 'call' : 'none' },
        },
      });
    case 2:
      return lab.config({
        systems: {
          source,
          other: { sites: { far: { nodes: [{ uri: 'sip:no-such-host.invalid' }] } } },
        },
      });
    case 3:
      return lab.config({
        health: { ...base.health, fall: 3, rise: 3, ejection: { base_s: 5 } },
        failover: { max_attempts: 2 + Math.floor(random() * 3) },
      });
    case 4:
      return lab.config({
        peers: [{ name: `vendor-${main}`, nets: [`192.0.2.${main}/32`] }],
        limits: { max_in_flight: 10_000 + main, per_source: { exempt_nets: ['127.0.0.0/8'] } },
      });
    default: {
      // One site less, until the next reload.
      const { b: _, ...sites } = source.sites;
      return lab.config({ systems: { source: { ...source, load_distribution: 'auto', sites } } });
    }
  }
}

/** What must change nothing. */
const INVALID: readonly ((lab: LoadLab) => object | string)[] = [
  () => 'systems: [',
  () => '',
  (lab) => ({ ...lab.config(), no_such_key: 1 }),
  (lab) => ({ ...lab.config(), domains: 'example.com' }),
  (lab) => ({ ...lab.config(), failover: { timeout_ms: -1 } }),
  (lab) => {
    const source = lab.config().systems['source']!;
    return lab.config({ systems: { source: { ...source, load_distribution: { main: 50, a: 30 } } } });
  },
];

describe(`reload under load (${sipServerKind})`, () => {
  let lab: LoadLab;
  beforeAll(async () => {
    lab = await LoadLab.start();
    for (const site of ['main', 'a', 'b']) await lab.becomes(site, 'active');
    await lab.order('a', 'maintenance');
    await lab.becomes('a', 'maintenance');
  }, 40_000);
  afterAll(() => lab.close());

  const operatorState = async () => {
    const { body } = await lab.admin('/v1/sites');
    const { sites } = body as { sites: { system: string; site: string; operator: unknown }[] };
    return sites.filter(({ site }) => site === 'a').map(({ operator }) => operator);
  };

  it(`${RELOADS} reloads, valid and not: no request fails, the operators’ word stands`, async () => {
    const random = numbers(20_261_130);
    const decided = await operatorState();
    expect(decided).toMatchObject([{ state: 'maintenance', by: 'the test', why: 'the test' }]);
    lab.phones.start(LOAD);
    await pause(500);
    const done = { applied: 0, rejected: 0 };
    for (let i = 0; i < RELOADS; i++) {
      const isValid = random() < 0.7;
      const change = INVALID[Math.floor(random() * INVALID.length)]!;
      lab.write(isValid ? validChange(lab, random) : change(lab));
      const { status } = await lab.admin('/v1/reload', 'POST', {});
      expect([i, status === 200]).toEqual([i, isValid]);
      done[isValid ? 'applied' : 'rejected'] += 1;
      expect(await operatorState()).toEqual(decided);
      await pause(random() * 2 * PAUSE_MS);
    }
    lab.write(lab.config());
    expect(await lab.dsbc('reload')).toContain('Reloaded');
    const sent = await lab.phones.stop();
    const failed = sent.filter(({ status }) => status !== 200);
    figure(`show 5: reload under load (${sipServerKind})`, {
      ...done,
      sent: sent.length,
      sites: bySite(sent),
      failed: failed.length,
      worstMs: Math.round(Math.max(...sent.map(({ sentAt, finalAt }) => finalAt - sentAt))),
    });
    expect(failed).toEqual([]);
    expect(sent.length).toBeGreaterThan(200);
    expect((await lab.site('a').counts())['INVITE'] ?? 0).toBe(0);
    expect(await lab.total('dsbc_config_reloads_total', { outcome: 'applied' })).toBe(done.applied + 1);
    expect(await lab.total('dsbc_config_reloads_total', { outcome: 'rejected' })).toBe(done.rejected);
  }, 180_000);
});

describe(`reloads of an idle program (${sipServerKind})`, () => {
  let lab: LoadLab;
  beforeAll(async () => {
    // Without probes, whose transactions live on for seconds, every timer can be accounted for.
    lab = await LoadLab.start({ config: { health: { interval_ms: 600_000 } } });
  }, 40_000);
  afterAll(() => lab.close());

  it('leave no timer, socket or listener behind, nor memory', async () => {
    const random = numbers(5);
    interface Held {
      readonly resources: Record<string, number>;
      readonly listeners: Record<string, number>;
      readonly heapBytes: number;
    }
    const held = async (): Promise<Held> => (await lab.program.ask('inspect')) as unknown as Held;
    const reload = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) {
        lab.write(i % 3 === 2 ? INVALID[i % INVALID.length]!(lab) : validChange(lab, random));
        await lab.admin('/v1/reload', 'POST', {});
      }
      lab.write(lab.config());
      await lab.admin('/v1/reload', 'POST', {});
      await pause(300);
    };
    await reload(IDLE_RELOADS / 2);
    const before = await held();
    await reload(IDLE_RELOADS);
    const after = await held();
    figure(`show 5: what ${IDLE_RELOADS} reloads leave behind (${sipServerKind})`, { before, after });
    const { Timeout: timersBefore = 0, ...othersBefore } = before.resources;
    const { Timeout: timersAfter = 0, ...othersAfter } = after.resources;
    // Keep-alive connections of the admin API come and go.
    for (const name of Object.keys(othersAfter)) {
      expect([name, othersAfter[name]! - (othersBefore[name] ?? 0) <= 2]).toEqual([name, true]);
    }
    expect(timersAfter - timersBefore).toBeLessThanOrEqual(2);
    expect(after.listeners).toEqual(before.listeners);
    expect(after.heapBytes - before.heapBytes).toBeLessThan(IDLE_RELOADS * 20_000);
  }, 180_000);
});
