import type { SystemConfig } from '../../plugin/config/types';
import { EXAMPLES, type Example } from '../fixtures/examples';
import { Installation } from '../fixtures/lab/installation';
import type { ScriptedSite } from '../fixtures/lab/scripted-site';
import type { UserAgent } from '../fixtures/lab/user-agent';
import { describeWith } from '../fixtures/needs';
import type { Remote } from '../fixtures/sip-endpoint';

// Several programs start in each test, on a machine that may be busy.
jest.setTimeout(120_000);

const named = (name: string): Example => EXAMPLES.find((each) => each.name === name)!;

/** Every example runs in namespaces as docs/topologies.md says under "Trying an example on one machine". */
describeWith(['netns'], 'the example', () => {
  let installation: Installation;
  afterEach(async () => {
    await installation.close();
  });

  const entryOf = (index = 0, instance = 0): Remote => {
    const { address, port } = installation.instances[instance]!.config.sip_servers[index]!.entry;
    return { address, port, transport: 'udp' };
  };

  /** A registration and a call in each direction, hung up by each side once. The site that served them. */
  const carry = async (phone: UserAgent, entry: Remote): Promise<ScriptedSite> => {
    expect((await phone.register(entry)).message.status).toBe(200);
    const site = installation.siteOf(phone.user);
    const out = await phone.call('sip:+12025550155@example.com', entry);
    const called = await installation.calledSite();
    const far = await called.agent.nextCall();
    expect(await out.bye()).toBe(200);
    await far.untilEnded();
    const into = await site.callPhone(phone.user);
    const own = await phone.nextCall();
    expect(await into.bye()).toBe(200);
    await own.untilEnded();
    // A caller's calls go where it is registered.
    expect(called).toBe(site);
    return site;
  };

  /** Registers again until it works, as a phone does. Milliseconds from now until the answer. */
  const untilRegistered = async (phone: UserAgent, entry: Remote, withinMs: number): Promise<number> => {
    const began = performance.now();
    for (;;) {
      const answer = await phone.register(entry).catch(() => undefined);
      if (answer?.message.status === 200) return performance.now() - began;
      if (performance.now() - began > withinMs) throw new Error(`not registered within ${withinMs} ms`);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  };

  /** Accounts until one is at the wanted site. */
  const phoneAt = async (address: string, entry: Remote): Promise<UserAgent> => {
    const phone = await installation.phone('1001');
    expect((await phone.register(entry)).message.status).toBe(200);
    if (installation.siteOf(phone.user).agent.address === address) return phone;
    for (let user = 1002; user < 1040; user += 1) {
      const other = await installation.phone(String(user));
      expect((await other.register(entry)).message.status).toBe(200);
      if (installation.siteOf(other.user).agent.address === address) return other;
    }
    throw new Error(`no account is at ${address}`);
  };

  /** Kills the active instance of the first group; another one takes the VIP and carries calls. */
  const failOver = async (phone: UserAgent, entry: Remote): Promise<void> => {
    const [group, first] = [...(await installation.active())][0]!;
    await first.program.kill();
    // A phone's REGISTER has a time-out of its own: what is lost meanwhile costs it 8 s at most.
    await untilRegistered(phone, entry, 25_000);
    const next = (await installation.untilActive()).get(group);
    expect(next?.name).not.toBe(first.name);
    await carry(phone, entry);
  };

  /** Silences the phone's site; after the probes have noticed, its requests go to the other one. */
  const loseSite = async (phone: UserAgent, entry: Remote): Promise<void> => {
    const lost = installation.siteOf(phone.user);
    lost.registrations.clear();
    await lost.close();
    await untilRegistered(phone, entry, 25_000);
    expect(installation.siteOf(phone.user)).not.toBe(lost);
  };

  it('single-server carries a registration and a call in each direction', async () => {
    installation = await Installation.start(named('single-server'));
    await carry(await installation.phone('1001'), entryOf());
  });

  it.each(['70-30', 'main-with-backup'])(
    '%s carries calls, survives its active instance and a site',
    async (name) => {
      installation = await Installation.start(named(name));
      const phone = await phoneAt('198.51.100.21', entryOf());
      await carry(phone, entryOf());
      await failOver(phone, entryOf());
      await loseSite(phone, entryOf());
    },
  );

  it('one-vip-two-sites survives the loss of all servers of the main site', async () => {
    installation = await Installation.start(named('one-vip-two-sites'));
    const phone = await phoneAt('198.51.100.21', entryOf());
    await carry(phone, entryOf());
    await failOver(phone, entryOf());
    for (const { name, program } of installation.instances) if (name.includes('main')) await program.kill();
    await untilRegistered(phone, entryOf(), 25_000);
    expect((await installation.untilActive()).get('dsbc')?.name).toMatch(/secondary/);
    await loseSite(phone, entryOf());
  });

  it('two-vips serves through both at once, to the same site, and each survives its active instance', async () => {
    installation = await Installation.start(named('two-vips'));
    expect((await installation.active()).size).toBe(2);
    const phone = await installation.phone('1001');
    const site = await carry(phone, entryOf(0, 0));
    expect(await carry(phone, entryOf(0, 2))).toBe(site);
    await failOver(phone, entryOf(0, 0));
    await loseSite(phone, entryOf(0, 2));
  });

  it('aliases serves every old address like the VIP, and calls phones from where they registered', async () => {
    installation = await Installation.start(named('aliases'));
    const phone = await installation.phone('1001');
    const sites = new Set<ScriptedSite>();
    for (const index of [0, 1, 2]) {
      sites.add(await carry(phone, entryOf(index)));
      expect(phone.calls.at(-1)?.invite?.from.address).toBe(entryOf(index).address);
    }
    expect(sites.size).toBe(1);
    await failOver(phone, entryOf(1));
    await loseSite(phone, entryOf(2));
  });

  const siteAddresses = (system: SystemConfig): string[] =>
    Object.values(system.sites).flatMap(({ nodes }) =>
      nodes.map(({ uri }) => uri.replace(/^sip:|:\d+$/g, '')),
    );

  it.each(['dual-version', 'dual-version-sites'])(
    '%s sends each account to the system that has it',
    async (name) => {
      installation = await Installation.start(named(name), [
        ['1002', '--kind', 'account', '--system', 'target'],
        ['+12025550123', '--kind', 'did', '--system', 'target', '--account', '1002'],
      ]);
      const { source, target } = installation.instances[0]!.config.systems as Record<
        'source' | 'target',
        SystemConfig
      >;
      const old = await installation.phone('1001');
      const moved = await installation.phone('1002');
      expect(siteAddresses(source)).toContain((await carry(old, entryOf())).agent.address);
      const home = await carry(moved, entryOf());
      expect(siteAddresses(target)).toContain(home.agent.address);
      // A vendor's call to the DID rings where its account is.
      const vendor = await installation.vendor('192.0.2.5');
      const call = await vendor.call('sip:+12025550123@198.51.100.10', entryOf());
      expect(await installation.calledSite()).toBe(home);
      await home.agent.nextCall();
      expect(await call.bye()).toBe(200);
      await failOver(moved, entryOf());
      if (name === 'dual-version-sites') await loseSite(moved, entryOf());
    },
  );

  it('did-provider brings each vendor’s call to the system that has the DID, and knows no others', async () => {
    installation = await Installation.start(named('did-provider'), [
      ['+12025550101', '--kind', 'did', '--system', 'north'],
      ['+12025550102', '--kind', 'did', '--system', 'south'],
      ['+12025550103', '--kind', 'did', '--system', 'reseller'],
      ['1001', '--kind', 'account', '--system', 'south'],
    ]);
    const a = await installation.vendor('192.0.2.5');
    const b = await installation.vendor('192.0.2.70');
    for (const [vendor, number, site] of [
      [a, '+12025550101', '198.51.100.21'],
      [a, '+12025550102', '198.51.100.22'],
      [b, '12025550103', '203.0.113.21'],
    ] as const) {
      const call = await vendor.call(`sip:${number}@198.51.100.10`, entryOf());
      const called = await installation.calledSite();
      expect(called.agent.address).toBe(site);
      await called.agent.nextCall();
      expect(await call.bye()).toBe(200);
    }
    await expect(a.call('sip:+12025550199@198.51.100.10', entryOf())).rejects.toThrow('404');
    await failOver(await installation.phone('1001'), entryOf());
  });

  it.each([
    ['udp', 4],
    ['tcp', 4],
    ['udp', 6],
    ['tcp', 6],
  ] as const)('all-transports carries calls over %s and IPv%d', async (transport, family) => {
    installation = await Installation.start(named('all-transports'));
    const entry = { ...entryOf(family === 4 ? 0 : 1), transport };
    await carry(await installation.phone('1001', transport, family), entry);
  });
});
