import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { main } from '../../plugin/cli/main';
import { openRegistry } from '../../plugin/registry/open';
import { RecordedIo } from '../fixtures/io';

const HANDED = resolve(__dirname, '../fixtures/handed');

describe('dsbc explain', () => {
  let dir: string;
  let file: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dsbc-explain-'));
    file = join(dir, 'dsbc.yaml');
    await writeFile(
      file,
      `domains: [example.com]
sip_servers:
  - { name: main, server: embedded, entry: { address: 198.51.100.10 } }
  - { name: captured, server: embedded, entry: { address: 127.77.100.10 } }
systems:
  source:
    sites:
      main: { nodes: [{ uri: 'sip:198.51.100.21:5060' }] }
      a: { nodes: [{ uri: 'sip:198.51.100.22:5060' }] }
  target:
    domain: target.example.com
    sites: { main: { nodes: [{ uri: 'sip:198.51.100.31:5060' }] } }
peers: [{ name: vendor-a, nets: [192.0.2.64/26, 127.77.2.70] }]
registry: { driver: lmdb, path: registry.lmdb }
`,
    );
    const registry = await openRegistry({
      driver: 'lmdb',
      path: join(dir, 'registry.lmdb'),
      max_size_mb: 100,
      changes_poll_ms: 1000,
      on_error: 'reject',
    });
    await registry.put({ kind: 'account', value: '1001', system: 'source', site: 'a' });
    await registry.put({ kind: 'account', value: '1002', system: 'target' });
    await registry.put({ kind: 'account', value: '1003', system: 'source', site: 'gone' });
    await registry.put({ kind: 'did', value: '+12025550123', system: 'target', account: '1002' });
    await registry.close();
  });
  afterAll(() => rm(dir, { recursive: true }));
  const explain = async (...options: string[]) => {
    const io = new RecordedIo();
    const code = await main(['explain', '-c', file, ...options], io);
    return { code, out: io.stdout, err: io.stderr };
  };
  const phone = ['--source', '203.0.113.7:40123'];
  const invite = ['--method', 'INVITE', ...phone];

  it('says where a call goes and why', async () => {
    const { code, out } = await explain(...invite, '--from', '1001', '--to', '+12025550123');
    expect(code).toBe(0);
    expect(out).toMatch(/^Sent to source\/a at sip:198\.51\.100\.22:5060; if that fails: main at/);
    expect(out).toContain('203.0.113.7 is an endpoint');
    expect(out).toContain('account 1001 (');
    expect(out).toContain('in system source');
  });

  it('says that an account is pinned to a site that is not there', async () => {
    const { code, out } = await explain(...invite, '--from', '1003', '--to', '1003');
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(
        'the registry pins the key to site gone, which system source does not have: it counts as not pinned',
      ),
    ]);
  });

  it.each([
    ['FOO', 'Answered here: 501 Not Implemented', 'is not a method we carry'],
    ['BYE', 'Answered here: 481', 'belongs to a dialog'],
    ['ACK', 'Dropped without an answer', 'belongs to a dialog'],
  ])('says what becomes of %s, which is not asked of us', async (method, verdict, because) => {
    const { code, out } = await explain('--method', method, ...phone, '--from', '1001', '--to', '1002');
    expect([code, out]).toEqual([1, expect.stringContaining(because)]);
    expect(out.startsWith(verdict)).toBe(true);
  });

  it('says that a REFER is carried as any other request', async () => {
    const { code, out } = await explain('--method', 'REFER', ...phone, '--from', '1001', '--to', '1002');
    expect([code, out]).toEqual([0, expect.stringMatching(/^Sent to source\/a .*/)]);
    expect(out).toContain('proxy, ');
  });

  it('says the same as JSON', async () => {
    const { out } = await explain(...invite, '--from', '1001', '--to', '1002', '--json');
    expect(JSON.parse(out)).toMatchObject({
      kind: 'dispatch',
      system: 'source',
      plan: [{ site: 'a' }, { site: 'main' }],
      requestUri: expect.stringMatching(/^sip:1002@example\.com/),
      steps: expect.arrayContaining([expect.objectContaining({ step: 'registry' })]),
    });
  });

  it("takes a vendor's call to the system that has the DID", async () => {
    const { out } = await explain(
      '--method',
      'invite',
      '--source',
      '192.0.2.70',
      '--from',
      '+4420',
      '--to',
      '+12025550123',
      '--json',
    );
    expect(JSON.parse(out)).toMatchObject({ kind: 'dispatch', system: 'target', plan: [{ site: 'main' }] });
  });

  it('H26: takes a REGISTER by its account', async () => {
    const { out } = await explain('--method', 'REGISTER', ...phone, '--from', '1002', '--json');
    expect(JSON.parse(out)).toMatchObject({
      kind: 'dispatch',
      system: 'target',
      relay: 'forward',
      requestUri: 'sip:target.example.com',
    });
  });

  it('supposes a site out of service', async () => {
    const { out } = await explain(...invite, '--from', '1001', '--to', '1002', '--out', 'source/a', '--json');
    expect(JSON.parse(out).plan).toMatchObject([{ site: 'main' }]);
    expect(await explain(...invite, '--from', '1001', '--to', '1002', '--out', 'source/x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--out source/x: There is no site source/x: system source has main, a.'),
    });
  });

  it('says that it takes the called party for the caller, where none is named', async () => {
    expect((await explain(...invite, '--to', '1001')).out).toContain(
      '  caller    no --from: the caller is taken to be 1001, too\n',
    );
    expect((await explain(...invite, '--to', '1001', '--from', '1002')).out).not.toContain('no --from');
  });

  it('exits 1 for what would be refused, and says why', async () => {
    const { code, out } = await explain(...invite, '--from', '4998', '--to', '4999');
    expect(code).toBe(1);
    expect(out).toMatch(/^Answered here: 404 Not Found\n/);
    expect(out).toContain('the registry knows none of them');
  });

  it('exits 0 for a call that is redirected to the system that has it', async () => {
    const site = ['--method', 'INVITE', '--source', '198.51.100.21'];
    const { code, out } = await explain(...site, '--from', '1001', '--to', '1002');
    expect([code, out]).toEqual([0, expect.stringMatching(/^Answered here: 302 /)]);
  });

  it('explains a raw message and a captured one, with the source of the capture', async () => {
    const raw = join(HANDED, '04-register-nat-rport.sip');
    const { out } = await explain('--trace', raw, ...phone, '--json');
    expect(JSON.parse(out)).toMatchObject({ kind: 'dispatch', system: 'source' });
    const capture = join(dir, 'capture.txt');
    await writeFile(
      capture,
      `12:00:00.000000 IP 192.0.2.70.5060 > 198.51.100.10.5060: SIP: INVITE\nE..x....INVITE sip:+12025550123@198.51.100.10 SIP/2.0\nVia: SIP/2.0/UDP 192.0.2.70;branch=z9hG4bK-1\nMax-Forwards: 70\nFrom: <sip:a@b.example>;tag=1\nTo: <sip:+12025550123@198.51.100.10>\nCall-ID: c\nCSeq: 1 INVITE\nContact: <sip:192.0.2.70>\nContent-Length: 0\n\n`,
    );
    const captured = await explain('--trace', capture, '--json');
    expect(JSON.parse(captured.out)).toMatchObject({ kind: 'dispatch', system: 'target' });
  });

  it.each(['tcpdump-A', 'tcpdump-X', 'tshark-V', 'tshark-x', 'tshark-follow'])(
    'explains what %s printed',
    async (name) => {
      const trace = resolve(__dirname, `../fixtures/captures/${name}.txt`);
      const { code, out } = await explain('--trace', trace, '--server', 'captured');
      expect(code).toBe(0);
      expect(out).toMatch(/^Sent to target\/main at sip:198\.51\.100\.31:5060\n/);
      expect(out).toContain('127.77.2.70 is peer vendor-a');
      expect(out).toContain('did +12025550123 (the called number): in system target');
    },
  );

  it('says how a malformed message is answered', async () => {
    const bad = join(dir, 'bad.sip');
    await writeFile(bad, 'INVITE sip:1002@example.com SIP/2.0\r\nTo: <sip:1002@example.com>\r\n\r\n');
    const { code, out } = await explain('--trace', bad, ...phone);
    expect(code).toBe(1);
    expect(out).toMatch(/^Answered here: 400 /);
  });

  it.each([
    [['--method', 'INVITE', '--to', '1002'], '--source is missing'],
    [['--method', 'INVITE', '--source', 'phone.example.com', '--to', '1'], '--source is an address'],
    [['--source', '192.0.2.1', '--to', '1002'], '--method is missing'],
    [['--method', 'INVITE', '--source', '192.0.2.1'], '--to is missing'],
    [['--method', 'REGISTER', '--source', '192.0.2.1'], '--from is missing'],
    [
      ['--method', 'INVITE', '--source', '192.0.2.1', '--to', '1', '--transport', 'sctp'],
      '--transport is one of',
    ],
    [
      ['--method', 'INVITE', '--source', '192.0.2.1', '--to', '1', '--server', 'x'],
      '--server is one of main',
    ],
    [['--trace', '/nowhere', '--source', '192.0.2.1'], '/nowhere cannot be read'],
  ])('says what is missing or wrong in %j', async (options, text) => {
    expect(await explain(...options)).toMatchObject({ code: 2, err: expect.stringContaining(text) });
  });
});
