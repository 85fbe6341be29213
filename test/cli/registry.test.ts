import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { main } from '../../plugin/cli/main';
import { openLmdbRegistry } from '../../plugin/registry/lmdb';

const ROOT = join(__dirname, '../..');
let dir: string;
let config: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'dsbc-cli-'));
  config = join(dir, 'dsbc.yaml');
  writeFileSync(
    config,
    `instance: dsbc-1
domains: [example.com]
sip_servers: [{ name: main, server: embedded, entry: { address: 127.0.0.1, port: 5060, transports: [udp] } }]
default_system: source
systems:
  source: { sites: { main: { nodes: [{ uri: 'sip:127.0.0.2:5060' }] } }, load_distribution: auto }
  target: { sites: { main: { nodes: [{ uri: 'sip:127.0.0.3:5060' }] } }, load_distribution: auto }
registry: { driver: lmdb, path: ./registry.lmdb }
`,
  );
});
afterEach(() => rmSync(dir, { recursive: true }));

async function dsbc(...argv: string[]) {
  const said = { out: '', err: '' };
  const signal = new AbortController().signal;
  const io = {
    out: (text: string) => void (said.out += text),
    err: (text: string) => void (said.err += text),
    signal,
    isTerminal: false,
  };
  const code = await main([...argv, '-c', config], io);
  return { code, ...said };
}

describe('dsbc registry', () => {
  it('makes, changes and shows what is in the registry', async () => {
    expect(await dsbc('registry', 'init')).toMatchObject({ code: 0 });
    expect(await dsbc('registry', 'init')).toMatchObject({ code: 0 });
    const put = await dsbc(
      'registry',
      'put',
      '1001',
      '--kind',
      'account',
      '--system',
      'source',
      '--customer',
      'acme',
    );
    expect(put).toMatchObject({ code: 0, err: '' });
    await dsbc('customer', 'export', 'acme', '--from', 'source', '--to', 'target');
    const { out } = await dsbc('registry', 'get', '1001', '--json');
    expect(JSON.parse(out)).toEqual({
      entry: { kind: 'account', value: '1001', system: 'source', customer: 'acme' },
      answer: { kind: 'account', system: 'target', customer: 'acme' },
    });
    expect((await dsbc('customer', 'rollback', 'acme', '--json')).out).toContain('"exported":false');
    expect((await dsbc('customer', 'show')).out).toBe(
      'customer acme: served by source (may move to target)\n',
    );
    expect((await dsbc('registry', 'delete', '1001', '--kind', 'account')).code).toBe(0);
    expect(await dsbc('registry', 'get', '1001')).toMatchObject({
      code: 1,
      err: expect.stringContaining('1001'),
    });
  });

  it.each([
    [['registry'], 'say what to do'],
    [['registry', 'frob'], 'no "registry frob"'],
    [['registry', 'put', '1'], '--kind and --system'],
    [['registry', 'get', '1', '--kind', 'phone'], 'account, did'],
    [['registry', 'get'], 'missing: KEY'],
    [['registry', 'import'], 'missing: FILE'],
    [['registry', 'import', '/no/such/file'], 'cannot be read: ENOENT'],
    [['registry', 'import', '/'], '/ is a folder, not a file'],
    [['registry', 'export', '/no/such/file.csv'], 'cannot be written: ENOENT'],
    [['customer'], 'say what to do: show, export, rollback'],
    [['customer', 'move', 'acme'], 'no "customer move"'],
    [['customer', 'export'], 'missing: ID'],
    [['customer', 'export', 'new'], '--from SYSTEM'],
  ])('says what is wrong with %j', async (argv, text) => {
    await dsbc('registry', 'init');
    expect(await dsbc(...argv)).toMatchObject({ code: 2, err: expect.stringContaining(text) });
  });

  it.each([
    ['registry', 'get', '1'],
    ['registry', 'delete', '1', '--kind', 'account'],
    ['registry', 'export', '-'],
    ['registry', 'bench'],
    ['customer', 'show'],
    ['customer', 'export', 'acme', '--from', 'source', '--to', 'target'],
  ])('makes no registry by "%s %s"', async (...argv) => {
    const path = join(dir, 'registry.lmdb');
    expect(await dsbc(...argv)).toEqual({
      code: 1,
      out: '',
      err: `dsbc: there is no registry at ${path}: look at registry.path, or make one with "dsbc registry init" (DSBC_REGISTRY_UNAVAILABLE)\n`,
    });
    expect(existsSync(path)).toBe(false);
  });

  it('makes none for who only asks what would be, and says so', async () => {
    const file = join(dir, 'in.csv');
    writeFileSync(file, 'kind,value,system\naccount,1,source\n');
    const path = join(dir, 'registry.lmdb');
    expect(await dsbc('registry', 'import', file, '--dry-run', '--replace')).toEqual({
      code: 0,
      out: '2 lines read, 1 rows would be imported, 0 rejected\n',
      err: expect.stringContaining(`note: there is no registry at ${path}: the import would make it\n`),
    });
    const call = ['--method', 'INVITE', '--source', '192.0.2.1', '--from', '1', '--to', '2'];
    expect((await dsbc('explain', ...call)).out).toContain(`there is no registry at ${path} yet`);
    expect(existsSync(path)).toBe(false);
  });

  it('says that a folder is no registry', async () => {
    mkdirSync(join(dir, 'registry.lmdb'));
    expect((await dsbc('registry', 'get', '1')).err).toContain('is a folder: registry.path names a file');
    expect((await dsbc('check')).out).toContain('registry.lmdb is a folder, not a file');
  });

  it('moves no customer to or from a system that is not configured', async () => {
    await dsbc('registry', 'init');
    for (const systems of [
      ['--from', 'source', '--to', 'taget'],
      ['--from', 'sorce', '--to', 'target'],
    ])
      expect(await dsbc('customer', 'export', 'acme', ...systems)).toMatchObject({
        code: 2,
        err: expect.stringMatching(
          /the configuration has no system "(taget|sorce)", it has source, target\n/,
        ),
      });
    expect((await dsbc('customer', 'show')).out).toBe('');
    writeFileSync(
      join(dir, 'in.csv'),
      'kind,value,system,source,target,exported\ncustomer,acme,,source,gone,\ncustomer,back,,source,gone,true\n',
    );
    await dsbc('registry', 'import', join(dir, 'in.csv'));
    expect(await dsbc('customer', 'export', 'acme')).toMatchObject({
      code: 2,
      err: expect.stringContaining('customer "acme": the configuration has no system "gone"'),
    });
    // Back from a system that is gone is the way out.
    expect((await dsbc('customer', 'rollback', 'back')).code).toBe(0);
  });

  it('says that a customer is new to the registry', async () => {
    await dsbc('registry', 'init');
    const move = ['customer', 'export', 'nobody', '--from', 'source', '--to', 'target'];
    expect(await dsbc(...move)).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^note: the registry did not know the customer "nobody"/),
    });
    expect(await dsbc(...move)).toMatchObject({ code: 0, err: '' });
  });

  it.each([
    ['', 'line 1: the file has no header: kind,value,system,'],
    [
      'kind;value;system\naccount;1;source\n',
      `line 1: the header's columns must be separated by commas, not by ";"`,
    ],
    ['account,1,source\n', 'line 1: the header names an unknown column "1"; known: kind,'],
    ['kind,value\naccount,1\n', 'line 1: the header lacks the column "system"; known: kind,'],
    ['kind,value,system\nacount,1,source\n', 'line 2: kind must be one of account, did, customer'],
  ])('says at once why it rejects %j', async (text, reason) => {
    const file = join(dir, 'in.csv');
    writeFileSync(file, text);
    const { code, out } = await dsbc('registry', 'import', file);
    expect([code, out]).toEqual([1, expect.stringContaining(`\n  ${reason}`)]);
    expect(readFileSync(`${file}.rejected`, 'utf8')).toContain(reason);
  });

  it('shows the first of many rejected lines only', async () => {
    const file = join(dir, 'in.csv');
    writeFileSync(file, `kind,value,system\n${'did,1\n'.repeat(9)}`);
    const { out } = await dsbc('registry', 'import', file);
    expect(out.match(/^ {2}line \d: 2 fields instead of 3$/gm)).toHaveLength(3);
  });

  it('exports what it imported, reports what it could not, and replaces only after a yes', async () => {
    const file = join(dir, 'in.csv');
    writeFileSync(file, 'kind,value,system\naccount,1,source\nphone,2,source\ndid,+3,target\n');
    expect(await dsbc('registry', 'import', file)).toMatchObject({
      code: 1,
      out: expect.stringContaining('4 lines read, 2 rows imported, 1 rejected'),
    });
    expect(readFileSync(`${file}.rejected`, 'utf8')).toMatch(/^line 3: kind must be/);
    const exported = await dsbc('registry', 'export', '-', '--format', 'jsonl');
    expect(exported.out.trim().split('\n')).toHaveLength(2);
    writeFileSync(file, 'kind,value,system\naccount,9,source\n');
    expect(await dsbc('registry', 'import', file, '--replace')).toMatchObject({
      code: 1,
      out: expect.stringContaining('nothing was deleted: not confirmed (--yes confirms)'),
      err: expect.stringContaining('1 entries would be deleted'),
    });
    const { out } = await dsbc('registry', 'import', file, '--replace', '--yes', '--json');
    expect(JSON.parse(out)).toMatchObject({ written: 1, deleted: 1 });
    expect((await dsbc('registry', 'export', '-')).out).toContain('did,+3,target');
    expect(existsSync(`${file}.seen.lmdb`)).toBe(false);
    expect(existsSync(`${file}.progress`)).toBe(false);
  });

  it('tells of systems and sites that the configuration does not have, and imports them', async () => {
    const file = join(dir, 'in.csv');
    writeFileSync(
      file,
      [
        'kind,value,system,site,source,target',
        'account,1,source,main,,',
        'account,2,sorce,,,',
        'account,3,sorce,,,',
        'account,4,source,mian,,',
        'customer,acme,,,source,traget',
        '',
      ].join('\n'),
    );
    const told = [
      '2 rows name system sorce, which the configuration does not have; the first is line 3',
      '1 row names site source/mian, which the configuration does not have; the first is line 5',
      '1 row names system traget, which the configuration does not have; the first is line 6',
    ];
    for (const options of [['--dry-run'], []]) {
      const { code, out } = await dsbc('registry', 'import', file, ...options);
      expect(code).toBe(0);
      expect(out.split('\n').filter((line) => line.startsWith('warning'))).toEqual(
        told.map((line) => `warning: ${line}`),
      );
    }
    expect((await dsbc('registry', 'get', '2')).code).toBe(0);
    expect(JSON.parse((await dsbc('registry', 'import', file, '--json')).out)).toMatchObject({
      written: 5,
      unknown: [{ name: 'system sorce', rows: 2, firstLine: 3 }, {}, {}],
    });
    expect(
      await dsbc('registry', 'put', '5', '--kind', 'account', '--system', 'source', '--site', 'mian'),
    ).toMatchObject({ code: 0, err: 'warning: the configuration has no site source/mian\n' });
  });

  it('tells of keys that no request finds, and imports them', async () => {
    const file = join(dir, 'in.csv');
    const values = [
      '+1-202-555-0123',
      '+12025550124',
      'tel:+12025550125',
      '"a,b"',
      '*98',
      'bob@example.com',
      '1;npdi',
    ];
    writeFileSync(
      file,
      ['kind,value,system', ...values.map((value) => `did,${value},source`), ''].join('\n'),
    );
    const { code, out } = await dsbc('registry', 'import', file);
    expect(code).toBe(0);
    expect(out).toContain(
      'warning: no request finds the did "+1-202-555-0123": it is looked up as +12025550123 (line 2, and 3 more like it)\n',
    );
    expect(JSON.parse((await dsbc('registry', 'import', file, '--json')).out)).toMatchObject({ unfound: 4 });
    const put = async (value: string, kind: string): Promise<string> =>
      (await dsbc('registry', 'put', value, '--kind', kind, '--system', 'source')).err;
    expect(await put('tel:+1(202)5550125', 'did')).toBe(
      'warning: no request finds the did "tel:+1(202)5550125": it is looked up as +12025550125\n',
    );
    expect(await put('J\xf6rg', 'account')).toBe(
      'warning: no request finds the account "J\xf6rg": it is no user part of a SIP URI\n',
    );
    for (const fine of ['alice.b-c', 'Alice', '#31#1', '%23x', '1;x=y', '(202)5550125'])
      expect(await put(fine, 'account')).toBe('');
  });

  it('goes on with an import that was killed, with exact counts', async () => {
    const rows = 60_000;
    const file = join(dir, 'many.csv');
    const lines = Array.from({ length: rows }, (_, n) =>
      n % 10_000 === 9999 ? 'bad' : `account,${n},source`,
    );
    writeFileSync(file, `kind,value,system\n${lines.join('\n')}\n`);
    const argv = ['registry', 'import', file, '-c', config];
    // Dies as soon as its first position is saved: watched from outside, a busy machine would miss that moment.
    const program = `
      const files = require('node:fs/promises');
      const { rename } = files;
      files.rename = async (...names) => {
        await rename(...names);
        if (names[1].endsWith('.progress')) process.kill(process.pid, 'SIGKILL');
      };
      require('./plugin/cli/main.ts').main(${JSON.stringify(argv)}, { out() {}, err() {}, signal: new AbortController().signal, isTerminal: false });`;
    const child = spawn(process.execPath, ['--require', './test/fixtures/typescript.cjs', '-e', program], {
      cwd: ROOT,
    });
    const late = setTimeout(() => child.kill('SIGTERM'), 40_000);
    await new Promise((resolve) => child.once('exit', resolve));
    clearTimeout(late);
    expect(child.signalCode).toBe('SIGKILL');
    const second = await dsbc('registry', 'import', file, '--json');
    expect(second.err).toMatch(/going on after line [1-9]/);
    expect(JSON.parse(second.out)).toMatchObject({ lines: rows + 1, written: rows - 6, rejected: 6 });
    const registry = await openLmdbRegistry({ path: join(dir, 'registry.lmdb') });
    let stored = 0;
    for await (const _ of registry.entries()) stored += 1;
    await registry.close();
    expect(stored).toBe(rows - 6);
  }, 60_000);

  it('measures how fast stored keys are read', async () => {
    await dsbc('registry', 'put', '1001', '--kind', 'account', '--system', 'source');
    const { out } = await dsbc('registry', 'bench', '--json');
    expect((await dsbc('registry', 'bench', '--keys', '1000')).err).toContain('only 1 of 1000 keys');
    expect(JSON.parse(out)).toMatchObject({ driver: 'lmdb', keys: 1, per_second: expect.any(Number) });
  });
});
