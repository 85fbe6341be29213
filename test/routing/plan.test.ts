import { makePlan, type PlanRequest, type PlanResult } from '../../plugin/routing/plan';
import { makeSnapshot, type SystemModel } from '../../plugin/routing/snapshot';
import { ALL_ACTIVE, nodeStates, type NodeState, type NodeStates } from '../../plugin/routing/states';
import type { Affinity } from '../../plugin/routing/settings';

type Distribution = 'auto' | Record<string, number>;

function system(
  shares: Distribution,
  affinity: Affinity = 'account',
  nodes = 1,
  sites = ['main', 'a', 'b'],
): SystemModel {
  const snapshot = makeSnapshot({
    domains: ['example.com'],
    sip_servers: [{ name: 'main', entry: { address: '198.51.100.10', port: 5060 } }],
    systems: {
      s: {
        load_distribution: shares,
        affinity,
        sites: Object.fromEntries(
          sites.map((name) => [
            name,
            { nodes: Array.from({ length: nodes }, (_, i) => ({ uri: `sip:${name}${i}` })) },
          ]),
        ),
      },
    },
  });
  return snapshot.systems.get('s')!;
}

const only = (states: Record<string, NodeState>): NodeStates =>
  new Map(
    Object.entries(states).map(([site, state]) => [
      `s/${site.includes('/') ? site : `${site}/sip:${site}0`}`,
      state,
    ]),
  );

const request = (affinityKey: string, more: Partial<PlanRequest> = {}): PlanRequest => ({
  affinityKey,
  turn: 0,
  ...more,
});

function planOf(result: PlanResult): readonly { site: string; uri: string }[] {
  if (result.kind !== 'plan') throw new Error(`no plan: ${result.why}`);
  return result.plan;
}

const accounts = Array.from({ length: 20_000 }, (_, i) => String(12025550000 + i * 7));

function traffic(
  model: SystemModel,
  states: NodeStates,
  make = (key: string, i: number) => request(key, { turn: i }),
) {
  const counts: Record<string, number> = {};
  const chosen = accounts.map((key, i) => {
    const { site } = planOf(makePlan(model, states, make(key, i)))[0]!;
    counts[site] = (counts[site] ?? 0) + 1;
    return site;
  });
  const percent = (site: string): number => ((counts[site] ?? 0) * 100) / accounts.length;
  return { chosen, percent };
}

describe('20,000 accounts', () => {
  it('70/30 within one point', () => {
    const { percent } = traffic(system({ main: 70, a: 30 }, 'account', 1, ['main', 'a']), ALL_ACTIVE);
    expect(Math.abs(percent('main') - 70)).toBeLessThan(1);
    expect(Math.abs(percent('a') - 30)).toBeLessThan(1);
  });

  it.each([
    ['maintenance', { main: 'maintenance' } as const],
    ['drain', { main: 'drain' } as const],
    ['down by health', { main: 'down' } as const],
  ])('H16: 50/30/20, main in %s: 55/45; nobody else moved', (_, states) => {
    const model = system({ main: 50, a: 30, b: 20 });
    const before = traffic(model, ALL_ACTIVE);
    const after = traffic(model, only(states));
    expect(Math.abs(before.percent('main') - 50)).toBeLessThan(1);
    expect(Math.abs(after.percent('a') - 55)).toBeLessThan(1);
    expect(Math.abs(after.percent('b') - 45)).toBeLessThan(1);
    const moved = before.chosen.filter((site, i) => site !== 'main' && site !== after.chosen[i]);
    expect(moved).toHaveLength(0);
  });

  it('H16: 50/30/20, a out: 65/35; nobody else moved', () => {
    const model = system({ main: 50, a: 30, b: 20 });
    const before = traffic(model, ALL_ACTIVE);
    const after = traffic(model, only({ a: 'maintenance' }));
    expect(Math.abs(after.percent('main') - 65)).toBeLessThan(1);
    expect(Math.abs(after.percent('b') - 35)).toBeLessThan(1);
    expect(before.chosen.filter((site, i) => site !== 'a' && site !== after.chosen[i])).toHaveLength(0);
  });

  it('auto with four sites gives 25 each', () => {
    const names = ['main', 'a', 'b', 'c'];
    const { percent } = traffic(system('auto', 'account', 1, names), ALL_ACTIVE);
    for (const name of names) expect(Math.abs(percent(name) - 25)).toBeLessThan(1);
  });

  it('a site at 0 gets nothing until it is the only one left', () => {
    const model = system({ main: 60, a: 40, b: 0 });
    expect(traffic(model, ALL_ACTIVE).percent('b')).toBe(0);
    expect(traffic(model, only({ main: 'maintenance' })).percent('b')).toBe(0);
    expect(traffic(model, only({ main: 'maintenance', a: 'down' })).percent('b')).toBe(100);
  });

  it('in turn (affinity none): exact shares, exact heirs', () => {
    const model = system({ main: 50, a: 30, b: 20 }, 'none');
    const all = traffic(model, ALL_ACTIVE);
    expect([all.percent('main'), all.percent('a'), all.percent('b')]).toEqual([50, 30, 20]);
    const without = traffic(model, only({ main: 'maintenance' }));
    expect([without.percent('a'), without.percent('b')]).toEqual([55, 45]);
  });

  it('in turn with two of four out: the rest inherit equally', () => {
    const names = ['main', 'a', 'b', 'c'];
    const model = system('auto', 'none', 1, names);
    const after = traffic(model, only({ main: 'maintenance', b: 'down' }));
    expect([after.percent('a'), after.percent('c')]).toEqual([50, 50]);
  });

  it('in turn: no site gets its turns in a burst', () => {
    const model = system({ main: 50, a: 30, b: 20 }, 'none');
    const { chosen } = traffic(model, ALL_ACTIVE);
    const longest = chosen.reduce((run, site, i) => (site === chosen[i - 1] ? run + 1 : 1), 0);
    expect(longest).toBeLessThanOrEqual(2);
    expect(chosen.slice(0, 10).sort()).toEqual([
      'a',
      'a',
      'a',
      'b',
      'b',
      'main',
      'main',
      'main',
      'main',
      'main',
    ]);
  });
});

describe('a plan', () => {
  const model = system('auto', 'account', 2);

  it('tries the nodes of the own site before other sites', () => {
    const plan = planOf(makePlan(model, ALL_ACTIVE, request('1001')));
    expect(plan).toHaveLength(6);
    expect(plan[0]!.site).toBe(plan[1]!.site);
    expect(new Set(plan.map((one) => one.uri)).size).toBe(6);
  });

  it('spreads accounts over the nodes of a site', () => {
    const first = accounts.filter((key) =>
      planOf(makePlan(model, ALL_ACTIVE, request(key)))[0]!.uri.endsWith('0'),
    );
    expect(Math.abs(first.length / accounts.length - 0.5)).toBeLessThan(0.02);
  });

  it('leaves out nodes that are down while their site has another', () => {
    const plan = planOf(makePlan(model, only({ 'main/sip:main0': 'down' }), request('1001')));
    expect(plan.map((one) => one.uri)).not.toContain('sip:main0');
    expect(plan).toHaveLength(5);
  });

  it('fails open: all down by health are tried, in order', () => {
    const three = system('auto');
    const plan = planOf(makePlan(three, only({ main: 'down', a: 'down', b: 'down' }), request('1001')));
    expect(plan).toHaveLength(3);
    expect(plan[0]!.site).toBe(planOf(makePlan(three, ALL_ACTIVE, request('1001')))[0]!.site);
  });

  it('fails open past maintenance only', () => {
    const three = system('auto');
    const plan = planOf(
      makePlan(three, only({ main: 'maintenance', a: 'down', b: 'maintenance' }), request('1001')),
    );
    expect(plan.map((one) => one.site)).toEqual(['a']);
  });

  it('is none when all are in maintenance', () => {
    const three = system('auto');
    const result = makePlan(
      three,
      only({ main: 'maintenance', a: 'maintenance', b: 'maintenance' }),
      request('1'),
    );
    expect(result).toEqual({ kind: 'none', why: 'maintenance' });
  });

  it('prefers a draining site to one that is down', () => {
    const plan = planOf(
      makePlan(system('auto'), only({ main: 'drain', a: 'down', b: 'maintenance' }), request('1')),
    );
    expect(plan.map((one) => one.site)).toEqual(['main']);
  });

  it('keeps an account at a draining site that served it lately', () => {
    const three = system('auto');
    const states = only({ main: 'drain' });
    for (const key of accounts.slice(0, 50)) {
      expect(planOf(makePlan(three, states, request(key)))[0]!.site).not.toBe('main');
      expect(planOf(makePlan(three, states, request(key, { seenAt: 'main' })))[0]!.site).toBe('main');
      const elsewhere = planOf(makePlan(three, states, request(key, { seenAt: 'a' })));
      expect(elsewhere.map((one) => one.site)).not.toContain('main');
    }
  });

  it('starts at the node that challenged, whatever its state, and names no node twice', () => {
    const challenger = { system: 's', site: 'b', node: 'sip:b1' };
    for (const states of [ALL_ACTIVE, only({ 'b/sip:b1': 'maintenance' }), only({ 'b/sip:b1': 'down' })]) {
      for (const key of accounts.slice(0, 20)) {
        const result = makePlan(model, states, request(key, { challenger }));
        const plan = planOf(result);
        expect(plan[0]!.uri).toBe('sip:b1');
        expect(new Set(plan).size).toBe(plan.length);
        expect(result).toMatchObject({ afterChallenge: true });
      }
    }
  });

  it('forgets a challenger of another system, or one that is no longer configured', () => {
    for (const challenger of [
      { system: 't', site: 'b', node: 'sip:b1' },
      { system: 's', site: 'gone', node: 'sip:b1' },
      { system: 's', site: 'b', node: 'sip:gone' },
    ]) {
      expect(makePlan(model, ALL_ACTIVE, request('1001', { challenger }))).toMatchObject({
        afterChallenge: false,
      });
    }
  });

  it('follows a pin while the site is in, and the share when it is out', () => {
    const three = system('auto');
    for (const key of accounts.slice(0, 50)) {
      expect(planOf(makePlan(three, ALL_ACTIVE, request(key, { pinned: 'b' })))[0]!.site).toBe('b');
      const out = planOf(makePlan(three, only({ b: 'maintenance' }), request(key, { pinned: 'b' })));
      expect(out.map((one) => one.site)).not.toContain('b');
    }
  });

  it('never goes back to the site it came from', () => {
    const three = system('auto');
    for (const key of accounts.slice(0, 50)) {
      const plan = planOf(makePlan(three, ALL_ACTIVE, request(key, { exclude: 'main' })));
      expect(plan.map((one) => one.site)).not.toContain('main');
    }
    const alone = system({ main: 100 }, 'account', 1, ['main']);
    expect(makePlan(alone, ALL_ACTIVE, request('1', { exclude: 'main' }))).toEqual({
      kind: 'none',
      why: 'only_source',
    });
  });
});

describe('node states', () => {
  const snapshot = makeSnapshot({
    domains: [],
    sip_servers: [],
    systems: {
      s: {
        load_distribution: 'auto',
        affinity: 'account',
        sites: { main: { nodes: [{ uri: 'sip:m0' }, { uri: 'sip:m1' }] } },
      },
    },
  });
  const decision = (state: 'active' | 'drain' | 'maintenance', node?: string) => ({
    system: 's',
    site: 'main',
    state,
    ...(node === undefined ? {} : { node }),
  });

  it('take the more restrictive of site and node', () => {
    const states = nodeStates(snapshot, [decision('drain'), decision('maintenance', 'sip:m0')], () => false);
    expect(Object.fromEntries(states)).toEqual({ 's/main/sip:m0': 'maintenance', 's/main/sip:m1': 'drain' });
  });

  it('put maintenance above health, and health above all else', () => {
    const states = nodeStates(snapshot, [decision('drain'), decision('maintenance', 'sip:m0')], () => true);
    expect(Object.fromEntries(states)).toEqual({ 's/main/sip:m0': 'maintenance', 's/main/sip:m1': 'down' });
  });

  it('name nothing when all is well', () => {
    expect(nodeStates(snapshot, [decision('active')], () => false).size).toBe(0);
  });
});
