import type { Call } from '../fixtures/lab/call';
import { DOMAIN, entry, ENTRY, ENTRY6, NatWorld, SITE, SITE6 } from '../fixtures/lab/nat-world';
import { ScriptedSite } from '../fixtures/lab/scripted-site';
import type { UserAgent } from '../fixtures/lab/user-agent';
import { describeWith } from '../fixtures/needs';
import { sipServerKind } from '../fixtures/sip-server';

// A busy machine takes its time to make namespaces and start programs.
jest.setTimeout(60_000);

const pause = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));

describeWith(['netns'], `phones that move, and phones on IPv6, ${sipServerKind} SIP server`, () => {
  let world: NatWorld;

  beforeEach(async () => {
    world = await NatWorld.create();
  });

  afterEach(async () => {
    await world.close();
  });

  const siteAt = async (address: string): Promise<ScriptedSite> =>
    world.own(await ScriptedSite.open(world.siteHost, address, DOMAIN));

  /** Holds, and is hung up on. */
  const live = async ([one, far]: [Call, Call]): Promise<void> => {
    for (const [holder, held] of [
      [one, far],
      [far, one],
    ] as const) {
      expect(await holder.hold()).toBe(200);
      await held.untilHeld(true);
      expect(await holder.resume()).toBe(200);
      await held.untilHeld(false);
    }
    expect(await far.bye()).toBe(200);
    await one.untilEnded();
  };

  it.each(['udp', 'tcp'] as const)(
    'IPv6 over %s: registers, calls and is called at a site that has both families',
    async (transport) => {
      const [four, six] = [await siteAt(SITE), await siteAt(SITE6)];
      await world.startDsbc({ server: sipServerKind, ipv6: true });
      const phone = await world.publicPhone('1001', '2001:db8:1::60', transport);
      const old = await world.phone(await world.home('symmetric'), '1002', transport);
      const to6 = entry(transport, ENTRY6);
      expect((await phone.register(to6)).message.status).toBe(200);
      expect((await old.register(entry(transport))).message.status).toBe(200);
      // What came over one family goes on over it.
      expect([...six.registrations.keys()]).toEqual(['1001']);
      expect([...four.registrations.keys()]).toEqual(['1002']);
      expect(six.registrations.get('1001')?.path[0]).toMatch(/^<sip:[\w-]{68}@\[2001:db8:1::10\]:5060;lr>$/);
      await live([await phone.call(`sip:1002@${DOMAIN}`, to6), await six.agent.nextCall()]);
      const inbound = await six.callPhone('1001');
      await live([await phone.nextCall(), inbound]);
      expect(phone.calls.at(-1)?.invite?.from.address).toBe(ENTRY6);
    },
  );

  it('a TCP phone whose connection breaks is given up within seconds, and reached once it is back', async () => {
    const site = await siteAt(SITE);
    await world.startDsbc({ server: sipServerKind });
    const phone = await world.phone(await world.home('port_restricted'), '1001', 'tcp');
    const register = async (): Promise<void> => {
      expect((await phone.register(entry('tcp'))).message.status).toBe(200);
    };
    await register();
    await live([await phone.call(`sip:1002@${DOMAIN}`, entry('tcp')), await site.agent.nextCall()]);
    const before = site.registrations.get('1001')!.path[0];

    (await phone.stream({ address: ENTRY, port: 5060 })).destroy();
    await pause(200);
    const began = performance.now();
    await expect(site.callPhone('1001')).rejects.toThrow(
      sipServerKind === 'embedded' ? /430 Flow Failed/ : /(430|480|503)/,
    );
    expect(performance.now() - began).toBeLessThan(5000);
    expect(phone.calls.filter(({ invite }) => invite !== undefined)).toEqual([]);

    await register();
    expect(site.registrations.get('1001')!.path[0]).not.toBe(before);
    const call = await site.callPhone('1001');
    await live([await phone.nextCall(), call]);
  });

  it.each(['udp', 'tcp'] as const)(
    '%s: a phone that registers anew from another port is called and pinged there only',
    async (transport) => {
      const site = await siteAt(SITE);
      await world.startDsbc({ server: sipServerKind });
      const home = await world.home('full_cone');
      const before = await world.phone(home, '1001', transport);
      const after = await world.agent(
        await world.hostIn(home, 'phone-1001-moved', '192.168.1.21'),
        ...(['192.168.1.21', '1001', transport] as const),
      );
      const register = async (phone: UserAgent): Promise<void> => {
        const contact = `${phone.contact};+sip.instance="<urn:uuid:00000000-0000-1000-8000-000a95a0e128>"`;
        const answer = await phone.register(entry(transport), 600, [['Supported', 'path']], contact);
        expect(answer.message.status).toBe(200);
      };
      await register(before);
      await register(after);
      const call = await site.callPhone('1001');
      await live([await after.nextCall(), call]);
      expect(before.calls).toEqual([]);
      // Pings come every 5 s.
      const pings = before.count('OPTIONS');
      await pause(transport === 'udp' ? 7000 : 0);
      expect(before.count('OPTIONS')).toBe(pings);
      if (transport === 'udp') expect(after.count('OPTIONS')).toBeGreaterThan(0);
    },
  );
});
