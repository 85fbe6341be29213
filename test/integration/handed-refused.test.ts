import { createServer, type AddressInfo, type Server } from 'node:net';
import type { ConfigInput } from '../../plugin/config/types';
import { createMemoryRegistry } from '../../plugin/registry/memory';
import { DsbcLab } from '../fixtures/dsbc-lab';
import type { FakeDevice } from '../fixtures/fake-device';
import { FakeSite } from '../fixtures/fake-site';
import { figure } from '../fixtures/load/figures';
import { describeWith } from '../fixtures/needs';
import { freePort } from '../fixtures/sip-endpoint';
import { sipServerKind } from '../fixtures/sip-server';

/** H15 (a): milliseconds within which the next site has to have the request. */
const LIMIT_MS = 100;

/** How a node that is not there says so. */
const REFUSALS = ['udp: ICMP', 'tcp: refused', 'tcp: reset'] as const;
/** A phone that is where it says, whose calls are proxied; one behind NAT, whose dialogs go through us. */
const PHONES = ['direct', 'behind NAT'] as const;
const METHODS = ['REGISTER', 'MESSAGE', 'INVITE', 'SUBSCRIBE'] as const;

const CASES = REFUSALS.flatMap((refusal) =>
  PHONES.flatMap((from) => METHODS.map((method) => ({ refusal, from, method }))),
).map((one, index) => ({
  ...one,
  index,
  account: `8${String(index).padStart(3, '0')}`,
  system: `s${index}`,
}));

type Case = (typeof CASES)[number];
/** Account of a site that is there. */
const WARM = '8999';

/**
 * Each case has a system of its own: its main site, which takes all of the load, is a port of 127.0.7.1 where nobody is;
 * behind it stands a backup.
 */
// The embedded server hears of ICMP by the addon.
const needs = sipServerKind === 'embedded' ? (['addon'] as const) : [];
describeWith(needs, `H15: a site that refuses (${sipServerKind})`, () => {
  let lab: DsbcLab;
  let phone: FakeDevice;
  const backups: FakeSite[] = [];
  const resetting: Server[] = [];
  const took: Record<string, number> = {};

  /** Takes connections and resets them at the first byte. */
  async function resettingPort(): Promise<number> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.resetAndDestroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.7.1', resolve));
    resetting.push(server);
    return (server.address() as AddressInfo).port;
  }

  const ports = new Set<number>();
  /** One that no other case has: the same port may be free twice. */
  async function refusingPort(): Promise<number> {
    const port = await freePort('127.0.7.1');
    if (ports.has(port)) return await refusingPort();
    ports.add(port);
    return port;
  }

  beforeAll(async () => {
    const systems: NonNullable<ConfigInput['systems']> = {};
    const registry = createMemoryRegistry();
    for (const { system, account, refusal } of CASES) {
      const backup = await FakeSite.open({ address: '127.0.7.2' });
      backups.push(backup);
      const port = refusal === 'tcp: reset' ? await resettingPort() : await refusingPort();
      const suffix = refusal.startsWith('tcp') ? ';transport=tcp' : '';
      systems[system] = {
        load_distribution: { main: 100, a: 0 },
        sites: {
          main: { nodes: [{ uri: `sip:127.0.7.1:${port}${suffix}` }] },
          a: { nodes: [{ uri: `${backup.uri}${suffix}` }] },
        },
      };
      await registry.put({ kind: 'account', value: account, system });
    }
    await registry.put({ kind: 'account', value: WARM, system: 'warm' });
    const site = await FakeSite.open({ address: '127.0.7.2' });
    backups.push(site);
    systems['warm'] = { sites: { main: { nodes: [{ uri: site.uri }] } } };
    // Probes are as good as none: what is sent finds out.
    const health = { interval_ms: 60_000 };
    lab = await DsbcLab.start({ registry, entries: [], config: { health, systems, outbound: {} } });
    phone = await lab.device();
    // What has never run is slow.
    for (const from of PHONES)
      for (const method of METHODS) await (await send({ from, method, account: WARM })).final();
  });
  afterAll(async () => {
    figure(`H15 (a), milliseconds (${sipServerKind})`, took);
    for (const server of resetting) server.close();
    for (const one of backups) await one.close();
    await lab.stop();
  });

  const stateOf = (system: string): string | undefined =>
    lab.dsbc.health
      .reports()
      .find(
        ({ server, destination }) =>
          server === 'vip' && destination.system === system && destination.site === 'main',
      )?.health.state;

  const send = ({ from, method, account }: Pick<Case, 'from' | 'method' | 'account'>) =>
    phone.request({
      method,
      from: account,
      to: account,
      ...(from === 'direct' ? {} : { contact: `<sip:${account}@192.0.2.33:5060>` }),
      headers: method === 'SUBSCRIBE' ? [['Event', 'presence']] : [],
      ...(method === 'MESSAGE' ? { body: 'x', headers: [['Content-Type', 'text/plain']] } : {}),
    });

  it.each(CASES)('$refusal: $method of a phone $from', async (one) => {
    const { refusal, from, method, system, index } = one;
    const sentAt = performance.now();
    const request = await send(one);
    await backups[index]!.waitForRequest(method, 4000);
    const milliseconds = performance.now() - sentAt;
    took[`${refusal}, ${method} ${from}`] = Math.round(milliseconds);
    expect((await request.final()).message.status).toBe(200);
    expect(milliseconds).toBeLessThan(LIMIT_MS);
    expect(stateOf(system)).toBe('down');
  });
});
