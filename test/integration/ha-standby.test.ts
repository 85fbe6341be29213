import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { now, pause } from '../fixtures/ha/ha-lab';
import { ProgramLab } from '../fixtures/ha/program-lab';
import type { ProgramInstance, ServerKind } from '../fixtures/ha/program-lab';
import type { Need } from '../fixtures/needs';
import { describeWith } from '../fixtures/needs';

const untilTrue = async (
  what: string,
  wanted: () => Promise<boolean> | boolean,
  withinMs: number,
): Promise<number> => {
  const since = now();
  while (!(await wanted())) {
    if (now() - since > withinMs) throw new Error(`${what}: not within ${withinMs} ms`);
    await pause(20);
  }
  return now() - since;
};
const logged = (instance: ProgramInstance, from: number, text: string): boolean =>
  (instance.process?.since(from) ?? '').includes(text);

const KINDS: readonly (readonly [ServerKind, readonly Need[]])[] = [
  ['embedded', ['netns']],
  ['drachtio', ['netns', 'drachtio']],
];

for (const [kind, needs] of KINDS) {
  describeWith(needs, `the SIP server of an instance that hangs, ${kind} server`, () => {
    let lab: ProgramLab;
    beforeAll(async () => {
      lab = await ProgramLab.create(['a', 'b'], kind);
      await lab.settle();
    }, 60_000);
    afterAll(() => lab.close());

    /** What comes from this machine itself does not reach the SIP server: the control connection lives, phones are served. */
    const deafen = (instance: ProgramInstance): Promise<void> =>
      instance.host.nft(
        'table inet deaf { chain input { type filter hook input priority 0; iif lo udp dport 5060 drop; }; }',
      );
    const cure = (instance: ProgramInstance): Promise<void> => instance.host.nft('delete table inet deaf');
    const UNANSWERED = 'the SIP server does not answer OPTIONS at its own address';

    it('OPTIONS to the own VIP unanswered: hands over to a healthy standby, and stays when there is none', async () => {
      const { active } = lab;
      const [other] = lab.others;
      const marks = [active.process!.printed, other!.process!.printed] as const;
      await pause(1500);
      // It asks all the time, and does not fill the log with it.
      expect(active.process!.output).not.toContain('"method":"OPTIONS"');
      await deafen(active);
      const took = await untilTrue('the other is active', () => other!.state === 'ACTIVE', 8000);
      expect(took).toBeGreaterThan(2000);
      // What it logged may come later than what the other did.
      await untilTrue('it said why', () => logged(active, marks[0], UNANSWERED), 3000);
      await untilTrue('the group too', () => logged(active, marks[0], 'the SIP server is not healthy'), 3000);
      await untilTrue('the former active is unfit', () => active.state === 'FAULT', 2000);

      // Now nobody is better: it stays and says so.
      await deafen(other!);
      await untilTrue('it is noticed', () => logged(other!, marks[1], UNANSWERED), 8000);
      await untilTrue(
        'it is said',
        () => /"alarm":"degraded"[^\n]*raised/.test(other!.process!.since(marks[1])),
        2000,
      );
      await pause(1500);
      expect(other!.state).toBe('ACTIVE');
      const register = await lab.phone.request({ method: 'REGISTER' });
      expect((await register.final(8000)).message.status).toBe(200);
      await cure(other!);
      await untilTrue(
        'the alarm ends',
        () => /"alarm":"degraded"[^\n]*cleared/.test(other!.process!.since(marks[1])),
        5000,
      );
      await cure(active);
    }, 60_000);

    if (kind === 'drachtio') {
      it('SIGSTOP of drachtio-server: hands over, and is fit again when it runs', async () => {
        for (const each of lab.instances) await each.crash();
        await lab.settle();
        const { active } = lab;
        const [other] = lab.others;
        const mark = active.process!.printed;
        active.server?.signal('SIGSTOP');
        await untilTrue('the other is active', () => other!.state === 'ACTIVE', 8000);
        // The control connection is given up by its ping, and made anew.
        await untilTrue('the connection is lost', () => logged(active, mark, 'SIP server lost'), 15_000);
        active.server?.signal('SIGCONT');
        await untilTrue('fit again', () => active.state === 'STANDBY', 20_000);
        expect(other!.state).toBe('ACTIVE');
      }, 60_000);
    }
  });
}

describeWith(['netns'], 'what a standby follows', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-standby-'));
  const [gained, lost] = [join(folder, 'active'), join(folder, 'standby')];
  let lab: ProgramLab;
  beforeAll(async () => {
    const node = (last: number) => ({ nodes: [{ uri: `sip:198.51.100.${last}:5060` }] });
    lab = await ProgramLab.create(['a', 'b'], 'embedded', {
      systems: { source: { sites: { main: node(50), spare: node(51) } } },
      admin: { enabled: true },
      ha: { on_active: ['touch', gained], on_standby: ['touch', lost] },
    });
    await lab.settle();
  }, 60_000);
  afterAll(async () => {
    await lab.close();
    rmSync(folder, { recursive: true });
  });
  const isInMaintenance = async (instance: ProgramInstance): Promise<boolean> =>
    /spare[^\n]*maintenance/.test(await instance.dsbc('site', 'list'));
  const invalidated = async (instance: ProgramInstance): Promise<number> => {
    const script = "fetch('http://127.0.0.1:8090/v1/cache').then((r) => r.text()).then(console.log)";
    const { stdout } = await instance.host.run(process.execPath, ['-e', script]);
    return Number(/"invalidated":(\d+)/.exec(stdout)?.[1]);
  };

  it('operator states within 2 s, over a takeover and a restart, although every registry is its own', async () => {
    const { active } = lab;
    const [other] = lab.others;
    // What is said to a standby would not reach the active.
    await expect(other!.dsbc('site', 'maintenance', 'source/spare')).rejects.toThrow(
      `say it on ${active.name}, which is active`,
    );
    await active.dsbc('site', 'maintenance', 'source/spare');
    await untilTrue('the standby knows', () => isInMaintenance(other!), 2000);
    await active.crash();
    await lab.becomesActive(other!, 5000);
    expect(await isInMaintenance(other!)).toBe(true);
    await lab.settle();
    // Its registry is empty: it has it from the other.
    await untilTrue('the restarted one knows', () => isInMaintenance(active), 2000);
  }, 60_000);

  it('drops of the cache: what the active drops, the standby drops', async () => {
    const { active } = lab;
    const [other] = lab.others;
    const before = await invalidated(other!);
    const event = {
      event_type: 'Account/New',
      variables: { i_event: 1, system: 'source', account: '1001' },
    };
    await active.host.run(process.execPath, [
      '-e',
      `fetch('http://127.0.0.1:8090/espf/events', {
         method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(JSON.stringify(event))},
       }).then((r) => { if (!r.ok) throw new Error(String(r.status)); })`,
    ]);
    await untilTrue('the standby has dropped', async () => (await invalidated(other!)) > before, 2000);
  }, 60_000);

  it('runs on_active and on_standby', async () => {
    expect(existsSync(gained)).toBe(true);
    const [other] = lab.others;
    await lab.active.dsbc('handover');
    await lab.becomesActive(other!, 5000);
    await untilTrue('on_standby', () => existsSync(lost), 2000);
  }, 30_000);
});
