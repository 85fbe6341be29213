import { Certificates } from '../fixtures/lab/certificates';
import { KamailioSite } from '../fixtures/lab/kamailio-site';
import { DOMAIN, ENTRY, NatWorld, PASSWORD, SITE } from '../fixtures/lab/nat-world';
import { startRealPhone, type RealPhone, type RealPhoneKind } from '../fixtures/lab/real-phone';
import { describeWith, type Need } from '../fixtures/needs';
import { sipServerKind } from '../fixtures/sip-server';

// A busy machine takes its time to make namespaces and start programs.
jest.setTimeout(60_000);

type Transport = 'udp' | 'tcp' | 'tls';
const PROGRAMS: readonly Need[] = ['netns', 'baresip', 'linphone', 'kamailio'];

/** Programs people use, on both sides of the product: phones behind NAT, and Kamailio as the site. */
describe(`real phones and a real site, ${sipServerKind} SIP server`, () => {
  let world: NatWorld;
  let site: KamailioSite;
  let certificates: Certificates | undefined;

  afterEach(async () => {
    await world.close();
    await certificates?.remove();
    certificates = undefined;
  });

  const build = async (transport: Transport): Promise<void> => {
    world = await NatWorld.create();
    site = await KamailioSite.start(world.siteHost, {
      ...{ address: SITE, domain: DOMAIN, password: PASSWORD },
      // drachtio-server can't hold both ends of one dialog; the embedded one meets both kinds of site.
      plainProxy: sipServerKind === 'embedded' && transport === 'udp',
    });
    world.own({ close: () => site.stop() });
    if (transport === 'tls') certificates = await Certificates.make(ENTRY);
    await world.startDsbc({
      server: sipServerKind,
      ...(certificates === undefined ? {} : { certificates }),
    });
  };

  /** A phone in a home of its own; it has registered. */
  const phoneAtHome = async (
    kind: RealPhoneKind,
    user: string,
    transport: Transport,
    nat: 'port_restricted' | 'symmetric',
  ): Promise<RealPhone> => {
    const host = await world.hostIn(await world.home(nat), `phone-${user}`, '192.168.1.20');
    const phone = await startRealPhone(kind, host, {
      ...{ user, domain: DOMAIN, password: PASSWORD, transport },
      outboundProxy: `sip:${ENTRY}:${transport === 'tls' ? 5061 : 5060};transport=${transport}`,
      ...(certificates === undefined ? {} : { caFile: certificates.ca }),
    });
    world.own({ close: () => phone.stop() });
    await phone.registered();
    return phone;
  };

  const establish = async (caller: RealPhone, callee: RealPhone, user: string): Promise<void> => {
    await caller.dial(`sip:${user}@${DOMAIN}`);
    await Promise.all([callee.incoming(), caller.ringing()]);
    await callee.accept();
    await Promise.all([caller.established(), callee.established()]);
  };

  const callEachOther = async (transport: Transport): Promise<void> => {
    await build(transport);
    const baresip = await phoneAtHome('baresip', '1001', transport, 'port_restricted');
    const linphone = await phoneAtHome('linphone', '1002', transport, 'symmetric');
    const other = await phoneAtHome('baresip', '1003', transport, 'port_restricted');
    for (const user of ['1001', '1002', '1003']) expect(await site.registrations()).toContain(`AoR: ${user}`);

    await establish(baresip, linphone, '1002');
    for (const [one, far] of [
      [baresip, linphone],
      [linphone, baresip],
    ] as const) {
      await Promise.all([one.hold(), far.sessionChanged()]);
      await Promise.all([one.resume(), far.sessionChanged()]);
    }
    await baresip.hangup();
    await Promise.all([baresip.closed(), linphone.closed()]);

    await establish(linphone, baresip, '1001');
    await baresip.hangup();
    await Promise.all([baresip.closed(), linphone.closed()]);

    // The caller is transferred to a third phone, by each program.
    await establish(baresip, linphone, '1002');
    await linphone.transfer(`sip:1003@${DOMAIN}`);
    await other.incoming();
    await other.accept();
    await Promise.all([baresip.established(), other.established()]);
    // The processes of the site race, so that a NOTIFY can overtake the 202 to the REFER (RFC 3515 §2.4.4 allows it).
    // linphone answers that 491 and never hears how the transfer went: then it is hung up by hand.
    const byHand = setTimeout(() => void linphone.hangup(), 3000);
    await linphone.closed();
    clearTimeout(byHand);
    await other.hangup();
    await Promise.all([baresip.closed(), other.closed()]);
    await establish(linphone, baresip, '1001');
    await baresip.transfer(`sip:1003@${DOMAIN}`);
    await other.incoming();
    await other.accept();
    await Promise.all([linphone.established(), other.established()]);
    await linphone.hangup();
    await other.closed();
  };

  describeWith(PROGRAMS, 'baresip and linphone behind NAT, a Kamailio site', () => {
    it.each(['udp', 'tcp'] as const)('register and call each other over %s', callEachOther);
  });

  describeWith([...PROGRAMS, 'drachtio', 'openssl'], 'the same phones over TLS', () => {
    it('register and call each other', () => callEachOther('tls'));
  });
});
