import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

// A copy of the program on a machine that has node and nothing else: no compiler, no shell, no iproute2. What npm
// fetches is there; of what npm builds nothing is.

const PARTS = [
  'package.json',
  'binding.gyp',
  'native',
  'plugin',
  'scripts',
  'test/fixtures/typescript.cjs',
  'test/fixtures/cli.cjs',
];

describe('with no compiler on the PATH', () => {
  let root: string;
  const node = (...args: string[]) =>
    spawnSync(process.execPath, args, {
      cwd: root,
      encoding: 'utf8',
      env: { PATH: join(root, 'bin'), HOME: root },
      timeout: 100_000,
    });
  const dsbc = (...args: string[]) =>
    node(
      ...['--require', './test/fixtures/typescript.cjs', '--require', './test/fixtures/cli.cjs', '-e', '0'],
      ...args,
    );

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'dsbc-bare-'));
    for (const part of PARTS) cpSync(part, join(root, part), { recursive: true });
    symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
    mkdirSync(join(root, 'bin'));
    symlinkSync(process.execPath, join(root, 'bin', 'node'));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it("npm's install script succeeds, and says what is missing", () => {
    const { status, stdout } = node('scripts/install.mjs');
    expect(stdout).toBe(
      'drachtio-dsbc: the native addon is not built, since python3, make, g++ is missing; it runs without the native addon, on TypeScript and iproute2\n',
    );
    expect(status).toBe(0);
  });

  it('the demo passes, on TypeScript', () => {
    const native = node(
      ...['--require', './test/fixtures/typescript.cjs', '-e'],
      'console.log(JSON.stringify(require("./plugin/native.ts").startNative("auto")))',
    );
    expect(JSON.parse(native.stdout)).toMatchObject({ mode: 'auto', running: 'typescript' });
    const { status, stdout } = dsbc('demo', '--json');
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({ verdict: 'pass' });
    expect(status).toBe(0);
  }, 120_000);

  it('`native: require` refuses to start, with the reason', () => {
    writeFileSync(
      join(root, 'dsbc.yaml'),
      `
native: require
sip_servers: [{ name: main, server: embedded, entry: { address: 127.0.0.1, port: 5060 } }]
systems:
  source: { domain: example.com, sites: { main: { nodes: [{ uri: 'sip:198.51.100.21:5060' }] } } }
`,
    );
    const { status, stdout, stderr } = dsbc('run', '-c', 'dsbc.yaml');
    expect(stdout + stderr).toContain('DSBC_NATIVE_REQUIRED');
    expect(stdout + stderr).toContain('No native build was found');
    expect(status).not.toBe(0);
  }, 60_000);
});
