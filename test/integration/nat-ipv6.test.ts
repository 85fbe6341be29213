import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { parseUri } from '../../plugin/message/uri';
import { Lab } from '../fixtures/lab/lab';
import { startDsbc } from '../fixtures/lab/program';
import { ScriptedSite } from '../fixtures/lab/scripted-site';
import { UserAgent } from '../fixtures/lab/user-agent';
import { describeWith } from '../fixtures/needs';

jest.setTimeout(60_000);

const ENTRY = '2001:db8::10';
const SITE = '2001:db8::21';
const PHONE = '2001:db8::33';
const DOMAIN = 'example.com';

describeWith(['netns'], 'an IPv6 phone, the embedded SIP server', () => {
  let lab: Lab;
  let site: ScriptedSite;
  let folder: string;
  beforeAll(async () => {
    lab = await Lab.create();
    folder = await mkdtemp(path.join(tmpdir(), 'dsbc-six-'));
    const internet = await lab.network('internet');
    const hosts = [];
    for (const [name, address] of [
      ['dsbc', ENTRY],
      ['site', SITE],
      ['phone', PHONE],
    ] as const) {
      const host = await lab.host(name);
      await internet.attach(host, { addresses: [`${address}/64`] });
      hosts.push(host);
    }
    const [dsbcHost, siteHost] = hosts;
    site = await ScriptedSite.open(siteHost!, SITE, DOMAIN);
    const file = path.join(folder, 'dsbc.yaml');
    await writeFile(
      file,
      stringify({
        instance: 'dsbc',
        domains: [DOMAIN],
        sip_servers: [{ name: 'main', entry: { address: ENTRY, port: 5060 }, server: 'embedded' }],
        default_system: 'source',
        systems: { source: { sites: { main: { nodes: [{ uri: `sip:[${SITE}]:5060` }] } } } },
        nat: { keys: [{ id: 1, secret: 'a-key-for-flow-tokens' }] },
      }),
    );
    await startDsbc(dsbcHost!, ['run', '-c', file]).waitFor(/"msg":"serving"/, 15_000);
    phoneHost = hosts[2]!;
  });
  let phoneHost!: Awaited<ReturnType<Lab['host']>>;
  afterAll(async () => {
    await site.close();
    await lab.close();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(['udp', 'tcp'] as const)(
    'H06 over %s: registers, calls, and is called along a Path that parses, at its address and port',
    async (transport) => {
      const phone = await UserAgent.openIn({
        ...{ host: phoneHost, address: PHONE, port: 5070, user: '1002', domain: DOMAIN },
        ...{ password: 'secret', transport },
      });
      try {
        const entry = { address: ENTRY, port: 5060, transport };
        expect((await phone.register(entry)).message.status).toBe(200);
        const value = site.registrations.get('1002')!.path;
        expect(value).toHaveLength(1);
        const uri = parseUri(/^<([^>]+)>$/.exec(value[0]!)![1]!);
        expect(uri).toMatchObject({ scheme: 'sip', host: `[${ENTRY}]`, port: 5060 });
        expect(uri!.user).toMatch(/^[\w-]{60,68}$/);

        const call = await site.callPhone('1002');
        const own = await phone.nextCall();
        expect(own.invite?.from.address).toBe(ENTRY);
        expect(await own.bye()).toBe(200);
        await call.untilEnded();

        const out = await phone.call(`sip:1009@${DOMAIN}`, entry);
        const far = await site.agent.nextCall();
        expect(await far.bye()).toBe(200);
        await out.untilEnded();
      } finally {
        await phone.close();
      }
    },
  );
});
