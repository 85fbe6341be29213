import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { main } from '../../plugin/cli/main';
import { RecordedIo } from '../fixtures/io';
import { tlsIdentity } from '../fixtures/tls-identity';

const YAML = `domains: [example.com]
sip_servers: [{ name: main, server: embedded, entry: { address: 127.0.0.1 } }]
systems:
  source:
    load_distribution: { main: 50, a: 30, b: 20 }
    sites:
      main: { nodes: [{ uri: 'sip:127.0.0.11:5060' }] }
      a: { nodes: [{ uri: 'sip:127.0.0.12:5060' }] }
      b: { nodes: [{ uri: 'sip:127.0.0.13:5060' }] }
  target:
    sites:
      main: { nodes: [{ uri: 'sip:127.0.0.21:5060' }] }
`;

describe('dsbc check', () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dsbc-check-'));
  });
  afterAll(() => rm(dir, { recursive: true }));
  const check = async (yaml: string, ...options: string[]) => {
    const file = join(dir, 'dsbc.yaml');
    await writeFile(file, yaml);
    const io = new RecordedIo();
    const code = await main(['check', '-c', file, ...options], io);
    return { code, out: io.stdout, err: io.stderr, file };
  };

  it('H16: shows the shares now and with each site out, the lost share split equally', async () => {
    const { code, out } = await check(YAML, '--json');
    expect(code).toBe(0);
    const { source, target } = JSON.parse(out).systems;
    expect(source.shares).toEqual({ main: 0.5, a: 0.3, b: 0.2 });
    expect(source.without.main.a).toBeCloseTo(0.55);
    expect(source.without.main.b).toBeCloseTo(0.45);
    expect(source.without.a.main).toBeCloseTo(0.65);
    expect(source.without.a.b).toBeCloseTo(0.35);
    expect(target).toMatchObject({ shares: { main: 1 }, without: { main: { main: 0 } } });
  });

  it('prints them as a table, and the advice below', async () => {
    const { out } = await check(YAML);
    expect(out).toContain('is valid.');
    expect(out).toMatch(/now +50 % +30 % +20 %/);
    expect(out).toMatch(/without main +- +55 % +45 %/);
    expect(out).toContain('Notes\n');
    expect(out).toMatch(/single_site at systems\.target\.sites \(main\)\n +The system has one site/);
  });

  it('exits 3 and shows every error with file and line', async () => {
    const { code, err, out, file } = await check(`${YAML}mtu: 1\ncolour: red\n`);
    expect([code, out]).toEqual([3, '']);
    expect(err).toContain(`${file}:13: mtu: expected`);
    expect(err).toContain(`${file}:14: colour: expected`);
  });

  it('gives errors as JSON too', async () => {
    const { code, out } = await check(`${YAML}mtu: 1\n`, '--json');
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({
      valid: false,
      code: 'DSBC_CONFIG_INVALID',
      problems: [{ line: 13, path: 'mtu', expected: 'a number from 576 to 65507', found: '1' }],
    });
  });

  it('says that a file is not there, with exit code 3', async () => {
    const io = new RecordedIo();
    expect(await main(['check', '-c', join(dir, 'none.yaml')], io)).toBe(3);
    expect(io.stderr).toContain('cannot be read');
    expect(io.stderr).toContain('name the file with -c FILE');
  });

  it('warns of files that are not there, cannot be used, or cannot be written', async () => {
    await writeFile(join(dir, 'real.pem'), `${tlsIdentity.cert}${tlsIdentity.key}`);
    await writeFile(
      join(dir, 'broken.pem'),
      '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
    );
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    await writeFile(join(dir, 'other.pem'), other.export({ type: 'pkcs8', format: 'pem' }));
    await writeFile(join(dir, 'text.pem'), 'no certificate\n');
    const adviceOf = async (yaml: string, ...options: string[]) => {
      const { out, code } = await check(yaml, '--json', ...options);
      expect(code).toBe(0);
      return (JSON.parse(out).advice as { code: string; path: string; about: string }[])
        .filter(({ code: name }) => /file_|registry_un/.test(name))
        .map(({ code: name, path, about }) => `${name} ${path}: ${about.replaceAll(dir, '')}`);
    };
    const admin = (cert: string, key: string) => `${YAML}admin: { cert_file: ${cert}, key_file: ${key} }\n`;
    expect(await adviceOf(admin('real.pem', 'real.pem'))).toEqual([]);
    expect(await adviceOf(admin('none.pem', 'text.pem'))).toEqual([
      "file_unreadable admin.cert_file: ENOENT: no such file or directory, open '/none.pem'",
      expect.stringMatching(/^file_unreadable admin.key_file: \/text.pem: .*(DECODER|no start line)/),
    ]);
    expect(await adviceOf(admin('text.pem', 'real.pem'))).toEqual([
      'file_unreadable admin.cert_file: /text.pem: there is no certificate in it',
    ]);
    expect(await adviceOf(admin('broken.pem', 'real.pem'))).toEqual([
      expect.stringMatching(/^file_unreadable admin.cert_file: \/broken.pem: /),
    ]);
    expect(await adviceOf(admin('real.pem', 'other.pem'))).toEqual([
      'file_unreadable admin.key_file: another one in /other.pem',
    ]);
    expect(
      await adviceOf(`${YAML}log: { syslog: { host: 127.0.0.1, protocol: tls, ca_file: none.pem } }\n`),
    ).toEqual(["file_unreadable log.syslog.ca_file: ENOENT: no such file or directory, open '/none.pem'"]);
    expect(await adviceOf(admin('none.pem', 'text.pem'), '--no-files')).toEqual([]);
    const registry = (path: string) => `${YAML}registry: { driver: lmdb, path: ${path} }\n`;
    expect(await adviceOf(registry('registry.lmdb'))).toEqual([]);
    expect(await adviceOf(registry('nowhere/registry.lmdb'))).toEqual([
      "registry_unwritable registry.path: ENOENT: no such file or directory, access '/nowhere'",
    ]);
    expect((await check(admin('none.pem', 'real.pem'), '--strict')).code).toBe(1);
    expect((await check(admin('none.pem', 'real.pem'), '--strict', '--no-files')).code).toBe(0);
  });

  it('fails for warnings only when told to be strict', async () => {
    const warned = `${YAML}mtu: 1400\n`;
    expect((await check(warned)).code).toBe(0);
    expect((await check(warned, '--strict')).code).toBe(1);
    expect((await check(YAML, '--strict')).code).toBe(0);
  });
});
