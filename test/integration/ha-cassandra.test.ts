import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder, startCassandra } from '../fixtures/cassandra/server';
import type { CassandraServer } from '../fixtures/cassandra/server';
import { VIP, now, pause, within } from '../fixtures/ha/ha-lab';
import { ProgramLab } from '../fixtures/ha/program-lab';
import type { ProgramInstance } from '../fixtures/ha/program-lab';
import { describeWith } from '../fixtures/needs';

const CASSANDRA = '198.51.100.200';

/** Two whole programs with a real Cassandra as registry and witness, on the service network of their lab. */
describeWith(['netns', 'cassandra'], 'the whole program with Cassandra as witness', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-ha-cassandra-'));
  let lab: ProgramLab;
  let cassandra: CassandraServer;
  const configWith = (on_loss: 'strict' | 'failsafe') => ({
    registry: {
      driver: 'cassandra',
      contact_points: [`${CASSANDRA}:9042`],
      local_datacenter: 'datacenter1',
      replication: { datacenter1: 1 },
    },
    ha: { witness: { on_loss } },
  });

  beforeAll(async () => {
    lab = await ProgramLab.create(['a', 'b'], 'embedded', configWith('strict'));
    const host = await lab.lab.host('cassandra');
    await lab.service.attach(host, { addresses: [`${CASSANDRA}/24`] });
    cassandra = await startCassandra({
      folder,
      host: CASSANDRA,
      port: 9042,
      namespace: host.namespace,
    });
    await lab.instances[0]!.dsbc('registry', 'init');
  }, 240_000);

  afterAll(async () => {
    await cassandra.stop();
    await lab.close();
    removeFolder(folder);
  }, 30_000);

  const printed = async (instance: ProgramInstance, pattern: RegExp, from: number, withinMs: number) => {
    const since = now();
    while (!pattern.test(instance.process?.since(from) ?? '')) {
      if (now() - since > withinMs) throw new Error(`${instance.name} has not logged ${String(pattern)}`);
      await pause(10);
    }
    return now() - since;
  };
  const vipGone = async (instance: ProgramInstance, since: number): Promise<number> => {
    while (await instance.host.holds(VIP)) {
      if (now() - since > 20_000) throw new Error(`${instance.name} keeps the VIP`);
      await pause(5);
    }
    return now() - since;
  };
  const holders = async (): Promise<number> =>
    (await Promise.all(lab.instances.map(({ host }) => host.holds(VIP)))).filter(Boolean).length;

  it('strict: SIGKILL of the active, then Cassandra stopped: never two, the VIP goes, and service is back with Cassandra', async () => {
    await lab.settle();
    const { active } = lab;
    const [other] = lab.others;
    const killed = now();
    await active.crash();
    await lab.becomesActive(other!, 6000);
    within('1 Cassandra', 'takeover', now() - killed, 3800);
    await lab.settle();

    const mark = other!.process!.printed;
    const stopped = now();
    await cassandra.signal('SIGSTOP');
    within('33 Cassandra', 'VIP off, strict', await vipGone(other!, stopped), 2100);
    await printed(other!, /the witness was not renewed in time/, mark, 1000);
    // Nobody else takes it either.
    for (let looks = 0; looks < 20; looks += 1) {
      expect(await holders()).toBe(0);
      await pause(100);
    }
    await cassandra.signal('SIGCONT');
    await lab.settle();
    expect(await holders()).toBe(1);
  }, 120_000);

  it('failsafe: Cassandra stopped and back changes nothing but an alarm', async () => {
    for (const each of lab.instances) {
      each.process?.signal('SIGTERM');
      await each.process?.ended();
    }
    lab.configure(configWith('failsafe'));
    await lab.settle();
    const { active } = lab;
    const [other] = lab.others;
    const marks = new Map(lab.instances.map((each) => [each, each.process!.printed]));
    const mark = marks.get(active)!;
    await cassandra.signal('SIGSTOP');
    await printed(active, /"alarm":"witness_unknown"[^\n]*raised/, mark, 8000);
    await pause(5000);
    expect(await active.host.holds(VIP)).toBe(true);
    expect(await other!.host.holds(VIP)).toBe(false);
    const register = await lab.phone.request({ method: 'REGISTER' });
    expect((await register.final(8000)).message.status).toBe(200);
    await cassandra.signal('SIGCONT');
    await printed(active, /"alarm":"witness_unknown"[^\n]*cleared/, mark, 15_000);
    await pause(2000);
    for (const [each, from] of marks) expect(each.process!.since(from)).not.toContain('group state');
    expect(lab.active).toBe(active);
  }, 120_000);
});
