import { step } from '../../../plugin/ha/group/machine';
import { timingFor } from '../../../plugin/ha/group/timing';
import { mutantStep } from './mutant';
import { Random } from './random';
import type { Node, StepFunction, WorldOptions } from './world';
import { LINKS, World } from './world';

function worldOf(size: number, options: Partial<WorldOptions> = {}): World {
  return new World({
    random: new Random(options.size ?? 1),
    size,
    witness: 'none',
    step,
    reorder: false,
    equalPriority: true,
    ...options,
  });
}

function startAll(world: World): void {
  for (const node of world.nodes) world.start(node);
}

function owner(world: World): Node {
  const holders = world.nodes.filter((node) => world.holds(node));
  expect(holders.map(({ id }) => id)).toHaveLength(1);
  return holders[0]!;
}

function cutAll(world: World, value: boolean): void {
  for (const link of LINKS) for (const row of world.cut[link]!) row.fill(value);
}

describe('the group in virtual time', () => {
  it('H34: equal priorities and a simultaneous start give one owner within 2 s, always the same, in one transition', () => {
    for (const size of [2, 3]) {
      const owners = new Set<string>();
      for (let seed = 0; seed < 100; seed++) {
        const world = worldOf(size, { random: new Random(seed) });
        startAll(world);
        world.run(2000);
        owners.add(owner(world).id);
        world.run(12_000);
        expect(world.owners).toHaveLength(1);
      }
      expect(owners.size).toBe(1);
    }
  });

  it('H32: when a silent partition heals, the winner announces again after the loser has let go', () => {
    for (let seed = 0; seed < 20; seed++) {
      const world = worldOf(2, { random: new Random(seed) });
      startAll(world);
      world.run(4000);
      cutAll(world, true);
      world.run(9000);
      expect(world.nodes.filter((node) => world.holds(node))).toHaveLength(2);
      // The client heard the loser last.
      world.arp = world.nodes.reduce((a, b) => (a.state.term < b.state.term ? a : b)).id;
      cutAll(world, false);
      const healed = world.now;
      world.run(healed + 600);
      expect(owner(world).id).toBe(world.arp);
      expect(world.arpAt).toBeGreaterThan(healed);
    }
  });

  it('H33: a wall clock that jumps while running changes nothing; set back before a restart, the new life is heard all the same', () => {
    const world = worldOf(2);
    startAll(world);
    world.run(4000);
    const first = owner(world);
    const standby = world.nodes.find((node) => node !== first)!;
    world.wallOffset = 3_600_000;
    world.run(8000);
    world.wallOffset = -900_000;
    world.run(12_000);
    expect(world.owners).toHaveLength(1);
    world.kill(standby);
    world.start(standby);
    world.run(15_000);
    expect(first.state.peers[standby.id]!.incarnation).toBe(standby.state.incarnation);
    expect(first.state.peers[standby.id]!.heardAt).toBeGreaterThan(14_000);
    world.kill(first);
    world.run(17_000);
    expect(owner(world)).toBe(standby);
  });

  it('scenario 25: of three, when the active and the first in rank die, the last serves within 1.8 s', () => {
    for (let seed = 0; seed < 50; seed++) {
      const world = worldOf(3, { random: new Random(seed) });
      startAll(world);
      world.run(4000 + seed * 11);
      const active = owner(world);
      const [first, last] = world.nodes
        .filter((node) => node !== active)
        .sort((a, b) => (a.id > b.id ? -1 : 1));
      world.kill(active);
      world.kill(first!);
      const killed = world.now;
      world.run(killed + 1800);
      expect(last!.state.name).toBe('ACTIVE');
    }
  });

  it('a killed active that starts again at once does not delay the takeover', () => {
    const { claim } = timingFor();
    for (const after of [100, 500, 900, 1200]) {
      for (let seed = 0; seed < 20; seed++) {
        const world = worldOf(2, { random: new Random(seed) });
        startAll(world);
        world.run(4000 + seed * 37);
        const killed = owner(world);
        const at = world.now;
        world.kill(killed);
        world.run(at + after);
        world.start(killed);
        world.run(at + 4000);
        expect(owner(world)).not.toBe(killed);
        // The first heartbeat of the new life says that the old one is gone.
        expect(world.owners.at(-1)!.at - at).toBeLessThanOrEqual(Math.min(after, claim) + 5);
      }
    }
  });

  it('scenario 27: both sides flapping in turn make at most three planned switches, then planned ones are locked', () => {
    const world = worldOf(2);
    startAll(world);
    world.run(3000);
    for (let second = 0; second < 55; second++) {
      world.setLinks(owner(world), 1);
      world.run(world.now + 500);
      for (const node of world.nodes) world.setLinks(node, 2);
      world.run(world.now + 500);
    }
    expect(world.owners).toHaveLength(4);
    expect(owner(world).state.alarms).toContain('planned_locked|');
  });

  it('a hand-over gives the addresses away within milliseconds and says so to the operator', () => {
    for (const witness of ['none', 'strict'] as const) {
      const world = worldOf(3, { witness });
      startAll(world);
      world.run(8000);
      const before = owner(world);
      const request = world.operate(before, 'handover');
      world.run(world.now + 400);
      expect(world.answers.get(request)?.done).toBe(true);
      expect(owner(world)).not.toBe(before);
    }
  });

  it('a hand-over to a standby that is gone is refused at once, and nothing is held back for it', () => {
    const world = worldOf(3);
    startAll(world);
    world.run(4000);
    const active = owner(world);
    const gone = world.nodes.find((node) => node !== active)!;
    world.kill(gone);
    world.run(world.now + 1500);
    expect(active.state.peers[gone.id]!.state).toBe('STANDBY');
    world.give(active, { type: 'operator', request: 77, action: 'handover', to: gone.id });
    expect(active.state.name).toBe('ACTIVE');
    expect(world.answers.get(77)).toMatchObject({ done: false });
  });

  it('maintenance that is ended while its hand-over is under way does not come after it', () => {
    const world = worldOf(2);
    startAll(world);
    world.run(4000);
    const active = owner(world);
    world.operate(active, 'maintenance-on');
    expect(active.state.name).toBe('HANDOVER');
    world.operate(active, 'maintenance-off');
    world.run(world.now + 2000);
    expect(active.state.name).toBe('STANDBY');
    expect(owner(world)).not.toBe(active);
  });

  it('an active that stalls after it let go reads that the other serves before it would take the addresses back', () => {
    for (let seed = 0; seed < 20; seed++) {
      const world = worldOf(2, { random: new Random(seed) });
      world.allowOverlap = false;
      startAll(world);
      world.run(4000);
      const active = owner(world);
      const target = world.nodes.find((node) => node !== active)!;
      world.operate(active, 'handover');
      while (active.state.handover?.phase !== 'relinquish') world.run(world.now + 0.05);
      world.stall(active, 300);
      world.run(world.now + 3000);
      expect(world.owners.map(({ id }) => id)).toEqual([active.id, target.id]);
    }
  });

  it('failsafe: no planned hand-over while the witness is away, or nobody would have the addresses until it is back', () => {
    const world = worldOf(2, { witness: 'failsafe' });
    startAll(world);
    world.run(8000);
    const active = owner(world);
    for (const node of world.nodes) node.witnessCut = true;
    world.run(12_000);
    expect(owner(world)).toBe(active);
    const request = world.operate(active, 'handover');
    world.run(16_000);
    expect(world.answers.get(request)).toEqual(expect.objectContaining({ done: false }));
    expect(owner(world)).toBe(active);
    for (const node of world.nodes) node.witnessCut = false;
    world.run(18_000);
    const again = world.operate(active, 'handover');
    world.run(20_000);
    expect(world.answers.get(again)?.done).toBe(true);
  });

  it('somebody else who announces the addresses again and again is answered at every heartbeat, not more and not less', () => {
    for (const every of [50, 200, 499]) {
      const world = worldOf(1);
      startAll(world);
      world.run(6000);
      const active = owner(world);
      const answered: number[] = [];
      for (let at = world.now; at < 16_000; at += every) {
        world.run(at);
        world.arp = 'somebody else';
        world.give(active, { type: 'foreign-arp' });
        if (world.arp === active.id) answered.push(at);
      }
      const gaps = answered.slice(1).map((at, index) => at - answered[index]!);
      expect(Math.max(...gaps)).toBeLessThan(500 + every);
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(500);
      world.run(world.now + 600);
      expect(world.arp).toBe(active.id);
    }
  });

  it('an instance whose heartbeat links open late listens from then on, and claims nothing meanwhile', () => {
    for (const deafMs of [1000, 5000, 14_900, 20_000]) {
      const world = worldOf(2);
      world.allowOverlap = false;
      startAll(world);
      world.run(4000);
      const active = owner(world);
      const late = world.nodes.find((node) => node !== active)!;
      world.kill(late);
      // One whose links stay away longer than 15 s is not well in time, either.
      late.sip = deafMs < 15_000;
      const at = world.now;
      world.start(late, deafMs);
      world.run(at + deafMs - 1);
      expect(late.state.name).toBe(late.sip ? 'INIT' : 'FAULT');
      expect(late.state.alarms).toContain('deaf|');
      world.run(at + deafMs);
      world.setSip(late, true);
      world.run(at + deafMs + 5000);
      expect(late.state.name).toBe('STANDBY');
      expect(late.state.alarms).not.toContain('deaf|');
      expect([...world.owners.slice(1), ...world.violations]).toEqual([]);
    }
  });

  it('an instance that no heartbeat link opens for goes on after 15 s: it may be the only one', () => {
    const world = worldOf(2);
    const [alone] = world.nodes as [Node];
    world.start(alone, 60_000);
    world.run(14_999);
    expect(alone.state.name).toBe('INIT');
    world.run(15_500);
    expect(owner(world)).toBe(alone);
    expect(alone.state.alarms).toContain('deaf|');
    world.run(65_000);
    expect(world.owners).toHaveLength(1);
  });

  it('scenario 5: a terminating active whose target dies after READY is replaced by the third instance', () => {
    const world = worldOf(3);
    startAll(world);
    world.run(4000);
    const active = owner(world);
    const target = [...world.nodes]
      .filter((node) => node !== active)
      .sort((a, b) => (a.id > b.id ? -1 : 1))[0]!;
    world.operate(active, 'terminate');
    while (target.state.ready === undefined) world.run(world.now + 1);
    world.kill(target);
    const died = world.now;
    world.run(died + 1500);
    expect(owner(world)).not.toBe(active);
    expect(active.state.name).toBe('MAINT');
  });
});

/** The target of a hand-over stalls just after READY, until the active has taken the addresses back. */
function stalledTarget(stepFunction: StepFunction): readonly string[] {
  const world = worldOf(2, { step: stepFunction });
  world.allowOverlap = false;
  startAll(world);
  world.run(4000);
  const active = owner(world);
  const target = world.nodes.find((node) => node !== active)!;
  world.operate(active, 'handover');
  for (let tries = 0; target.state.ready === undefined && tries < 20_000; tries++)
    world.run(world.now + 0.05);
  world.stall(target, 250);
  world.run(world.now + 3000);
  const claimed = world.owners.slice(1).filter(({ id }) => id === target.id);
  return [...world.violations, ...claimed.map(({ at }) => `${target.id} claimed at ${at} on a stale READY`)];
}

/** Failsafe: the active goes on without the witness; then nobody hears it any more. */
function failsafeCut(stepFunction: StepFunction): readonly string[] {
  const world = worldOf(2, { step: stepFunction, witness: 'failsafe' });
  world.allowOverlap = false;
  startAll(world);
  world.run(8000);
  const active = owner(world);
  active.witnessCut = true;
  world.run(16_000);
  expect(owner(world)).toBe(active);
  cutAll(world, true);
  world.run(22_000);
  expect(owner(world)).not.toBe(active);
  return world.violations;
}

/**
 * Of three, the last in rank goes deaf and claims; its claim reaches the active, whose YIELD reaches the first in rank
 * before the claim does. Who became active from then on, while the deaf one can hear nobody.
 */
function yieldOvertakesClaim(stepFunction: StepFunction, seed: number): readonly string[] {
  const world = worldOf(3, { step: stepFunction, random: new Random(seed) });
  startAll(world);
  world.run(4000 + seed * 37);
  const active = owner(world);
  const [first, deaf] = world.nodes
    .filter((node) => node !== active)
    .sort((a, b) => (a.id > b.id ? -1 : 1)) as [Node, Node];
  for (const link of LINKS) {
    for (const row of world.cut[link]!) row[deaf.index] = true;
    world.cut[link]![deaf.index]![first.index] = true;
  }
  const from = world.owners.length;
  while (active.state.name === 'ACTIVE') world.run(world.now + 1);
  world.run(world.now + 5);
  for (const link of LINKS) world.cut[link]![deaf.index]![first.index] = false;
  world.run(world.now + 5000);
  return world.owners.slice(from).map(({ id }) => (id === deaf.id ? 'deaf' : id));
}

/** The active is killed within the step of a heartbeat, right after it has done an effect of this type. */
function diesInHeartbeat(stepFunction: StepFunction, type: 'send' | 'renew'): readonly string[] {
  const violations: string[] = [];
  for (let seed = 0; seed < 50; seed++) {
    const world = worldOf(2, { step: stepFunction, random: new Random(seed) });
    world.allowOverlap = false;
    startAll(world);
    world.run(4000 + seed * 37);
    const killed = owner(world);
    world.diesAfter = { node: killed, type };
    world.run(world.now + 3000);
    expect(owner(world)).not.toBe(killed);
    violations.push(...world.violations);
  }
  return violations;
}

describe('rules that random schedules seldom meet', () => {
  it('the word of a heartbeat goes out before its lease is renewed', () => {
    expect(diesInHeartbeat(step, 'send')).toEqual([]);
    expect(diesInHeartbeat(step, 'renew')).toEqual([]);
    const mutant = mutantStep({
      file: 'ha/group/machine.ts',
      find: "  send(turn, 'BEAT');\n",
      replace: "  if (renews) effects.push({ type: 'renew' });\n  send(turn, 'BEAT');\n",
    });
    expect(diesInHeartbeat(mutant.step, 'renew')).not.toEqual([]);
    mutant.dispose();
  });

  it('whoever hears that the active yielded counts the one it yielded to as heard', () => {
    const mutant = mutantStep({
      file: 'ha/group/peers.ts',
      find: 'config.timing.claim : 0',
      replace: '0 : 0',
    });
    for (let seed = 0; seed < 10; seed++) {
      expect(yieldOvertakesClaim(step, seed)).toEqual(['deaf']);
      expect(yieldOvertakesClaim(mutant.step, seed).length).toBeGreaterThan(1);
    }
    mutant.dispose();
  });

  it('a READY is used only while it is fresh', () => {
    expect(stalledTarget(step)).toEqual([]);
    const mutant = mutantStep({
      file: 'ha/group/handover.ts',
      find: 'return now - ready.at <= ',
      replace: 'return now - ready.at <= 1000 * ',
    });
    expect(stalledTarget(mutant.step)).not.toEqual([]);
    mutant.dispose();
  });

  it('in failsafe mode silence must last as long as an acknowledged holder could go on', () => {
    expect(failsafeCut(step)).toEqual([]);
    const mutant = mutantStep({
      file: 'ha/group/election.ts',
      find: "config.witness === 'failsafe' ? timing.witnessTake : timing.claim",
      replace: 'timing.claim',
    });
    expect(failsafeCut(mutant.step)).not.toEqual([]);
    mutant.dispose();
  });
});
