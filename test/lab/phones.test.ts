import { Baresip } from '../fixtures/lab/baresip';
import { KamailioSite } from '../fixtures/lab/kamailio-site';
import { Lab } from '../fixtures/lab/lab';
import { describeWith } from '../fixtures/needs';

/** The tools themselves, without the product between them: what fails here is not its fault. */
describeWith(['netns', 'baresip', 'kamailio'], 'baresip phones and a Kamailio site of the lab', () => {
  let lab: Lab;
  let site: KamailioSite | undefined;
  const phones: Baresip[] = [];

  beforeEach(async () => {
    lab = await Lab.create();
  });

  afterEach(async () => {
    await Promise.all(phones.splice(0).map((phone) => phone.stop()));
    await site?.stop();
    site = undefined;
    await lab.close();
  });

  it.each(['udp', 'tcp'] as const)('register and call each other directly over %s', async (transport) => {
    const lan = await lab.network('lan');
    const siteHost = await lab.host('site');
    await lan.attach(siteHost, { addresses: ['198.51.100.21/24'] });
    site = await KamailioSite.start(siteHost, {
      address: '198.51.100.21',
      domain: 'example.com',
      password: 'secret-1',
    });
    for (const [user, address] of [
      ['1001', '198.51.100.51'],
      ['1002', '198.51.100.52'],
    ] as const) {
      const host = await lab.host(`phone-${user}`);
      await lan.attach(host, { addresses: [`${address}/24`] });
      const phone = await Baresip.start(host, {
        user,
        domain: 'example.com',
        password: 'secret-1',
        outboundProxy: `sip:198.51.100.21:5060;transport=${transport}`,
        transport,
      });
      phones.push(phone);
      await phone.event('REGISTER_OK');
    }
    const [caller, callee] = phones as [Baresip, Baresip];
    expect(await site.registrations()).toContain('sip:1002-');

    await caller.dial('sip:1002@example.com');
    await callee.event('CALL_INCOMING');
    await caller.event('CALL_RINGING');
    await callee.accept();
    await Promise.all([caller.event('CALL_ESTABLISHED'), callee.event('CALL_ESTABLISHED')]);
    await callee.hangup();
    await caller.event('CALL_CLOSED');
  });

  it('does not register a phone with a wrong password', async () => {
    const lan = await lab.network('lan');
    const host = await lab.host('site-and-phone');
    await lan.attach(host, { addresses: ['198.51.100.21/24'] });
    site = await KamailioSite.start(host, {
      address: '198.51.100.21',
      domain: 'example.com',
      password: 'secret-1',
    });
    const phone = await Baresip.start(host, {
      user: '1001',
      domain: 'example.com',
      password: 'wrong',
      outboundProxy: 'sip:198.51.100.21:5060',
      port: 5080,
    });
    phones.push(phone);
    await phone.event('REGISTER_FAIL');
    expect(await phone.registered()).toBe(false);
  });
});
