import { SimulatedPhone } from '../../plugin/cli/demo/simulated-phone';
import { SimulatedSite } from '../../plugin/cli/demo/simulated-site';

describe('the simulated parties of the demo, without anything between them', () => {
  let site: SimulatedSite;
  let phone: SimulatedPhone;

  beforeEach(async () => {
    site = new SimulatedSite('source', 'main');
    await site.bind('127.0.0.1', 0);
    phone = new SimulatedPhone({ account: '1001', proxy: site, domain: 'example.com' });
    await phone.bind('127.0.0.1', 0);
  });

  afterEach(async () => {
    await phone.close();
    await site.close();
  });

  it('register with digest, and a wrong password is refused', async () => {
    expect(await phone.register()).toBe(200);
    expect(site.counts).toEqual({ REGISTER: 2 });
    expect(site.registrations.get('1001')?.contact).toBe(`sip:1001@127.0.0.1:${phone.port}`);
    const stranger = new SimulatedPhone({
      account: '1001',
      proxy: site,
      domain: 'example.com',
      password: 'wrong',
    });
    await stranger.bind('127.0.0.1', 0);
    expect(await stranger.register()).toBe(403);
    await stranger.close();
  });

  it('call, message, subscribe and are called', async () => {
    expect(await phone.call('1002')).toBe(200);
    expect(await phone.message('1002', 'café')).toBe(200);
    expect(await phone.subscribe('1002', 'dialog')).toBe(202);
    expect(await site.call('1001', phone)).toBe(480);
    await phone.register();
    expect(await site.call('1001', phone)).toBe(200);
    expect(phone.received).toEqual(['NOTIFY', 'INVITE', 'ACK', 'BYE']);
  });

  it('de-register with a star', async () => {
    await phone.register();
    expect(await phone.register('*')).toBe(200);
    expect(site.starContacts).toEqual(['1001 Expires: 0']);
    expect(site.registrations.size).toBe(0);
  });
});
