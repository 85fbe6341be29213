import { Baresip } from '../fixtures/lab/baresip';
import { KamailioSite } from '../fixtures/lab/kamailio-site';
import { Lab } from '../fixtures/lab/lab';
import { UserAgent } from '../fixtures/lab/user-agent';
import { describeWith } from '../fixtures/needs';

// A busy machine takes its time to make namespaces and start programs.
jest.setTimeout(60_000);

/** The tools themselves, without the product between them: what fails here is not its fault. */
describeWith(['netns', 'baresip', 'kamailio'], 'baresip phones and a Kamailio site of the lab', () => {
  let lab: Lab;
  let site: KamailioSite | undefined;
  const phones: Baresip[] = [];
  const agents: UserAgent[] = [];

  beforeEach(async () => {
    lab = await Lab.create();
  });

  afterEach(async () => {
    await Promise.all(phones.splice(0).map((phone) => phone.stop()));
    await Promise.all(agents.splice(0).map((agent) => agent.close()));
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

  it.each(['udp', 'tcp'] as const)('scripted phones do as much over %s', async (transport) => {
    const lan = await lab.network('lan');
    const siteHost = await lab.host('site');
    await lan.attach(siteHost, { addresses: ['198.51.100.21/24'] });
    site = await KamailioSite.start(siteHost, {
      address: '198.51.100.21',
      domain: 'example.com',
      password: 'secret-1',
    });
    const to = { address: '198.51.100.21', port: 5060, transport } as const;
    const host = await lab.host('phones');
    await lan.attach(host, { addresses: ['198.51.100.51/24', '198.51.100.52/24'] });
    const open = (user: string, address: string): Promise<UserAgent> =>
      UserAgent.openIn({
        host,
        address,
        port: 5060,
        user,
        domain: 'example.com',
        password: 'secret-1',
        transport,
      });
    const [caller, callee] = [await open('1001', '198.51.100.51'), await open('1002', '198.51.100.52')];
    agents.push(caller, callee);
    for (const agent of agents) expect((await agent.register(to)).message.status).toBe(200);

    const out = await caller.call('sip:1002@example.com', to);
    const into = await callee.nextCall();
    expect(await out.hold()).toBe(200);
    await into.untilHeld(true);
    expect(await into.resume()).toBe(200);
    await out.untilHeld(false);
    expect(await out.transfer('sip:1003@example.com')).toBe(202);
    await into.untilRequest('REFER');
    expect(await into.bye()).toBe(200);
    await out.untilEnded();
    await expect(caller.call('sip:1009@example.com', to)).rejects.toThrow('404');
    callee.onCall = (call) => callee.refuse(call, 486);
    await expect(caller.call('sip:1002@example.com', to)).rejects.toThrow('486');
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
