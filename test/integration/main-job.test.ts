import type { FakeDevice } from '../fixtures/fake-device';
import { DsbcLab, LAB_ADDRESSES } from '../fixtures/dsbc-lab';

describe('the main job', () => {
  let lab: DsbcLab;
  let phone: FakeDevice;
  beforeAll(async () => {
    lab = await DsbcLab.start();
  });
  beforeEach(async () => {
    phone = await lab.device();
  });
  afterEach(() => lab.tidy());
  afterAll(() => lab.stop());

  it('REGISTER reaches a site of the account’s system, with one Path of ours and everything else untouched', async () => {
    const register = await phone.request({
      method: 'REGISTER',
      from: '1002',
      headers: [['X-Vendor.Thing', 'Kept;as=is']],
    });
    expect((await register.final()).message.status).toBe(200);
    const { name, site } = await lab.arrival(register.callId);
    expect(name).toMatch(/^target\//);
    const { message } = await site.waitForRequest('REGISTER');
    expect(message.list('path')).toHaveLength(1);
    expect(message.get('path')).toMatch(/^<sip:[A-Za-z0-9_-]{36}@127\.0\.0\.1:\d+;lr>$/);
    expect(message.get('x-vendor.thing')).toBe('Kept;as=is');
    expect(message.get('contact')).toContain(`sip:1002@${LAB_ADDRESSES.phone}:${phone.port}`);
    expect(message.vias).toHaveLength(2);
    expect(message.cseq).toEqual({ number: 1, method: 'REGISTER' });
  });

  it('the same account reaches the same site, by the VIP and by its alias, which answers from its own address', async () => {
    const first = await phone.request({ method: 'REGISTER' });
    await first.final();
    const other = await lab.device('udp', { alias: true });
    const second = await other.request({ method: 'REGISTER' });
    const answer = await second.final();
    expect(answer.message.status).toBe(200);
    expect(answer.from.address).toBe(LAB_ADDRESSES.alias);
    expect(lab.sitesOf(second.callId)).toEqual(lab.sitesOf(first.callId));
    const [site] = lab.sitesOf(second.callId);
    const last = lab.sites[site!].received.filter(({ message }) => message.callId === second.callId)[0]!;
    expect(last.message.get('path')).toContain(`@${LAB_ADDRESSES.alias}:`);
  });

  it('an INVITE goes to the caller’s system, and what follows goes direct', async () => {
    const invite = await phone.request({
      method: 'INVITE',
      body: 'v=0\r\n',
      headers: [['Content-Type', 'application/sdp']],
    });
    const answer = await invite.answer(200);
    const { name, site } = await lab.arrival(invite.callId);
    expect(name).toMatch(/^source\//);
    const { message } = await site.waitForRequest('INVITE');
    expect(message.get('record-route')).toBeUndefined();
    expect(message.body).toBe('v=0\r\n');
    await phone.ack(invite, answer, { address: site.address, port: site.port, transport: 'udp' });
    const bye = await phone.inDialog('BYE', invite, answer, 2, {
      address: site.address,
      port: site.port,
      transport: 'udp',
    });
    expect((await bye.final()).message.status).toBe(200);
  });

  it('a vendor’s call to a DID goes to the DID’s system, where its account registers', async () => {
    const register = await phone.request({ method: 'REGISTER', from: '1002' });
    await register.final();
    const vendor = await lab.device('udp', { address: LAB_ADDRESSES.vendor });
    const invite = await vendor.request({ method: 'INVITE', from: '+442079460000', to: '+12025550123' });
    expect((await invite.answer(200)).message.status).toBe(200);
    expect(lab.sitesOf(invite.callId)).toEqual(lab.sitesOf(register.callId));
  });

  it.each(['SUBSCRIBE', 'MESSAGE', 'PUBLISH'])('%s goes to the caller’s system', async (method) => {
    const request = await phone.request({
      method,
      headers: [['Event', 'presence']],
      ...(method === 'MESSAGE' ? { body: 'hi' } : {}),
    });
    expect((await request.final()).message.status).toBe(200);
    expect((await lab.arrival(request.callId)).name).toMatch(/^source\//);
  });

  it('H24: a MESSAGE arrives once, and its 200 is not acknowledged', async () => {
    const message = await phone.request({
      method: 'MESSAGE',
      body: 'hi',
      headers: [['Content-Type', 'text/plain']],
    });
    await message.final();
    const { site } = await lab.arrival(message.callId);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([site.count('MESSAGE'), site.count('ACK')]).toEqual([1, 0]);
  });

  it('an unknown account is 404 and reaches no site', async () => {
    const register = await phone.request({ method: 'REGISTER', from: '4999' });
    expect((await register.final()).message.status).toBe(404);
    expect(lab.sitesOf(register.callId)).toEqual([]);
  });

  it('OPTIONS to us is answered 200 by us', async () => {
    const options = await phone.request({ method: 'OPTIONS', uri: 'sip:example.com', contact: false });
    const { message } = await options.final();
    expect(message.status).toBe(200);
    expect(message.get('allow')).toContain('INVITE');
    expect(lab.sitesOf(options.callId)).toEqual([]);
  });

  it('a busy from the site reaches the caller, and nobody else is tried', async () => {
    for (const site of Object.values(lab.sites)) site.script = () => ({ status: 486 });
    const invite = await phone.request({ method: 'INVITE' });
    expect((await invite.final()).message.status).toBe(486);
    expect(lab.sitesOf(invite.callId)).toHaveLength(1);
  });

  it('a site that says 503 is passed over', async () => {
    const first = await phone.request({ method: 'REGISTER' });
    await first.final();
    const [own] = lab.sitesOf(first.callId);
    lab.sites[own!].script = () => ({ status: 503 });
    const second = await phone.request({ method: 'REGISTER' });
    expect((await second.final()).message.status).toBe(200);
    expect(lab.sitesOf(second.callId)).toHaveLength(2);
  });

  it('a site in maintenance gets nothing, within two seconds of the operator’s word; then its accounts return', async () => {
    const first = await phone.request({ method: 'REGISTER', from: 'alice' });
    await first.final();
    const [own] = lab.sitesOf(first.callId);
    const decide = (state: 'active' | 'maintenance'): Promise<void> =>
      lab.registry.putDecision({
        system: 'source',
        site: own!.split('/')[1]!,
        state,
        by: 'test',
        at: '2026-01-01T00:00:00Z',
        why: 'update',
      });
    const siteOfNext = async (): Promise<string> => {
      const register = await phone.request({ method: 'REGISTER', from: 'alice' });
      await register.final();
      return lab.sitesOf(register.callId).join();
    };
    await decide('maintenance');
    await until(async () => (await siteOfNext()) !== own);
    await decide('active');
    await until(async () => (await siteOfNext()) === own);
  });
});

async function until(holds: () => Promise<boolean>, timeoutMs = 2000): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('it did not come true in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
