import type { GroupConfig, WitnessMode } from '../../../plugin/ha/group/state';
import { Checks } from './checks';
import { Random } from './random';
import type { Node, StepFunction } from './world';
import { LINKS, World } from './world';

/**
 * chaos: everything at once. crash: kills, stalls, hand-overs, nothing on the network: no overlap ever.
 * calm: what must never move the addresses: heartbeat links, equal link changes, stalled or killed standbys, wall clock.
 */
export const KINDS = ['chaos', 'crash', 'calm'] as const;
export type Kind = (typeof KINDS)[number];

export interface Schedule {
  readonly seed: number;
  readonly size: number;
  readonly witness: WitnessMode;
  readonly kind: Kind;
}

const FAULTS_UNTIL = 12_000;
const AFTER_HEALING = 6_500;

/** Size, kind and witness mode of a seed; `modes` narrows the last. */
export function scheduleOf(
  seed: number,
  modes: readonly WitnessMode[] = ['none', 'none', 'strict', 'failsafe'],
): Schedule {
  const random = new Random(seed * 7919 + 17);
  return {
    seed,
    size: random.integer(2, 4),
    witness: random.pick(modes),
    kind: random.pick(['chaos', 'chaos', 'chaos', 'crash', 'crash', 'calm']),
  };
}

/** Runs one schedule and gives what it broke. */
export function runSchedule(schedule: Schedule, step: StepFunction): readonly string[] {
  const random = new Random(schedule.seed);
  const preemption: GroupConfig['preemption'] =
    schedule.kind !== 'calm' && random.chance(0.2) ? { delayMs: 1000 } : 'never';
  const world = new World({
    random,
    size: schedule.size,
    witness: schedule.witness,
    step,
    reorder: schedule.kind === 'chaos' && random.chance(0.6),
    equalPriority: random.chance(0.5),
    preemption,
  });
  const checks = new Checks(world);
  world.allowOverlap = schedule.kind === 'chaos' && schedule.witness === 'none';
  world.calmFrom = FAULTS_UNTIL;
  const together = random.chance(0.5);
  for (const node of world.nodes) {
    world.agenda.add(together ? 0 : random.between(0, 1500), () => world.start(node));
  }
  checks.start();
  const count = random.integer(2, 8);
  const from = schedule.kind === 'calm' ? 5000 : 500;
  if (schedule.kind === 'calm') world.agenda.add(5000, () => (checks.ownerMustStay = true));
  for (let index = 0; index < count; index++) {
    world.agenda.add(random.between(from, FAULTS_UNTIL), () => fault(world, schedule.kind));
  }
  world.agenda.add(FAULTS_UNTIL, () => {
    heal(world);
    checks.healedAt = world.now;
  });
  world.run(FAULTS_UNTIL + AFTER_HEALING);
  return world.violations;
}

function fault(world: World, kind: Kind): void {
  const { random } = world.options;
  const node = random.pick(world.nodes);
  switch (kind) {
    case 'chaos':
      random.pick([...CHAOS, ...CRASH])(world, node);
      return;
    case 'crash':
      random.pick(CRASH)(world, node);
      return;
    case 'calm':
      random.pick(CALM)(world, node);
      return;
  }
}

type Fault = (world: World, node: Node) => void;

const later = (world: World, ms: number, action: () => void): void =>
  world.agenda.add(world.now + ms, action);

const duration = (world: World): number => {
  const { random } = world.options;
  return random.chance(0.3) ? random.between(50, 1000) : random.between(1000, 5000);
};

const killAndRestart: Fault = (world, node) => {
  world.kill(node);
  later(world, duration(world), () => {
    if (!node.alive) world.start(node);
  });
};

const stall: Fault = (world, node) => world.stall(node, Math.min(duration(world), FAULTS_UNTIL - world.now));

const CRASH: readonly Fault[] = [
  killAndRestart,
  killAndRestart,
  stall,
  stall,
  (world, node) => world.stallMain(node, duration(world)),
  (world, node) => world.deleteVip(node),
  (world, node) => void world.operate(node, 'handover'),
  (world) => {
    for (const node of world.nodes) if (node.state.holding) world.operate(node, 'handover');
  },
  (world, node) => {
    world.operate(node, 'maintenance-on');
    later(world, duration(world), () => void world.operate(node, 'maintenance-off'));
  },
  (world, node) => {
    world.operate(node, 'terminate');
    later(world, 1000, () => {
      world.kill(node);
      world.start(node);
    });
  },
  (world, node) => {
    world.setLinks(node, world.options.random.integer(0, 2));
    later(world, duration(world), () => world.setLinks(node, 2));
  },
  (world, node) => {
    world.setSip(node, false);
    later(world, duration(world), () => world.setSip(node, true));
  },
  (world) => {
    // The owner lets go and the target dies or stalls in the worst moment.
    const owner = world.nodes.find(({ state }) => state.holding);
    const other = world.nodes.find((candidate) => candidate !== owner && candidate.alive);
    if (owner === undefined || other === undefined) return;
    world.operate(owner, 'handover');
    later(world, world.options.random.between(0, 160), () =>
      world.options.random.chance(0.5) ? killAndRestart(world, other) : stall(world, other),
    );
  },
  (world) => {
    world.wallOffset = world.options.random.between(-900_000, 900_000);
  },
];

const split =
  (links: readonly number[], oneWay: boolean): Fault =>
  (world) => {
    const { random } = world.options;
    const side = world.nodes.map(() => random.chance(0.5));
    for (const link of links) {
      world.nodes.forEach((a) =>
        world.nodes.forEach((b) => {
          if (side[a.index] !== side[b.index] && (!oneWay || side[a.index])) {
            world.cut[link]![a.index]![b.index] = true;
          }
        }),
      );
    }
    later(world, duration(world), () => mend(world));
  };

function mend(world: World): void {
  for (const link of LINKS) for (const row of world.cut[link]!) row.fill(false);
}

const CHAOS: readonly Fault[] = [
  split([0, 1, 2], false),
  split([0, 1, 2], false),
  split([0, 1, 2], true),
  split([0, 1, 2], true),
  split([0, 1], false),
  split([2], false),
  (world) => {
    world.loss = world.options.random.between(0.05, 0.5);
    later(world, duration(world), () => (world.loss = 0));
  },
  (world, node) => {
    node.witnessCut = true;
    later(world, duration(world), () => (node.witnessCut = false));
  },
  (world) => {
    for (const node of world.nodes) node.witnessCut = true;
    later(world, duration(world), () => {
      for (const node of world.nodes) node.witnessCut = false;
    });
  },
  (world) => {
    world.replyLoss = 0.4;
    later(world, duration(world), () => (world.replyLoss = 0));
  },
];

/** Short stalls must not add up to a long one. */
const isRested = (world: World, node: Node): boolean =>
  world.now - Math.max(node.stalledUntil, node.mainStalledUntil) > 600;

/** Never all three at once. */
const splitAlone =
  (links: readonly number[], oneWay: boolean): Fault =>
  (world, node) => {
    mend(world);
    split(links, oneWay)(world, node);
  };

const CALM: readonly Fault[] = [
  splitAlone([0], false),
  splitAlone([1], false),
  splitAlone([0, 1], false),
  splitAlone([2], false),
  splitAlone([0, 1], true),
  (world, node) => {
    if (!node.state.holding && node.state.name === 'STANDBY') stall(world, node);
  },
  (world, node) => {
    if (!node.state.holding && node.state.name === 'STANDBY') killAndRestart(world, node);
  },
  (world, node) => {
    if (!node.state.holding) world.stallMain(node, duration(world));
  },
  (world) => {
    for (const node of world.nodes) world.setLinks(node, 1);
    later(world, duration(world), () => {
      for (const node of world.nodes) world.setLinks(node, 2);
    });
  },
  (world, node) => {
    if (isRested(world, node)) world.stall(node, world.options.random.between(10, 300));
  },
  (world, node) => {
    if (isRested(world, node)) world.stallMain(node, world.options.random.between(10, 500));
  },
  (world) => {
    world.wallOffset += world.options.random.pick([-3_600_000, 3_600_000]);
  },
];

function heal(world: World): void {
  world.reorder = false;
  mend(world);
  world.loss = 0;
  world.replyLoss = 0;
  for (const node of world.nodes) {
    node.witnessCut = false;
    node.mainStalledUntil = Math.min(node.mainStalledUntil, world.now);
    if (!node.alive) world.start(node);
    else world.operate(node, 'maintenance-off');
    if (node.links !== 2) world.setLinks(node, 2);
    if (!node.sip) world.setSip(node, true);
  }
}
