import { FlowTokens } from '../../plugin/nat/flow-token';
import { agreeWith } from '../fixtures/bridged-lab';
import { DsbcLab, LAB_ADDRESSES } from '../fixtures/dsbc-lab';
import type { FakeDevice } from '../fixtures/fake-device';
import type { FakeSite } from '../fixtures/fake-site';
import type { EndpointTransport } from '../fixtures/sip-endpoint';
import { sipServerKind } from '../fixtures/sip-server';

const OLD = { id: 1, secret: 'a key of the lab, long enough' };
const NEW = { id: 2, secret: 'the key that comes after it, long enough' };
const CONTACT = 'sip:1001@192.0.2.33:5060';

describe(`flow tokens on the wire, ${sipServerKind} server`, () => {
  let lab: DsbcLab;
  let phone: FakeDevice;
  let calls = 0;
  beforeAll(async () => {
    lab = await DsbcLab.start();
  });
  beforeEach(async () => {
    phone = await lab.device();
    agreeWith(phone);
  });
  afterEach(async () => {
    lab.dsbc.reload(lab.config());
    await lab.tidy();
    for (const server of lab.servers) expect(server.alive).toBe(true);
  });
  afterAll(() => lab.stop());

  /** Registers a phone behind NAT; the user part of the Path its site got. */
  const tokenOf = async (device: FakeDevice, contact = CONTACT): Promise<string> => {
    const register = await device.request({ method: 'REGISTER', contact: `<${contact}>` });
    expect((await register.final()).message.status).toBe(200);
    const { site } = await lab.arrival(register.callId);
    const { message } = await site.waitFor(
      (one) => one.message.method === 'REGISTER' && one.message.callId === register.callId,
    );
    const token = /^<sip:([\w-]+)@/.exec(message.get('path') ?? '')?.[1];
    if (token === undefined) throw new Error(`no token in ${message.get('path') ?? 'no Path'}`);
    return token;
  };

  /** Somebody presents a token in a Route, by default a site. The final status. */
  const present = async (
    token: string,
    { by, transport = 'udp' }: { by?: FakeDevice | FakeSite; transport?: EndpointTransport } = {},
  ): Promise<number> => {
    const sender = by ?? lab.sites['source/main'];
    const vip = lab.servers[0].entry(transport);
    const callId = `presented-${++calls}@example.net`;
    await sender.send(
      [
        `MESSAGE ${CONTACT} SIP/2.0`,
        `Via: SIP/2.0/${transport.toUpperCase()} ${sender.hostport};branch=z9hG4bKpresented${calls};rport`,
        `Route: <sip:${token}@${vip.address}:${vip.port};lr>`,
        'Max-Forwards: 70',
        'From: <sip:2002@example.com>;tag=b1',
        'To: <sip:1001@example.com>',
        `Call-ID: ${callId}`,
        'CSeq: 1 MESSAGE',
        'Content-Type: text/plain',
        'Content-Length: 2',
        '',
        'hi',
      ].join('\r\n'),
      vip,
    );
    const answer = await sender.waitFor(
      ({ message }) => message.kind === 'response' && message.callId === callId && message.status >= 200,
      5000,
    );
    return answer.message.status;
  };
  const reached = (device = phone): number => device.count('MESSAGE');

  const keyOf = (token: string): number => Buffer.from(token, 'base64url')[1]!;

  /** A token of the same flow, signed otherwise. */
  const signedBy = (secret: string, id: number): string =>
    new FlowTokens([{ id, secret }]).issue({
      entry: lab.servers[0].entries[0]!,
      transport: 'udp',
      remote: { address: LAB_ADDRESSES.phone, port: phone.port },
    });

  it('leads to the phone behind NAT, from whichever node of a site, as often as it likes', async () => {
    const token = await tokenOf(phone);
    expect(keyOf(token)).toBe(OLD.id);
    expect(token).toHaveLength(36);
    expect(await present(token)).toBe(200);
    expect(await present(token)).toBe(200);
    expect(await present(token, { by: lab.sites['target/a'] })).toBe(200);
    expect(reached()).toBe(3);
  });

  // drachtio-server tells nobody of a REFER outside of a dialog (docs/sip-servers.md).
  (sipServerKind === 'embedded' ? it : it.skip)(
    'brings the NOTIFYs of a REFER outside of a dialog back to the phone, along the Record-Route',
    async () => {
      const refer = await phone.request({
        method: 'REFER',
        contact: `<${CONTACT}>`,
        headers: [['Refer-To', '<sip:1003@example.com>']],
      });
      const { site } = await lab.arrival(refer.callId);
      expect((await refer.final()).message.status).toBe(200);
      const got = await site.waitFor(({ message }) => message.method === 'REFER');
      const notify = await site.inDialog(got, 'NOTIFY', 1, {
        headers: [
          ['Event', 'refer'],
          ['Subscription-State', 'active;expires=60'],
          ['Content-Type', 'message/sipfrag'],
        ],
        body: 'SIP/2.0 100 Trying\r\n',
      });
      expect((await notify.final()).message.status).toBe(200);
      const { message } = await phone.waitFor((one) => one.message.method === 'NOTIFY');
      expect([message.uri, message.callId]).toEqual([CONTACT, refer.callId]);
    },
  );

  it('forged, truncated, lengthened or in another spelling: 403, each bit of it', async () => {
    const token = await tokenOf(phone);
    const flipped = [...Buffer.from(token, 'base64url').keys()].map((at) => {
      const bytes = Buffer.from(token, 'base64url');
      bytes[at]! ^= 1;
      return bytes.toString('base64url');
    });
    const bad = [
      ...flipped,
      token.slice(0, -1),
      token.slice(0, 20),
      token.slice(1),
      `${token}AA`,
      token.toLowerCase(),
      'x',
    ];
    for (const one of bad) expect([one, await present(one)]).toEqual([one, 403]);
    expect(reached()).toBe(0);
  });

  it('signed with somebody else’s key: 403, whatever id it claims', async () => {
    await tokenOf(phone);
    expect(await present(signedBy(OLD.secret, OLD.id))).toBe(200);
    for (const id of [1, 2, 7, 255])
      expect(await present(signedBy('a key of somebody else, as long', id))).toBe(403);
    expect(reached()).toBe(1);
  });

  it('replayed by an endpoint: 403; it leads nobody but sites to the phone', async () => {
    const token = await tokenOf(phone);
    const stranger = await lab.device('udp', { address: LAB_ADDRESSES.stranger });
    expect(await present(token, { by: stranger })).toBe(403);
    expect(await present(token, { by: phone })).toBe(403);
    expect(reached()).toBe(0);
  });

  it('from before a key rotation: taken while the old key is kept, 403 after', async () => {
    const token = await tokenOf(phone);
    lab.dsbc.reload(lab.config({ nat: { keys: [NEW, OLD] } }));
    expect(await present(token)).toBe(200);
    const renewed = await tokenOf(phone);
    expect(keyOf(renewed)).toBe(NEW.id);
    expect(await present(renewed)).toBe(200);
    lab.dsbc.reload(lab.config({ nat: { keys: [NEW] } }));
    expect(await present(token)).toBe(403);
    expect(await present(renewed)).toBe(200);
    expect(reached()).toBe(3);
  });

  it('presented to another instance: taken with the same keys, 403 without', async () => {
    const token = await tokenOf(phone);
    await lab.dsbc.stop();
    lab.dsbc = await lab.run({ instance: 'other' });
    expect(await present(token)).toBe(200);
    await lab.dsbc.stop();
    lab.dsbc = await lab.run({ instance: 'third', nat: { keys: [NEW] } });
    expect(await present(token)).toBe(403);
    await lab.dsbc.stop();
    lab.dsbc = await lab.run();
    expect(await present(token)).toBe(200);
    expect(reached()).toBe(2);
  });

  it('of a connection: leads along it while it is open; then it fails at once', async () => {
    const device = await lab.device('tcp');
    agreeWith(device);
    const token = await tokenOf(device, `${CONTACT};transport=tcp`);
    expect(await present(token)).toBe(200);
    expect(reached(device)).toBe(1);
    await device.close();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const start = performance.now();
    const status = await present(token);
    expect(status).toBe(430);
    expect(performance.now() - start).toBeLessThan(5000);
  });

  it('the old one of a phone that moved leads to where it was; the one it has now to where it is', async () => {
    const before = await tokenOf(phone);
    const moved = await lab.device('udp', { address: LAB_ADDRESSES.stranger });
    agreeWith(moved);
    const now = await tokenOf(moved);
    expect(now).not.toBe(before);
    expect(await present(now)).toBe(200);
    expect(reached(moved)).toBe(1);
    expect(reached(phone)).toBe(0);
  });
});
