import { HaLab, VIP, now, pause, within } from '../fixtures/ha/ha-lab';
import type { Instance } from '../fixtures/ha/ha-lab';
import { describeWith } from '../fixtures/needs';

const holders = async (lab: HaLab): Promise<readonly string[]> => {
  const held = await Promise.all(lab.instances.map((each) => each.host.holds(VIP)));
  return lab.instances.filter((_, index) => held[index]).map(({ name }) => name);
};

const becomesActive = (instance: Instance, since: number): Promise<{ at: number }> =>
  instance.waitFor(
    (line) => line.event === 'state' && line['to'] === 'ACTIVE' && line.at >= since,
    4000,
    'ACTIVE',
  );

describeWith(['netns', 'tcpdump'], 'a group of two whose heartbeats are cut', () => {
  let lab: HaLab;
  beforeAll(async () => {
    lab = await HaLab.create({ instances: ['a', 'b'] });
  }, 30_000);
  beforeEach(() => lab.settle(), 30_000);
  afterAll(() => lab.close());

  it('11 and 12: all heartbeats cut: two owners and an alarm; healed: one owner, hardly noticed', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    await lab.cutHeartbeats(active);
    within('11', 'second owner', (await becomesActive(other!, since)).at - since, 1300);
    await pause(500);
    expect(await holders(lab)).toHaveLength(2);
    for (const each of lab.instances) {
      const alarms = each.alarmsSince(since).map(({ name }) => name);
      expect(alarms.some((name) => name === 'split_brain' || name === 'peer_lost')).toBe(true);
    }
    const healed = now();
    await lab.heal();
    const yielded = await active.waitFor(
      (line) => line.event === 'state' && line['to'] === 'STANDBY' && line.at >= healed,
      3000,
      'STANDBY',
    );
    within('12', 'one owner', yielded.at - healed, 600);
    expect(await holders(lab)).toEqual([other!.name]);
    await pause(1000);
    const sight = await lab.sight(healed - 50);
    within('12', 'gap of the client', sight.outageMs, 100);
    expect(sight.owners.at(-1)).toBe(other!.name);
  });

  it('13, H32: the port of the active silently dropped, then healed, 20 of 20: the client finds the winner', async () => {
    let worst = 0;
    for (let round = 0; round < 20; round++) {
      const { active } = lab;
      const [other] = lab.others;
      const since = now();
      const faults = [
        await active.ports.service.isolate(),
        await active.ports.m1.isolate(),
        await active.ports.m2.isolate(),
      ];
      await becomesActive(other!, since);
      await pause(200 + round * 25);
      const healed = now();
      for (const fault of faults) await fault.heal();
      await active.waitFor(
        (line) => line.event === 'state' && line['to'] === 'STANDBY' && line.at >= healed,
        3000,
        'STANDBY',
      );
      await pause(300);
      const sight = await lab.sight(healed);
      worst = Math.max(worst, sight.outageMs);
      expect(sight.owners.at(-1)).toBe(other!.name);
      expect(await holders(lab)).toEqual([other!.name]);
    }
    within('13', 'worst client gap after healing, of 20', worst, 100);
  }, 90_000);

  it('14: one-way loss from the active: the old active yields, never two after', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    await lab.cutHeartbeats(active, { direction: 'from_host' });
    const yielded = await active.waitFor(
      (line) => line.event === 'state' && line['to'] === 'STANDBY' && line.at >= since,
      3000,
      'STANDBY',
    );
    within('14', 'old active yields', yielded.at - since, 1300);
    for (let looks = 0; looks < 20; looks++) {
      expect(await holders(lab)).toEqual([other!.name]);
      await pause(100);
    }
  });

  it('15: one-way loss to the active changes nothing', async () => {
    const { active } = lab;
    const since = now();
    await lab.cutHeartbeats(active, { direction: 'to_host' });
    await pause(4000);
    for (const each of lab.instances) expect(each.statesSince(since)).toEqual([]);
    expect(lab.active).toBe(active);
  });

  it('36: forged and replayed heartbeats are ignored and counted', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const capture = await active.host.capture('udp port 5405', 'eth1');
    await pause(1200);
    const recorded = (await capture.packets()).filter(
      ({ source }) => source === (active.name === 'a' ? '10.1.0.2' : '10.1.0.1'),
    );
    expect(recorded.length).toBeGreaterThan(0);
    const before = await active.status();
    const since = now();
    const mallory = await lab.lab.host('mallory');
    await lab.networks.m1.attach(mallory, { addresses: ['10.1.0.66/24'] });
    const socket = await mallory.udp('10.1.0.66');
    const target = active.name === 'a' ? '10.1.0.1' : '10.1.0.2';
    const replayed = Buffer.from(recorded[0]!.payload, 'latin1');
    const forged = Buffer.from(replayed);
    forged[5] = 2;
    forged.writeUIntBE(2 ** 40, 8 + 12, 6);
    for (let times = 0; times < 5; times++) {
      socket.send(replayed, 5405, target);
      socket.send(forged, 5405, target);
      socket.send(Buffer.from('x'), 5405, target);
    }
    await pause(1500);
    socket.close();
    const after = await active.status();
    expect(after.rejected.forged - before.rejected.forged).toBe(5);
    expect(after.rejected.malformed - before.rejected.malformed).toBe(5);
    const path = after.peers[0]!.paths.m1!;
    expect(path.reordered).toBeGreaterThanOrEqual(5);
    for (const each of lab.instances) expect(each.statesSince(since)).toEqual([]);
    expect(other!.state).toBe('STANDBY');
  });
});

describeWith(['netns'], 'groups of three and four', () => {
  const labs: HaLab[] = [];
  const create = async (instances: readonly string[]): Promise<HaLab> => {
    const lab = await HaLab.create({ instances });
    labs.push(lab);
    return lab;
  };
  afterAll(async () => {
    for (const lab of labs) await lab.close();
  });

  it('24, 25, 5: three start at once; active and first in rank killed; a target that dies after READY', async () => {
    const lab = await create(['a', 'b', 'c']);
    // Processes start at different speeds; what counts is the time from when the last listens.
    for (const each of lab.instances) each.launch();
    await Promise.all(
      lab.instances.map((each) => each.waitFor(({ event }) => event === 'ready', 10_000, 'ready')),
    );
    const ready = Math.max(
      ...lab.instances.map((each) => each.lines.find(({ event }) => event === 'ready')!.at),
    );
    await lab.settle();
    const actives = lab.instances.flatMap((each) =>
      each.lines.filter((line) => line.event === 'state' && line['to'] === 'ACTIVE').map(({ at }) => at),
    );
    expect(actives).toHaveLength(1);
    within('24', 'one active', actives[0]! - ready, 2200);

    const { active } = lab;
    const [last, first] = [...lab.others].sort((x, y) => (x.name < y.name ? -1 : 1));
    const killed = now();
    active.process?.signal('SIGKILL');
    first!.process?.signal('SIGKILL');
    within('25', 'last one serves', (await becomesActive(last!, killed)).at - killed, 1800);
    await pause(200);
    within('25', 'outage of the client', (await lab.sight(killed - 50)).outageMs, 1800);

    await lab.settle();
    const leaving = lab.active;
    const [third, target] = [...lab.others].sort((x, y) => (x.name < y.name ? -1 : 1));
    // RELINQUISH (kind 3, fifth byte of the payload) never reaches the target, which dies after its READY.
    for (const port of Object.values(target!.ports)) {
      await lab.lose(port, { match: 'udp dport 5405 @th,96,8 3', direction: 'to_host' });
    }
    const since = now();
    leaving.process?.signal('SIGTERM');
    await leaving.waitFor(
      (line) => line.event === 'state' && line['to'] === 'HANDOVER' && line.at >= since,
      1000,
      'HANDOVER',
    );
    await pause(50);
    expect(await leaving.host.holds(VIP)).toBe(false);
    target!.process?.signal('SIGKILL');
    await becomesActive(third!, since);
    await pause(300);
    within('5', 'outage of the client', (await lab.sight(since - 50)).outageMs, 1500);
  }, 60_000);

  it('26: four, split two and two, healed: one owner', async () => {
    const lab = await create(['a', 'b', 'c', 'd']);
    await lab.settle();
    const { active } = lab;
    const [left] = lab.others;
    const since = now();
    const right = lab.others.filter((each) => each !== left);
    // What comes from the other side is dropped at the ports of one side.
    const addresses = (each: Instance) => {
      const number = lab.instances.indexOf(each) + 1;
      return [`10.1.0.${number}`, `10.2.0.${number}`, `198.51.100.${number}`];
    };
    const foes = right.flatMap(addresses).join(', ');
    for (const each of [active, left!]) {
      for (const port of Object.values(each.ports)) {
        await lab.lose(port, { match: `udp dport 5405 ip saddr { ${foes} }`, direction: 'to_host' });
        await lab.lose(port, { match: `udp dport 5405 ip daddr { ${foes} }`, direction: 'from_host' });
      }
    }
    await Promise.race(right.map((each) => becomesActive(each, since)));
    await pause(700);
    expect(await holders(lab)).toHaveLength(2);
    const healed = now();
    await lab.heal();
    while ((await holders(lab)).length !== 1) {
      expect(now() - healed).toBeLessThan(5000);
      await pause(20);
    }
    within('26', 'one owner', now() - healed, 1000);
    expect(right.map(({ name }) => name)).toContain((await holders(lab))[0]);
  }, 60_000);

  it('2: with 32 aliases all move', async () => {
    const vips = Array.from({ length: 32 }, (_, index) => `198.51.100.${20 + index}`);
    const lab = await HaLab.create({ instances: ['a', 'b'], vips, clientEveryMs: 40 });
    labs.push(lab);
    await lab.settle();
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    active.process?.signal('SIGKILL');
    await becomesActive(other!, since);
    await pause(400);
    const sight = await lab.sight(since - 100);
    within('2', 'worst outage of 32 addresses', sight.outageMs, 1300);
    expect(sight.owners.at(-1)).toBe(other!.name);
    const held = await other!.host.addresses();
    expect(vips.every((vip) => held.some(({ address, prefix }) => address === vip && prefix === 32))).toBe(
      true,
    );
  }, 60_000);
});
