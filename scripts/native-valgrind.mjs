// npm run native:valgrind: runs both fuzz targets on every message of test/fixtures/handed and, where they are there, of
// ../shared/torture and build/fuzz/corpus, under valgrind. Needs g++ and valgrind; exits 1 with a finding.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FOLDERS = [
  'test/fixtures/handed',
  '../shared/torture/rfc4475',
  '../shared/torture/rfc5118',
  'build/fuzz/corpus',
];
const inputs = FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) =>
  readdirSync(folder).map((name) => join(folder, name)),
);
const sources = ['address', 'header', 'marks', 'uri'].map((name) => `native/sip_${name}.cc`);
const flags = [
  '-std=gnu++17',
  '-g',
  '-O1',
  '-fno-exceptions',
  ...(process.arch === 'x64' ? ['-mssse3'] : []),
];
const folder = mkdtempSync(join(tmpdir(), 'dsbc-valgrind-'));
const run = (program, ...args) => spawnSync(program, args, { stdio: 'inherit' }).status ?? 1;
let status = 0;
for (const target of ['message', 'uri']) {
  const program = join(folder, target);
  const units = [`native/fuzz/fuzz_${target}.cc`, 'native/fuzz/replay.cc', ...sources];
  status ||= run('g++', ...flags, ...units, '-o', program);
  status ||= run('valgrind', '--quiet', '--error-exitcode=1', '--leak-check=full', program, ...inputs);
}
rmSync(folder, { recursive: true, force: true });
process.exit(status);
