import type { Call } from '../fixtures/lab/call';
import { NAT_KINDS } from '../fixtures/lab/nat-router';
import { ALIAS, DOMAIN, entry, NAT, NatWorld, SITE, type Home } from '../fixtures/lab/nat-world';
import { ScriptedSite } from '../fixtures/lab/scripted-site';
import type { UserAgent } from '../fixtures/lab/user-agent';
import { describeWith } from '../fixtures/needs';
import { sipServerKind } from '../fixtures/sip-server';

// A busy machine takes its time to make namespaces and start programs.
jest.setTimeout(60_000);

/**
 * How long nobody says anything while calls are up. DSBC_LONG_SILENCE=1: ten minutes with the mappings of a poor home router
 * and the keepalive as it is by default; else a short form, in which the silence is three times a mapping too.
 */
const LONG = process.env['DSBC_LONG_SILENCE'] === '1';
const SILENCE = LONG
  ? { silenceMs: 600_000, mappingSeconds: 30, keepalive: { interval_s: 25, timeout_s: 4 } }
  : { silenceMs: 24_000, mappingSeconds: 8, keepalive: { interval_s: 5, timeout_s: 2 } };

const pause = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));

describeWith(['netns'], `phones behind NAT, ${sipServerKind} SIP server`, () => {
  let world: NatWorld;
  let site: ScriptedSite;
  let home: Home;
  let phone: UserAgent;

  afterEach(async () => {
    await world.close();
  });

  const build = async (options: {
    kind: (typeof NAT_KINDS)[number];
    transport?: 'udp' | 'tcp';
    mappingSeconds?: number;
    alias?: boolean;
    keepalive?: { interval_s: number; timeout_s: number };
  }): Promise<void> => {
    world = await NatWorld.create();
    site = world.own(await ScriptedSite.open(world.siteHost, SITE, DOMAIN));
    const { alias = false, keepalive } = options;
    await world.startDsbc({
      server: sipServerKind,
      alias,
      ...(keepalive === undefined ? {} : { config: { nat: { ...NAT, keepalive } } }),
    });
    home = await world.home(options.kind, options.mappingSeconds);
    phone = await world.phone(home, '1001', options.transport);
  };

  const register = async (transport: 'udp' | 'tcp' = 'udp', address?: string): Promise<void> => {
    expect((await phone.register(entry(transport, address))).message.status).toBe(200);
  };

  /** The phone calls a number; both ends of the call. */
  const callOut = async (transport: 'udp' | 'tcp' = 'udp'): Promise<[Call, Call]> => {
    const call = await phone.call(`sip:1002@${DOMAIN}`, entry(transport));
    return [call, await site.agent.nextCall()];
  };
  /** The site calls the phone; both ends, the phone's first. */
  const callIn = async (): Promise<[Call, Call]> => {
    const call = await site.callPhone('1001');
    return [await phone.nextCall(), call];
  };

  const kinds = NAT_KINDS.flatMap((kind) =>
    (['udp', 'tcp'] as const).map((transport) => [kind, transport] as const),
  );

  it.each(kinds)(
    '%s over %s: calls out and is called, holds, is transferred, hangs up and is hung up on',
    async (kind, transport) => {
      await build({ kind, transport });
      await register(transport);
      for (const make of [() => callOut(transport), callIn]) {
        const [own, other] = await make();
        expect(await own.hold()).toBe(200);
        await other.untilHeld(true);
        expect(await own.resume()).toBe(200);
        await other.untilHeld(false);
        expect(await other.hold()).toBe(200);
        await own.untilHeld(true);
        expect(await other.resume()).toBe(200);
        await own.untilHeld(false);
        expect((await other.request('INFO', [['Content-Type', 'text/plain']], 'hello')).message.status).toBe(
          200,
        );
        expect((await own.untilRequest('INFO')).message.body).toBe('hello');
        expect(await own.transfer(`sip:1003@${DOMAIN}`)).toBe(202);
        expect((await other.untilRequest('REFER')).message.get('refer-to')).toContain(`sip:1003@${DOMAIN}`);
        expect(await own.bye()).toBe(200);
        await other.untilEnded();

        const [again, far] = await make();
        expect(await far.transfer(`sip:1003@${DOMAIN}`)).toBe(202);
        await again.untilRequest('REFER');
        expect(await far.bye()).toBe(200);
        await again.untilEnded();
      }
    },
  );

  it(
    'every kind: is reached after a silence far longer than its mapping lives',
    async () => {
      const { silenceMs, mappingSeconds, keepalive } = SILENCE;
      await build({ kind: 'full_cone', mappingSeconds, keepalive });
      const phones = [phone];
      for (const [index, kind] of (['port_restricted', 'symmetric'] as const).entries())
        phones.push(await world.phone(await world.home(kind, mappingSeconds), `100${index + 2}`));
      const calls: [Call, Call][] = [];
      for (const each of phones) {
        expect((await each.register(entry(), 3600)).message.status).toBe(200);
        const call = await each.call(`sip:1009@${DOMAIN}`, entry());
        calls.push([call, await site.agent.nextCall()]);
      }
      await pause(silenceMs);
      for (const [own, other] of calls) {
        expect(await other.hold()).toBe(200);
        await own.untilHeld(true);
        expect(await other.bye()).toBe(200);
        await own.untilEnded();
      }
      for (const { user } of phones) expect(await (await site.callPhone(user)).bye()).toBe(200);
    },
    SILENCE.silenceMs + 60_000,
  );

  it('a phone that moves to another address is called there', async () => {
    await build({ kind: 'symmetric' });
    await register();
    await home.router.renew('198.51.100.150/24');
    await register();
    const [own, other] = await callIn();
    expect(own.invite?.from.address).toBe('198.51.100.10');
    expect(await own.bye()).toBe(200);
    await other.untilEnded();
  });

  it('a phone that registered through an alias is called from the alias, and its calls leave from there', async () => {
    await build({ kind: 'port_restricted', alias: true });
    const wire = await world.dsbcHost.capture('udp port 5060', 'eth0');
    await register('udp', ALIAS);
    const [own] = await callIn();
    expect(await own.bye()).toBe(200);
    const packets = await wire.packets();
    const toPhone = packets.filter(({ destination }) => destination === home.router.outsideAddress);
    expect(toPhone.length).toBeGreaterThan(3);
    expect(new Set(toPhone.map(({ source }) => source))).toEqual(new Set([ALIAS]));
  });

  it('two phones behind the same NAT, and one behind another, call each other', async () => {
    await build({ kind: 'port_restricted' });
    const neighbour = await world.phone(home, '1002', 'udp', '192.168.1.21');
    const far = await world.phone(await world.home('symmetric'), '1003');
    for (const each of [phone, neighbour, far])
      expect((await each.register(entry())).message.status).toBe(200);
    for (const user of ['1001', '1002', '1003']) {
      const call = await site.callPhone(user);
      expect(await call.bye()).toBe(200);
    }
    expect([phone, neighbour, far].map((each) => each.calls.length)).toEqual([1, 1, 1]);
  });
});
