import { LabBrowser, type BrowserPhone } from '../fixtures/lab/browser-phone';
import { Certificates } from '../fixtures/lab/certificates';
import { KamailioSite } from '../fixtures/lab/kamailio-site';
import { DOMAIN, ENTRY, NatWorld, PASSWORD, SITE } from '../fixtures/lab/nat-world';
import { describeWith } from '../fixtures/needs';

// A busy machine takes its time to make namespaces and start programs.
jest.setTimeout(60_000);

/** Browsers come over WebSocket, which only drachtio-server serves. */
describeWith(
  ['netns', 'drachtio', 'chromium', 'kamailio', 'openssl'],
  'browsers behind NAT as phones, drachtio SIP server',
  () => {
    let world: NatWorld;
    let certificates: Certificates;

    beforeEach(async () => {
      world = await NatWorld.create();
      certificates = await Certificates.make(ENTRY);
    });

    afterEach(async () => {
      await world.close();
      await certificates.remove();
    });

    it.each(['ws', 'wss'] as const)('register and call each other over %s', async (transport) => {
      const site = await KamailioSite.start(world.siteHost, {
        ...{ address: SITE, domain: DOMAIN, password: PASSWORD },
      });
      world.own({ close: () => site.stop() });
      await world.startDsbc({ server: 'drachtio', certificates });
      const host = await world.hostIn(await world.home('symmetric'), 'browser', '192.168.1.20');
      const browser = world.own(await LabBrowser.start(host));
      const [one, other] = await Promise.all(
        ['1001', '1002'].map((user) =>
          browser.phone({ user, domain: DOMAIN, password: PASSWORD, server: `${transport}://${ENTRY}` }),
        ),
      );
      expect(await site.registrations()).toMatch(/sip:[^@]+@[^;]+\.invalid;transport=ws/);
      for (const [caller, callee, user] of [
        [one!, other!, '1002'],
        [other!, one!, '1001'],
      ] as [BrowserPhone, BrowserPhone, string][]) {
        const dialled = caller.dial(`sip:${user}@${DOMAIN}`);
        await callee.event('incoming');
        await callee.do('answer');
        await dialled;
        await Promise.all([caller.event('established'), callee.event('established')]);
        await caller.do('hold');
        await caller.event('held');
        expect(await callee.heldByOther()).toBe(true);
        await caller.do('unhold');
        await caller.event('resumed');
        expect(await callee.heldByOther()).toBe(false);
        await callee.do('hangup');
        await Promise.all([caller.event('closed'), callee.event('closed')]);
      }
    });
  },
);
