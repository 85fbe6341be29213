import { ExampleTrial } from '../fixtures/lab/example-trial';
import type { ScriptedSite } from '../fixtures/lab/scripted-site';
import { describeWith } from '../fixtures/needs';

// Several programs start in each test, on a machine that may be busy.
jest.setTimeout(120_000);

describeWith(['netns'], 'the example', () => {
  let trial: ExampleTrial;
  afterEach(async () => {
    await trial.close();
  });

  it('single-server carries a registration and a call in each direction', async () => {
    trial = await ExampleTrial.start('single-server');
    await trial.carry(await trial.installation.phone('1001'), trial.entryOf());
  });

  it('two-vips serves through both at once, to the same site, and each survives its active instance', async () => {
    trial = await ExampleTrial.start('two-vips');
    expect((await trial.installation.active()).size).toBe(2);
    const phone = await trial.installation.phone('1001');
    const site = await trial.carry(phone, trial.entryOf(0, 0));
    expect(await trial.carry(phone, trial.entryOf(0, 2))).toBe(site);
    await trial.failOver(phone, trial.entryOf(0, 0));
    await trial.loseSite(phone, trial.entryOf(0, 2));
  });

  it('aliases serves every old address like the VIP, and calls phones from where they registered', async () => {
    trial = await ExampleTrial.start('aliases');
    const phone = await trial.installation.phone('1001');
    const sites = new Set<ScriptedSite>();
    for (const index of [0, 1, 2]) {
      sites.add(await trial.carry(phone, trial.entryOf(index)));
      expect(phone.calls.at(-1)?.invite?.from.address).toBe(trial.entryOf(index).address);
    }
    expect(sites.size).toBe(1);
    await trial.failOver(phone, trial.entryOf(1));
    await trial.loseSite(phone, trial.entryOf(2));
  });

  it.each([
    ['udp', 4],
    ['tcp', 4],
    ['udp', 6],
    ['tcp', 6],
  ] as const)('all-transports carries calls over %s and IPv%d', async (transport, family) => {
    trial = await ExampleTrial.start('all-transports');
    const entry = { ...trial.entryOf(family === 4 ? 0 : 1), transport };
    await trial.carry(await trial.installation.phone('1001', transport, family), entry);
  });
});
