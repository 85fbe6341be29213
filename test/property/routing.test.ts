import fc from 'fast-check';
import { route } from '../../plugin/routing/decide';
import { makePlan } from '../../plugin/routing/plan';
import { effectiveShares } from '../../plugin/routing/share';
import { makeSnapshot, type SystemModel } from '../../plugin/routing/snapshot';
import { NODE_STATES, type NodeStates } from '../../plugin/routing/states';
import { normaliseUser } from '../../plugin/routing/number';
import { factsOf, labLookup, labSnapshot, SOURCES, world } from '../fixtures/routing';

beforeAll(() => fc.configureGlobal({ numRuns: 1000 }));
afterAll(() => fc.resetConfigureGlobal());

/** Percentages that add up to 100, zeros included. */
const percentages = fc
  .array(fc.integer({ min: 0, max: 100 }), { minLength: 1, maxLength: 6 })
  .filter((weights) => weights.some((weight) => weight > 0))
  .map((weights) => {
    const total = weights.reduce((a, b) => a + b, 0);
    const shares = weights.map((weight) => Math.floor((weight * 100) / total));
    const most = weights.indexOf(Math.max(...weights));
    shares[most]! += 100 - shares.reduce((a, b) => a + b, 0);
    return shares;
  });

function system(shares: readonly number[], affinity: 'account' | 'none'): SystemModel {
  const sites = shares.map(
    (_, i) => [`site${i}`, { nodes: [{ uri: `sip:n${i}a` }, { uri: `sip:n${i}b` }] }] as const,
  );
  return makeSnapshot({
    domains: ['example.com'],
    sip_servers: [],
    systems: {
      s: {
        load_distribution: Object.fromEntries(shares.map((share, i) => [`site${i}`, share])),
        affinity,
        sites: Object.fromEntries(sites),
      },
    },
  }).systems.get('s')!;
}

const statesFor = (model: SystemModel, picks: readonly number[]): NodeStates =>
  new Map(
    model.sites
      .flatMap((site) => site.nodes)
      .map(({ key }, i) => [key, NODE_STATES[(picks[i % picks.length] ?? 0) % NODE_STATES.length]!] as const),
  );

describe('shares', () => {
  it('sum to one as long as a site is in, whatever is out', () => {
    fc.assert(
      fc.property(percentages, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (shares, isIn) => {
        const isInEach = shares.map((_, i) => isIn[i] ?? false);
        const sum = effectiveShares(
          shares.map((share) => share / 100),
          isInEach,
        ).reduce((a, b) => a + b, 0);
        expect(sum).toBeCloseTo(isInEach.some(Boolean) ? 1 : 0, 9);
      }),
    );
  });

  it('of sites that stay never shrink', () => {
    fc.assert(
      fc.property(percentages, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (shares, isIn) => {
        const fractions = shares.map((share) => share / 100);
        effectiveShares(
          fractions,
          fractions.map((_, i) => isIn[i] ?? false),
        ).forEach((share, i) => {
          if (isIn[i] === true) expect(share).toBeGreaterThanOrEqual(fractions[i]! - 1e-12);
        });
      }),
    );
  });
});

describe('plans', () => {
  const picks = fc.array(fc.nat(3), { minLength: 1, maxLength: 12 });

  it('never hold a node in maintenance, nor one twice', () => {
    fc.assert(
      fc.property(
        percentages,
        picks,
        fc.string(),
        fc.nat(),
        fc.constantFrom('account', 'none'),
        (shares, pick, key, turn, affinity) => {
          const model = system(shares, affinity);
          const states = statesFor(model, pick);
          const result = makePlan(model, states, { affinityKey: key, turn });
          if (result.kind === 'none') {
            expect([...states.values()].every((state) => state === 'maintenance')).toBe(true);
            return;
          }
          expect(result.plan.length).toBeGreaterThan(0);
          expect(new Set(result.plan).size).toBe(result.plan.length);
          for (const one of result.plan) {
            expect(one.system).toBe('s');
            expect(states.get(`s/${one.site}/${one.node}`)).not.toBe('maintenance');
          }
        },
      ),
    );
  });

  it('move only the accounts of the site that goes out', () => {
    fc.assert(
      fc.property(percentages, fc.nat(5), fc.string({ minLength: 1 }), (shares, out, key) => {
        const model = system(shares, 'account');
        const before = makePlan(model, new Map(), { affinityKey: key, turn: 0 });
        const gone = model.sites[out % model.sites.length]!;
        const states = new Map(gone.nodes.map((node) => [node.key, 'maintenance' as const]));
        const after = makePlan(model, states, { affinityKey: key, turn: 0 });
        if (before.kind === 'plan' && after.kind === 'plan' && before.plan[0]!.site !== gone.name) {
          expect(after.plan[0]).toBe(before.plan[0]);
        }
      }),
    );
  });

  it('do not depend on the order in which sites are written', () => {
    const sites = {
      x: { nodes: [{ uri: 'sip:x' }] },
      y: { nodes: [{ uri: 'sip:y' }] },
      z: { nodes: [{ uri: 'sip:z' }] },
    };
    const make = (names: readonly ('x' | 'y' | 'z')[]): SystemModel =>
      makeSnapshot({
        domains: ['d'],
        sip_servers: [],
        systems: {
          s: {
            load_distribution: { x: 50, y: 30, z: 20 },
            affinity: 'account',
            sites: Object.fromEntries(names.map((name) => [name, sites[name]])),
          },
        },
      }).systems.get('s')!;
    const [one, other] = [make(['x', 'y', 'z']), make(['z', 'x', 'y'])];
    fc.assert(
      fc.property(fc.string(), (affinityKey) => {
        expect(makePlan(one, new Map(), { affinityKey, turn: 0 })).toEqual(
          makePlan(other, new Map(), { affinityKey, turn: 0 }),
        );
      }),
    );
  });
});

describe('a decision', () => {
  const snapshot = labSnapshot({ default_system: 'source' });
  const methods = fc.constantFrom(
    'INVITE',
    'REGISTER',
    'SUBSCRIBE',
    'MESSAGE',
    'OPTIONS',
    'PUBLISH',
    'NOTIFY',
  );
  const users = fc.constantFrom(
    '1001',
    '1002',
    '4999',
    '+12025550123',
    'alice',
    '%31001',
    '+1-202-555-0123;npdi',
  );
  const hosts = fc.constantFrom(
    'example.com',
    '198.51.100.10',
    'elsewhere.invalid',
    'sip.vendor.example',
    '198.51.100.31',
  );

  it('is a pure function: the same in, the same out', () => {
    fc.assert(
      fc.property(
        methods,
        users,
        hosts,
        users,
        fc.constantFrom(...Object.values(SOURCES)),
        (method, user, host, caller, source) => {
          const facts = factsOf(
            { method, uri: `sip:${user}@${host}`, from: `<sip:${caller}@example.com>;tag=a` },
            { source },
          );
          const once = route(facts, snapshot, labLookup, world());
          expect(route(facts, snapshot, labLookup, world())).toEqual(once);
        },
      ),
    );
  });

  it('never sends what an endpoint or peer asks for to a host that is not ours', () => {
    const ours = new Set(
      [...snapshot.systems.values()].flatMap((one) =>
        one.sites.flatMap((site) => site.nodes.map((node) => node.destination.uri)),
      ),
    );
    fc.assert(
      fc.property(
        methods,
        users,
        hosts,
        users,
        fc.constantFrom(SOURCES.phone, SOURCES.phoneTcp, SOURCES.vendorA, SOURCES.vendorB),
        (method, user, host, caller, source) => {
          const facts = factsOf(
            { method, uri: `sip:${user}@${host}`, from: `<sip:${caller}@example.com>;tag=a` },
            { source },
          );
          const decision = route(facts, snapshot, labLookup, world());
          expect(['answer', 'dispatch']).toContain(decision.kind);
          if (decision.kind === 'answer') expect(decision.status).not.toBe(302);
          if (decision.kind === 'dispatch') {
            for (const one of decision.plan) {
              expect(one.system).toBe(decision.system);
              expect(ours.has(one.uri)).toBe(true);
            }
          }
        },
      ),
    );
  });
});

describe('numbers', () => {
  it('normalising twice changes nothing', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...Array.from('+0123456789-.()abc;=%2Bnpdi*#')) }),
        fc.boolean(),
        (user, isPhone) => {
          const once = normaliseUser(user, isPhone);
          if (!once.includes('%')) expect(normaliseUser(once, isPhone)).toBe(once);
        },
      ),
    );
  });

  it('two numbers of different digits never become one', () => {
    const digits = fc.string({
      unit: fc.constantFrom(...Array.from('0123456789')),
      minLength: 1,
      maxLength: 300,
    });
    fc.assert(
      fc.property(digits, digits, (one, other) => {
        if (one !== other) expect(normaliseUser(`+${one}`, true)).not.toBe(normaliseUser(`+${other}`, true));
      }),
    );
  });
});
