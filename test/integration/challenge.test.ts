import { randomBytes } from 'node:crypto';
import { DsbcLab, type SiteName } from '../fixtures/dsbc-lab';
import type { FakeDevice } from '../fixtures/fake-device';
import type { SiteScript } from '../fixtures/fake-site';

const ACCOUNTS = 1000;

describe('a retry with credentials', () => {
  let lab: DsbcLab;
  let phones: FakeDevice[] = [];
  const challengedBy = new Map<string, SiteName>();
  beforeAll(async () => {
    // On a busy machine probes may be late; here only the challenge is to decide.
    lab = await DsbcLab.start({ config: { health: { interval_ms: 60_000 } } });
    for (let i = 0; i < ACCOUNTS; i++)
      await lab.registry.put({ kind: 'account', value: `5${i}`, system: 'source' });
  });
  beforeEach(async () => {
    phones = await Promise.all(Array.from({ length: 20 }, () => lab.device()));
    challengedBy.clear();
    for (const [name, site] of Object.entries(lab.sites)) site.script = challenging(name as SiteName);
  });
  afterEach(() => lab.tidy());
  afterAll(() => lab.stop());

  /** Challenges what has no credentials; accepts only nonces of its own. */
  const challenging =
    (name: SiteName): SiteScript =>
    ({ message }) => {
      if (message.method !== 'REGISTER') return { status: 200 };
      const nonce = /nonce="([^"]+)"/.exec(message.get('authorization') ?? '')?.[1];
      if (nonce !== undefined) return { status: challengedBy.get(nonce) === name ? 200 : 403 };
      const fresh = randomBytes(8).toString('hex');
      challengedBy.set(fresh, name);
      return { status: 401, headers: [['WWW-Authenticate', `Digest realm="example.com", nonce="${fresh}"`]] };
    };

  const challenge = async (account: string, phone = phones[0]!): Promise<string> => {
    const register = await phone.request({ method: 'REGISTER', from: account });
    const { message } = await register.final(10_000);
    return /nonce="([^"]+)"/.exec(message.get('www-authenticate') ?? '')?.[1] ?? '';
  };
  const answer = async (account: string, nonce: string, phone = phones[0]!): Promise<number> => {
    const credentials = `Digest username="${account}", realm="example.com", nonce="${nonce}", uri="sip:example.com", response="0"`;
    const register = await phone.request({
      method: 'REGISTER',
      from: account,
      cseq: 2,
      headers: [['Authorization', credentials]],
    });
    return (await register.final(10_000)).message.status;
  };
  /** Each phone one after the other, all phones at once. */
  async function each(work: (account: string, phone: FakeDevice) => Promise<void>): Promise<void> {
    const accounts = Array.from({ length: ACCOUNTS }, (_, i) => `5${i}`);
    await Promise.all(
      phones.map(async (phone) => {
        for (let account = accounts.pop(); account !== undefined; account = accounts.pop()) {
          await work(account, phone);
          phone.received.length = 0;
        }
      }),
    );
  }

  it('reaches the site that challenged, 1,000 of 1,000, also after a restart in between', async () => {
    const nonces = new Map<string, string>();
    await each(async (account, phone) => void nonces.set(account, await challenge(account, phone)));
    expect(new Set(challengedBy.values())).toEqual(new Set(['source/main', 'source/a', 'source/b']));
    await lab.dsbc.stop();
    lab.dsbc = await lab.run();
    const statuses: number[] = [];
    await each(
      async (account, phone) => void statuses.push(await answer(account, nonces.get(account)!, phone)),
    );
    const others = statuses.filter((status) => status !== 200);
    expect([statuses.length, others]).toEqual([ACCOUNTS, []]);
  }, 60_000);

  it('reaches it also when shares and an operator’s word changed in between', async () => {
    const nonces = new Map<string, string>();
    for (let i = 0; i < 50; i++) nonces.set(`5${i}`, await challenge(`5${i}`));
    lab.dsbc.reload({
      ...lab.config(),
      systems: {
        ...lab.config().systems,
        source: { ...lab.config().systems['source']!, load_distribution: { main: 0, a: 0, b: 100 } },
      },
    });
    await lab.registry.putDecision({
      system: 'source',
      site: 'main',
      state: 'maintenance',
      by: 'test',
      at: '2026-01-01T00:00:00Z',
      why: 'update',
    });
    const fresh = await challenge('51');
    expect(challengedBy.get(fresh)).toBe('source/b');
    const statuses = [];
    for (const [account, nonce] of nonces) statuses.push(await answer(account, nonce));
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it('reaches it also when its customer was exported in between, once; then his nonce goes where he is', async () => {
    await lab.registry.put({ kind: 'account', value: '6000', system: 'source', customer: 'acme' });
    await lab.registry.putCustomer({ id: 'acme', source: 'source', target: 'target', exported: false });
    const nonce = await challenge('6000');
    expect(challengedBy.get(nonce)).toMatch(/^source\//);
    await lab.registry.putCustomer({ id: 'acme', source: 'source', target: 'target', exported: true });
    expect(await answer('6000', nonce)).toBe(200);
    expect(await answer('6000', nonce)).toBe(403);
    expect(challengedBy.get(await challenge('6000'))).toMatch(/^target\//);
  });
});
