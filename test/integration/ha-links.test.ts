import { HaLab, VIP, VIP6, now, pause, within, type Instance } from '../fixtures/ha/ha-lab';
import { describeWith } from '../fixtures/needs';

/** A lost heartbeat link is heard again: its alarm, still raised, would hide the next loss. */
const linkIsBack = (instance: Instance, since: number): Promise<unknown> =>
  instance.waitFor(
    ({ event, at, alarm }) => {
      const { name, on } = (alarm ?? {}) as { name?: string; on?: boolean };
      return event === 'alarm' && at >= since && name === 'link_lost' && on === false;
    },
    3000,
    'the end of link_lost',
  );

describeWith(['netns'], 'a group whose links change', () => {
  let lab: HaLab;
  beforeAll(async () => {
    lab = await HaLab.create({
      instances: ['a', 'b'],
      vips: [VIP, VIP6],
      settings: { serviceInterfaces: ['eth0', 'eth3'] },
    });
    // A second service link that is only counted.
    const spare = await lab.lab.network('spare');
    for (const each of lab.instances) await spare.attach(each.host, { interfaceName: 'eth3' });
  }, 30_000);
  beforeEach(async () => {
    for (const each of lab.instances) {
      await each.ports.service.plugIn();
      await each.host.ip('link set eth0 up', 'link set eth3 up');
    }
    await lab.settle();
  }, 30_000);
  afterAll(() => lab.close());

  it('7: a service link of the active goes down and the peer has more: hand-over', async () => {
    // A hand-over for links comes at the earliest 5 s after the last switch.
    await pause(5000);
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    await active.ports.service.unplug();
    const taken = await other!.waitFor(
      (line) => line.event === 'state' && line['to'] === 'ACTIVE' && line.at >= since,
      2000,
      'ACTIVE',
    );
    within('7', 'hand-over', taken.at - since, 500);
    await pause(200);
    within('7', 'outage of the client', (await lab.sight(since - 100)).outageMs, 500);
  });

  it('8: the same link down on both: no switch in 10 s', async () => {
    await pause(5000);
    const { active } = lab;
    const since = now();
    await Promise.all(lab.instances.map((each) => each.host.ip('link set eth3 down')));
    await pause(10_000);
    expect(lab.active).toBe(active);
    for (const each of lab.instances) expect(each.statesSince(since)).toEqual([]);
  });

  it('9: M1 down changes nothing', async () => {
    const { active } = lab;
    const since = now();
    await active.ports.m1.unplug();
    await pause(3000);
    for (const each of lab.instances) expect(each.statesSince(since)).toEqual([]);
    const healed = now();
    await active.ports.m1.plugIn();
    for (const each of lab.instances) await linkIsBack(each, healed);
    expect((await lab.sight(since)).outageMs).toBeLessThan(50);
  });

  it('10: M1 and M2 down while the service network is up: no change, and an alarm', async () => {
    const { active } = lab;
    const since = now();
    await active.ports.m1.unplug();
    await active.ports.m2.unplug();
    await pause(3000);
    for (const each of lab.instances) {
      expect(each.statesSince(since)).toEqual([]);
      const alarms = each.alarmsSince(since).filter(({ name }) => name === 'link_lost');
      expect(alarms.map(({ about }) => about.split(' ')[0]).sort()).toEqual(['m1', 'm2']);
      within('10', `alarm on ${each === active ? 'the active' : 'the standby'}`, alarms[0]!.at - since, 1200);
    }
    const healed = now();
    await active.ports.m1.plugIn();
    await active.ports.m2.plugIn();
    for (const each of lab.instances) await linkIsBack(each, healed);
  });

  it('30: an IPv6 VIP is usable although the old owner still holds it', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    active.process?.signal('SIGSTOP');
    await other!.waitFor(
      (line) => line.event === 'state' && line['to'] === 'ACTIVE' && line.at >= since,
      3000,
      'ACTIVE',
    );
    const { stdout } = await other!.host.run('ip', ['-6', 'address', 'show', 'dev', 'eth0']);
    expect(stdout).toContain(VIP6);
    expect(stdout).not.toMatch(/dadfailed|tentative/);
    await pause(300);
    within('30', 'outage of the client (IPv4 and IPv6)', (await lab.sight(since - 100)).outageMs, 1300);
    active.process?.signal('SIGCONT');
  });

  it('31: the interface of the active set down and up, alone: the IPv6 VIP is back and announced', async () => {
    const { active } = lab;
    const [other] = lab.others;
    other!.process?.signal('SIGKILL');
    await pause(1200);
    await active.host.ip('link set eth0 down');
    await pause(300);
    const since = now();
    await active.host.ip('link set eth0 up');
    const capture = await lab.client.capture('icmp6 and ip6[40] == 136', 'eth0');
    while (!(await active.host.holds(VIP6))) await pause(5);
    within('31', 'IPv6 VIP back', now() - since, 1000);
    await lab.servedBy((name) => name === active.name, since, 3000);
    expect((await capture.packets()).length).toBeGreaterThan(0);
  });
});
