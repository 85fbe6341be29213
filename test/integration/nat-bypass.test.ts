import type { SipMessage } from '../../plugin/message/sip-message';
import type { Call } from '../fixtures/lab/call';
import type { NatKind } from '../fixtures/lab/nat-router';
import { DOMAIN, entry, ENTRY, NatWorld, SITE, type Home } from '../fixtures/lab/nat-world';
import { ScriptedSite } from '../fixtures/lab/scripted-site';
import type { UserAgent } from '../fixtures/lab/user-agent';
import { describeWith } from '../fixtures/needs';
import { sipServerKind } from '../fixtures/sip-server';

// A busy machine takes its time to make namespaces and start programs.
jest.setTimeout(60_000);

const HEADER = 'X-Flow-Of-The-Phone';

/** A site with `nat_dialogs: bypass`: it traverses NAT by itself, by what we tell it of the flow. */
describeWith(['netns'], `a site that does far-end NAT itself, ${sipServerKind} SIP server`, () => {
  let world: NatWorld;
  let site: ScriptedSite;
  let home: Home;
  let phone: UserAgent;

  afterEach(async () => {
    await world.close();
  });

  const build = async (kind: NatKind): Promise<void> => {
    world = await NatWorld.create();
    site = world.own(await ScriptedSite.open(world.siteHost, SITE, DOMAIN));
    await world.startDsbc({
      server: sipServerKind,
      config: {
        systems: {
          source: { sites: { main: { nodes: [{ uri: `sip:${SITE}:5060` }], nat_dialogs: 'bypass' } } },
        },
        nat: { keys: [{ id: 1, secret: 'a-key-for-flow-tokens' }], header: HEADER },
      },
    });
    home = await world.home(kind);
    phone = await world.phone(home, '1001');
    expect((await phone.register(entry())).message.status).toBe(200);
  };

  /** The flow that the site was told when the phone registered, as the URI that packets go to. */
  const flow = (): string => {
    const told = site.registrations.get('1001')?.request.message.getAll(HEADER.toLowerCase()) ?? [];
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(new RegExp(`^sip:${home.router.outsideAddress}:[2-5]\\d{4};transport=udp$`));
    return told[0]!;
  };

  /** Holds and hangs up, first one side, then, in a call of its own, the other. */
  const live = async (make: () => Promise<[Call, Call]>): Promise<void> => {
    for (const ender of [0, 1] as const) {
      const pair = await make();
      for (const [one, far] of [pair, pair.toReversed() as [Call, Call]]) {
        expect(await one.hold()).toBe(200);
        await far.untilHeld(true);
        expect(await one.resume()).toBe(200);
        await far.untilHeld(false);
      }
      expect(await pair[ender].bye()).toBe(200);
      await pair[1 - ender]!.untilEnded();
    }
  };

  it.each(['full_cone', 'port_restricted'] as const)(
    '%s: is told the flow of a call, and what follows passes us by',
    async (kind) => {
      await build(kind);
      const wire = await world.dsbcHost.capture('udp port 5060', 'eth0');
      const invites: SipMessage[] = [];
      await live(async () => {
        const own = await phone.call(`sip:1002@${DOMAIN}`, entry());
        const other = await site.agent.nextCall();
        const { message } = other.invite!;
        invites.push(message);
        expect(message.getAll('record-route')).toEqual([]);
        expect(message.getAll(HEADER.toLowerCase())).toEqual([flow()]);
        // RFC 3581: the same in the Via that the phone wrote.
        const [, address, port] = /^sip:([\d.]+):(\d+)/.exec(flow())!;
        expect(message.getAll('via').join(', ')).toMatch(
          new RegExp(
            `192\\.168\\.1\\.20.*(received=${address}.*rport=${port}|rport=${port}.*received=${address})`,
          ),
        );
        other.dialog!.farEnd = flow();
        return [own, other];
      });
      const inDialog = (await wire.packets()).filter(
        ({ payload }) =>
          /^(INVITE|ACK|BYE) /.test(payload) &&
          /^To:.*;tag=/im.test(payload) &&
          invites.some(({ callId }) => payload.includes(callId!)),
      );
      expect(inDialog.map(({ payload }) => payload.split('\r\n')[0])).toEqual([]);
    },
  );

  it('full cone: calls the phone along its Path, and goes on by the flow', async () => {
    await build('full_cone');
    await live(async () => {
      const far = await site.callPhone('1001', {
        dialog: (made) => {
          expect(made.routes).toEqual([]);
          return { ...made, farEnd: flow() };
        },
      });
      return [await phone.nextCall(), far];
    });
  });

  it('is told nothing that a phone made up', async () => {
    await build('full_cone');
    const forged = 'sip:203.0.113.66:6666;transport=udp';
    const lines = [HEADER, HEADER.toLowerCase(), HEADER.replaceAll('-', '_')].map(
      (name): [string, string] => [name, forged],
    );
    const open = await world.publicPhone('1004', '198.51.100.60');
    for (const [each, own] of [
      [phone, [flow()]],
      [open, []],
    ] as const) {
      expect((await each.register(entry(), 60, lines)).message.status).toBe(200);
      const { message } = site.registrations.get(each.user)!.request;
      expect(message.getAll(HEADER.toLowerCase())).toEqual(own);
      const call = await each.call(`sip:1002@${DOMAIN}`, entry(), { headers: lines });
      const other = await site.agent.nextCall();
      expect(other.invite?.message.getAll(HEADER.toLowerCase())).toEqual(own);
      if (own[0] !== undefined) other.dialog!.farEnd = own[0];
      expect(await call.bye()).toBe(200);
      await other.untilEnded();
    }
  });

  // The embedded server relays within a dialog only along a Record-Route that it put into that very dialog.
  describeWith(['netns', 'drachtio'], 'where only our address is let in', () => {
    it.each(['port_restricted', 'symmetric'] as const)(
      '%s: goes on along the Path, with the flow as Request-URI',
      async (kind) => {
        await build(kind);
        await live(async () => {
          const { path } = site.registrations.get('1001')!;
          const far = await site.callPhone('1001', {
            dialog: (made) => ({ ...made, routes: path, farEnd: flow() }),
          });
          const own = await phone.nextCall();
          expect(own.invite?.from).toMatchObject({ address: ENTRY });
          return [own, far];
        });
      },
    );
  });
});
