import type { Instance } from '../fixtures/ha/ha-lab';
import { HaLab, VIP, now, pause, within } from '../fixtures/ha/ha-lab';
import { describeWith } from '../fixtures/needs';

describeWith(['netns'], 'a group whose instances crash, stall and end', () => {
  let lab: HaLab;
  beforeAll(async () => {
    lab = await HaLab.create({ instances: ['a', 'b'] });
  }, 30_000);
  beforeEach(() => lab.settle(), 30_000);
  afterAll(() => lab.close());

  const takesOver = async (
    other: Instance,
    since: number,
    boundMs: number,
    scenario: string,
  ): Promise<void> => {
    await other.waitFor(
      (line) => line.event === 'state' && line['to'] === 'ACTIVE' && line.at >= since,
      3000,
      'ACTIVE',
    );
    await pause(300);
    const sight = await lab.sight(since - 100);
    expect(sight.owners.at(-1)).toBe(other.name);
    within(scenario, 'outage of the client', sight.outageMs, boundMs);
  };

  it('1: SIGKILL of the active: the other serves, and the VIP goes from the killed host by itself', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const killed = now();
    active.process?.signal('SIGKILL');
    const gone = active.vipGoneAfter(killed);
    await takesOver(other!, killed, 1300, '1');
    within('1', 'VIP gone from the killed host', await gone, 1100);
  });

  it('H31: a killed active that starts again removes what it left before its first heartbeat and joins as standby', async () => {
    const { active } = lab;
    const [other] = lab.others;
    active.process?.signal('SIGKILL');
    await active.process?.ended();
    // A program takes its time to start on a busy machine: what it left must still be there.
    await active.host.ip(`address replace ${VIP}/32 dev eth0 valid_lft 30 preferred_lft 30`);
    active.launch();
    await active.waitFor((line) => line.event === 'state' && line['to'] === 'STANDBY', 5000, 'STANDBY');
    expect(active.lines.some((line) => line['message'] === 'leftover addresses removed')).toBe(true);
    expect(await active.host.holds(VIP)).toBe(false);
    expect(other!.state).toBe('ACTIVE');
    expect(active.statesSince(0)).toEqual(['STANDBY']);
  });

  it('SIGTERM: hands over, then ends; the client hardly notices', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    active.process?.signal('SIGTERM');
    const left = await active.waitFor((line) => line.event === 'left', 3000, 'left');
    expect(left['done']).toBe(true);
    await takesOver(other!, since, 50, 'SIGTERM');
    await active.process?.ended();
    expect(active.process?.exitCode).toBe(0);
  });

  it('4: SIGTERM without a peer: the VIP is removed and the process ends', async () => {
    const { active } = lab;
    for (const other of lab.others) other.process?.signal('SIGKILL');
    await pause(1300);
    const since = now();
    active.process?.signal('SIGTERM');
    await active.process?.ended();
    within('4', 'exit', now() - since, 1000);
    expect(active.process?.exitCode).toBe(0);
    expect(await active.host.holds(VIP)).toBe(false);
  });

  it('6: the whole host of the active gone', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    await active.host.ip('link set eth0 down', 'link set eth1 down', 'link set eth2 down');
    await takesOver(other!, since, 1300, '6');
    await active.host.ip('link set eth0 up', 'link set eth1 up', 'link set eth2 up');
  });

  it('17: the main thread of the active blocked for 0.5 s changes nothing', async () => {
    const { active } = lab;
    const since = now();
    active.order('block', { ms: 500 });
    await pause(2500);
    expect(lab.active).toBe(active);
    for (const each of lab.instances) expect(each.statesSince(since)).toEqual([]);
  });

  it('18: blocked for 3 s it loses the VIP, the other serves, and it returns as standby', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    active.order('block', { ms: 3000 });
    const gone = active.vipGoneAfter(since);
    await takesOver(other!, since, 1300, '18');
    within('18', 'VIP off', await gone, 1000);
    // Main is blocked, so its lines come when it runs again.
    await active.waitFor(
      (line) => line.event === 'state' && line['to'] === 'STANDBY' && line.at >= since + 2900,
      3000,
      'STANDBY',
    );
    const [first] = active.lines.filter(({ event, at }) => event === 'state' && at >= since);
    const happened = (first?.at ?? 0) - Number(first?.['lateMs']) - since;
    expect([first?.['from'], happened > 700 && happened < 1100, happened]).toEqual([
      'ACTIVE',
      true,
      happened,
    ]);
    expect(other!.state).toBe('ACTIVE');
  });

  it('19: stopped for 5 s, it serves nothing of what queued meanwhile and returns as standby', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    active.process?.signal('SIGSTOP');
    const gone = active.vipGoneAfter(since);
    await takesOver(other!, since, 1300, '19');
    within('19', 'VIP off', await gone, 1100);
    await pause(5000 - (now() - since));
    const woken = now();
    active.process?.signal('SIGCONT');
    await active.waitFor(
      (line) => line.event === 'state' && line['to'] === 'STANDBY' && line.at >= woken,
      3000,
      'STANDBY',
    );
    expect(other!.state).toBe('ACTIVE');
    // What the client sent before the lease ended waited in its socket, and was not answered after waking.
    const refused = await active.ask('refused', 'refused');
    expect(refused['count']).toBeGreaterThan(0);
    const sight = await lab.sight(woken);
    expect(sight.owners).toEqual([other!.name]);
  });

  it('20: a standby blocked or stopped for 3 s does not claim', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    other!.order('block', { ms: 3000 });
    await pause(3500);
    const stopped = now();
    other!.process?.signal('SIGSTOP');
    await pause(3000);
    other!.process?.signal('SIGCONT');
    await pause(2500);
    expect(lab.active).toBe(active);
    expect(active.statesSince(since)).toEqual([]);
    expect(other!.statesSince(stopped)).not.toContain('ACTIVE');
  });

  it('21: a wall clock moved by an hour, ahead and back, changes nothing', async () => {
    const since = now();
    for (const each of lab.instances) each.order('clock', { ms: 3_600_000 });
    await pause(1500);
    for (const each of lab.instances) each.order('clock', { ms: -7_200_000 });
    await pause(1500);
    for (const each of lab.instances) expect(each.statesSince(since)).toEqual([]);
  });

  it('22: a VIP deleted by somebody is back, here or at the peer', async () => {
    const { active } = lab;
    const since = now();
    await active.host.ip(`address del ${VIP}/32 dev eth0`);
    const sight = await lab.servedBy(() => true, since + 100, 3000);
    expect(sight.owners.length).toBeGreaterThan(0);
    await pause(1300);
    within('22', 'outage of the client', (await lab.sight(since - 100)).outageMs, 1300);
  });

  it('23: a leftover VIP is removed before the first heartbeat', async () => {
    const { active } = lab;
    const [other] = lab.others;
    other!.process?.signal('SIGKILL');
    await other!.process?.ended();
    await other!.host.ip(`address add ${VIP}/32 dev eth0 valid_lft 60 preferred_lft 60`);
    const capture = await active.host.capture('udp port 5405 and src net 10.1.0.0/24', 'eth1');
    const since = now();
    other!.launch();
    const gone = await other!.vipGoneAfter(since);
    const goneAt = Date.now() / 1000;
    await other!.waitFor((line) => line.event === 'ready', 5000, 'ready');
    await pause(600);
    const name = other!.host.name === 'a' ? '10.1.0.1' : '10.1.0.2';
    const first = (await capture.packets()).find((packet) => packet.source === name);
    expect(first).toBeDefined();
    // Seen to be gone by polling, hence a little late.
    expect(first!.time).toBeGreaterThan(goneAt - 0.06);
    expect(gone).toBeLessThan(5000);
    expect(active.state).toBe('ACTIVE');
  });

  it('28: an old active that returns does not switch, and is announced against', async () => {
    const { active } = lab;
    const [other] = lab.others;
    active.process?.signal('SIGKILL');
    await other!.waitFor((line) => line.event === 'state' && line['to'] === 'ACTIVE', 3000, 'ACTIVE');
    await pause(3000);
    const capture = await lab.client.capture('arp', 'eth0');
    const since = now();
    active.launch();
    await active.waitFor((line) => line.event === 'state' && line['to'] === 'STANDBY', 5000, 'STANDBY');
    // Ethernet frames of ARP are given by their bytes: both forms, after its return.
    expect((await capture.packets()).length).toBeGreaterThanOrEqual(2);
    expect(other!.statesSince(since)).toEqual([]);
    expect(lab.active).toBe(other);
  });

  it('29: when the SIP server of the active fails it hands over', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const since = now();
    active.order('sip', { healthy: false });
    await other!.waitFor(
      (line) => line.event === 'state' && line['to'] === 'ACTIVE' && line.at >= since,
      3000,
      'ACTIVE',
    );
    within('29', 'hand-over', now() - since, 1000);
    await active.waitFor((line) => line.event === 'state' && line['to'] === 'FAULT', 1000, 'FAULT');
    active.order('sip', { healthy: true });
  });

  it('38: a standby that tries to send from the VIP is refused by the kernel', async () => {
    const [other] = lab.others;
    const sent = await other!.ask('send', 'sent', { host: '198.51.100.100', port: 9999 });
    expect(sent['code']).toBe('ENETUNREACH');
  });
});
