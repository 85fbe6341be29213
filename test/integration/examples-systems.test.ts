import type { SystemConfig } from '../../plugin/config/types';
import { ExampleTrial } from '../fixtures/lab/example-trial';
import { describeWith } from '../fixtures/needs';

// Several programs start in each test, on a machine that may be busy.
jest.setTimeout(120_000);

describeWith(['netns'], 'the example', () => {
  let trial: ExampleTrial;
  afterEach(async () => {
    await trial.close();
  });

  const siteAddresses = (system: SystemConfig): string[] =>
    Object.values(system.sites).flatMap(({ nodes }) =>
      nodes.map(({ uri }) => uri.replace(/^sip:|:\d+$/g, '')),
    );

  it.each(['dual-version', 'dual-version-sites'])(
    '%s sends each account to the system that has it',
    async (name) => {
      trial = await ExampleTrial.start(name, [
        ['1002', '--kind', 'account', '--system', 'target'],
        ['+12025550123', '--kind', 'did', '--system', 'target', '--account', '1002'],
      ]);
      const { source, target } = trial.installation.instances[0]!.config.systems as Record<
        'source' | 'target',
        SystemConfig
      >;
      const old = await trial.installation.phone('1001');
      const moved = await trial.installation.phone('1002');
      expect(siteAddresses(source)).toContain((await trial.carry(old, trial.entryOf())).agent.address);
      const home = await trial.carry(moved, trial.entryOf());
      expect(siteAddresses(target)).toContain(home.agent.address);
      // A vendor's call to the DID rings where its account is.
      const vendor = await trial.installation.vendor('192.0.2.5');
      const call = await vendor.call('sip:+12025550123@198.51.100.10', trial.entryOf());
      expect(await trial.installation.calledSite()).toBe(home);
      await home.agent.nextCall();
      expect(await call.bye()).toBe(200);
      await trial.failOver(moved, trial.entryOf());
      if (name === 'dual-version-sites') await trial.loseSite(moved, trial.entryOf());
    },
  );

  it('did-provider brings each vendor’s call to the system that has the DID, and knows no others', async () => {
    trial = await ExampleTrial.start('did-provider', [
      ['+12025550101', '--kind', 'did', '--system', 'north'],
      ['+12025550102', '--kind', 'did', '--system', 'south'],
      ['+12025550103', '--kind', 'did', '--system', 'reseller'],
      ['1001', '--kind', 'account', '--system', 'south'],
    ]);
    const a = await trial.installation.vendor('192.0.2.5');
    const b = await trial.installation.vendor('192.0.2.70');
    for (const [vendor, number, site] of [
      [a, '+12025550101', '198.51.100.21'],
      [a, '+12025550102', '198.51.100.22'],
      [b, '12025550103', '203.0.113.21'],
    ] as const) {
      const call = await vendor.call(`sip:${number}@198.51.100.10`, trial.entryOf());
      const called = await trial.installation.calledSite();
      expect(called.agent.address).toBe(site);
      await called.agent.nextCall();
      expect(await call.bye()).toBe(200);
    }
    await expect(a.call('sip:+12025550199@198.51.100.10', trial.entryOf())).rejects.toThrow('404');
    await trial.failOver(await trial.installation.phone('1001'), trial.entryOf());
  });
});
