import type { Instance } from '../fixtures/ha/ha-lab';
import { HaLab, VIP, now, pause, within } from '../fixtures/ha/ha-lab';
import { describeWith } from '../fixtures/needs';

const becomes = (
  instance: Instance,
  state: string,
  since: number,
  withinMs = 6000,
): Promise<{ at: number }> =>
  instance.waitFor(
    (line) => line.event === 'state' && line['to'] === state && line.at >= since,
    withinMs,
    state,
  );

/** Watches who holds the VIP until it is told to stop; more than one at once is written down. */
function watchHolders(lab: HaLab): { stop: () => Promise<readonly string[]> } {
  const doubles: string[] = [];
  const stopped = new AbortController();
  const done = (async () => {
    while (!stopped.signal.aborted) {
      const held = await Promise.all(lab.instances.map((each) => each.host.holds(VIP)));
      if (held.filter(Boolean).length > 1) doubles.push(String(now()));
      await pause(10);
    }
  })();
  return {
    stop: async () => {
      stopped.abort();
      await done;
      return doubles;
    },
  };
}

describeWith(['netns'], 'a group of two with a witness, strict', () => {
  let lab: HaLab;
  beforeAll(async () => {
    lab = await HaLab.create({ instances: ['a', 'b'], settings: { witness: 'strict' } });
  }, 30_000);
  beforeEach(() => lab.settle(), 30_000);
  afterAll(() => lab.close());

  it('11: all heartbeats cut: one owner only', async () => {
    const { active } = lab;
    const since = now();
    const watch = watchHolders(lab);
    await lab.cutHeartbeats(active);
    await pause(6000);
    expect(await watch.stop()).toEqual([]);
    expect(lab.active).toBe(active);
    expect((await lab.sight(since)).outageMs).toBeLessThan(50);
  });

  it('32: the witness cut from the active: VIP off, takeover, never two', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const watch = watchHolders(lab);
    const since = now();
    await lab.lose(active.ports.service, { match: 'udp dport 9042' });
    const gone = active.vipGoneAfter(since);
    within('32', 'takeover', (await becomes(other!, 'ACTIVE', since)).at - since, 3800);
    within('32', 'VIP off', await gone, 2100);
    expect(await watch.stop()).toEqual([]);
  });

  it('33: the witness gone for all: VIP off', async () => {
    const { active } = lab;
    const since = now();
    await lab.lose(lab.witnessPort!);
    within('33', 'VIP off, strict', await active.vipGoneAfter(since), 2100);
    await lab.heal();
    const back = now();
    await lab.servedBy(() => true, back, 5000);
  });

  it('34: the answer to a compare-and-set lost: never two, resolved', async () => {
    const { active } = lab;
    const watch = watchHolders(lab);
    const since = now();
    lab.witness?.write('{"dropReplies":1}\n');
    const [, row] = await lab.witness!.waitFor(/dropped":\{[^}]*"seq":(\d+)/);
    const dropped = now();
    // Resolved: a later write of the same owner has gone through.
    while (((await active.status()).witness?.heldForMs ?? 0) < 2600) {
      expect(now() - dropped).toBeLessThan(3000);
      await pause(20);
    }
    within('34', 'resolved', now() - dropped, 1000);
    expect(Number(row)).toBeGreaterThan(0);
    await pause(1500);
    expect(await watch.stop()).toEqual([]);
    for (const each of lab.instances) expect(each.statesSince(since)).toEqual([]);
  });

  it('1 with a witness: SIGKILL of the active', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const watch = watchHolders(lab);
    const since = now();
    active.process?.signal('SIGKILL');
    within('1w', 'takeover', (await becomes(other!, 'ACTIVE', since)).at - since, 3800);
    expect(await watch.stop()).toEqual([]);
  });

  it('SIGTERM: a planned hand-over passes the row on and costs no more than without', async () => {
    const { active } = lab;
    const since = now();
    active.process?.signal('SIGTERM');
    await active.waitFor((line) => line.event === 'left', 3000, 'left');
    await pause(300);
    within('SIGTERM w', 'outage of the client', (await lab.sight(since)).outageMs, 50);
  });
});

describeWith(['netns'], 'a group of two with a witness, failsafe', () => {
  let lab: HaLab;
  beforeAll(async () => {
    lab = await HaLab.create({ instances: ['a', 'b'], settings: { witness: 'failsafe' } });
  }, 30_000);
  beforeEach(() => lab.settle(), 30_000);
  afterAll(() => lab.close());

  it('33: the witness gone for all: unchanged while the peer acknowledges, and without it the VIP goes', async () => {
    const { active } = lab;
    const since = now();
    await lab.lose(lab.witnessPort!);
    await pause(6000);
    for (const each of lab.instances) expect(each.statesSince(since)).toEqual([]);
    expect((await lab.sight(since)).outageMs).toBeLessThan(50);
    expect(active.alarmsSince(since).map(({ name }) => name)).toContain('witness_unknown');
    const cut = now();
    await lab.cutHeartbeats(active);
    within('33', 'VIP off without witness and peer, failsafe', await active.vipGoneAfter(cut), 2600);
  });
});
