import { ExampleTrial } from '../fixtures/lab/example-trial';
import { describeWith } from '../fixtures/needs';

// Several programs start in each test, on a machine that may be busy.
jest.setTimeout(120_000);

describeWith(['netns'], 'the example', () => {
  let trial: ExampleTrial;
  afterEach(async () => {
    await trial.close();
  });

  it.each(['70-30', 'main-with-backup'])(
    '%s carries calls, survives its active instance and a site',
    async (name) => {
      trial = await ExampleTrial.start(name);
      const phone = await trial.phoneAt('198.51.100.21', trial.entryOf());
      await trial.carry(phone, trial.entryOf());
      await trial.failOver(phone, trial.entryOf());
      await trial.loseSite(phone, trial.entryOf());
    },
  );

  it('one-vip-two-sites survives the loss of all servers of the main site', async () => {
    trial = await ExampleTrial.start('one-vip-two-sites');
    const phone = await trial.phoneAt('198.51.100.21', trial.entryOf());
    await trial.carry(phone, trial.entryOf());
    await trial.failOver(phone, trial.entryOf());
    for (const { name, program } of trial.installation.instances)
      if (name.includes('main')) await program.kill();
    await trial.untilRegistered(phone, trial.entryOf(), 25_000);
    expect((await trial.installation.untilActive()).get('dsbc')?.name).toMatch(/secondary/);
    await trial.loseSite(phone, trial.entryOf());
  });
});
