import { HaLab, now, pause, within } from '../fixtures/ha/ha-lab';
import { describeWith } from '../fixtures/needs';

/** Scenarios that mostly wait: side by side, each in a lab of its own. */
describeWith(['netns'], 'a group over a minute', () => {
  const labs: HaLab[] = [];
  const create = async (): Promise<HaLab> => {
    const lab = await HaLab.create({ instances: ['a', 'b'], clientEveryMs: 20 });
    labs.push(lab);
    await lab.settle();
    return lab;
  };
  const failures = new Map<number, unknown>();
  const check = async (scenario: number, run: (lab: HaLab) => Promise<void>): Promise<void> => {
    try {
      await run(await create());
    } catch (error) {
      failures.set(scenario, error);
    }
  };

  beforeAll(
    () => Promise.all([check(16, lossForAMinute), check(27, flapping), check(37, absentForAMinute)]),
    150_000,
  );
  afterAll(async () => {
    for (const lab of labs) await lab.close();
  });

  it.each([
    [16, '30 % loss on both heartbeat links for 60 s: no takeover'],
    [27, 'links flapping at 1 Hz: at most three switches, then planned ones are locked'],
    [37, 'a peer absent for 60 s is probed every 15 s and joins'],
  ])('%i: %s', (scenario) => {
    if (failures.has(scenario)) throw failures.get(scenario);
  });
});

async function lossForAMinute(lab: HaLab): Promise<void> {
  const since = now();
  for (const each of lab.instances) {
    await lab.lose(each.ports.m1, { percent: 30, direction: 'from_host' });
    await lab.lose(each.ports.m2, { percent: 30, direction: 'from_host' });
  }
  await pause(60_000);
  for (const each of lab.instances) expect(each.statesSince(since)).toEqual([]);
  const { lost, received } = (await lab.instances[0]!.status()).peers[0]!.paths.m1!;
  // The loss was there, and was counted.
  expect(lost / (lost + received)).toBeGreaterThan(0.1);
}

async function flapping(lab: HaLab): Promise<void> {
  const since = now();
  // The link of whoever is active goes down for half a second, every second.
  while (now() - since < 40_000) {
    const active = lab.instances.find(({ state }) => state === 'ACTIVE');
    if (active === undefined) {
      await pause(20);
      continue;
    }
    await active.ports.service.unplug();
    await pause(500);
    await active.ports.service.plugIn();
    await pause(500);
  }
  const switches = lab.instances
    .flatMap((each) => each.statesSince(since))
    .filter((state) => state === 'ACTIVE');
  expect(switches.length).toBe(3);
  expect(lab.active.alarmsSince(since).map(({ name }) => name)).toContain('planned_locked');
}

async function absentForAMinute(lab: HaLab): Promise<void> {
  const { active } = lab;
  const [other] = lab.others;
  const faults = [];
  // Not even its own heartbeats leave, and it does not claim: it is in maintenance.
  expect((await other!.ask('maintenance', 'outcome', { on: true }))['done']).toBe(true);
  for (const port of Object.values(other!.ports)) faults.push(await port.isolate());
  await pause(45_000);
  // The standby has given up regular heartbeats: three links every 15 s.
  // The address of the peer is forgotten by now, so that a probe may show as an ARP request.
  const capture = await other!.host.capture('udp port 5405 or arp', 'eth1');
  await pause(15_500);
  const times = (await capture.packets()).map(({ time }) => time);
  const probes = times.filter((time, index) => time - (times[index - 1] ?? 0) > 5);
  expect(probes.length).toBeGreaterThanOrEqual(1);
  expect(probes.length).toBeLessThanOrEqual(2);
  const since = now();
  for (const fault of faults) await fault.heal();
  const joined = async (): Promise<boolean> => {
    const [a, b] = [(await active.status()).peers[0]!, (await other!.status()).peers[0]!];
    return a.state !== 'unheard' && b.state !== 'unheard';
  };
  while (!(await joined())) {
    expect(now() - since).toBeLessThan(20_000);
    await pause(50);
  }
  within('37', 'joined', now() - since, 15_500);
  expect(lab.active).toBe(active);
}
