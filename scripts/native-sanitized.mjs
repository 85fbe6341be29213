// npm run native:sanitized: builds the addon with AddressSanitizer and UBSan, runs its tests in one process with it, and
// builds the ordinary one again. Needs g++ with libasan.
import { spawnSync } from 'node:child_process';
import { headersDirectory, nodeGyp } from './native-toolchain.mjs';

const headers = headersDirectory();
const run = (program, args, env = {}) =>
  spawnSync(program, args, { stdio: 'inherit', env: { ...process.env, ...env } }).status ?? 1;
const build = (env) =>
  run(
    process.execPath,
    [nodeGyp(), 'rebuild', '--silent', ...(headers === undefined ? [] : [`--nodedir=${headers}`])],
    env,
  );

const sanitize = '-fsanitize=address,undefined -fno-sanitize-recover=all';
const asan = spawnSync('g++', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).stdout.trim();
let status = build({ CXX: 'g++', CXXFLAGS: `${sanitize} -g`, LDFLAGS: sanitize });
if (status === 0) {
  // node frees nothing at its end, so leaks are not looked for.
  status = run(
    process.execPath,
    [
      'node_modules/jest/bin/jest.js',
      '-i',
      'test/property/scanner',
      'test/native',
      'test/contract/network',
      ...process.argv.slice(2),
    ],
    { LD_PRELOAD: asan, ASAN_OPTIONS: 'detect_leaks=0' },
  );
}
const restored = build({});
process.exit(status === 0 ? restored : status);
