// npm test: installs what is one package away (root on Debian), builds, then runs Jest three times: first what only
// computes, two files at once; then those of test/integration that mostly wait, three at once; then those that measure
// or load, whose timing other work would disturb, one after the other. With arguments they go to Jest as they are, in
// one run.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'dsbc-test-'));
const run = (command, args, env = {}) =>
  spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } }).status ?? 1;
const jest = (...args) => [process.execPath, ['node_modules/jest/bin/jest.js', ...args]];

/** The beginnings of what runs alone: it loads the machine, or its bounds are times. */
const ALONE = [
  ...['b2bua-soak', 'cancel-moments', 'ha-', 'handed', 'migration', 'registry-', 'sites-', 'update-'].map(
    (name) => `integration/${name}`,
  ),
  'native/network',
];
const alone = `/test/(${ALONE.join('|')})`;

const options = process.argv.slice(2);
if (process.env.DSBC_TEST_NO_INSTALL === undefined) run('bash', ['scripts/install-test-tools.sh']);
let status = run(process.execPath, ['scripts/build.mjs']);
if (status === 0 && options.length > 0) {
  status = run(...jest(...options));
} else if (status === 0) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const phases = [
    ['--maxWorkers=2', `--testPathIgnorePatterns=/test/integration/|${alone}`],
    ['--maxWorkers=3', '--testPathPatterns=/test/integration/', `--testPathIgnorePatterns=${alone}`],
    ['--runInBand', `--testPathPatterns=${alone}`],
  ];
  for (const [i, phase] of phases.entries()) {
    const summary = join(folder, `summary-${i}.json`);
    status = run(...jest('--passWithNoTests', ...phase), { DSBC_TEST_SUMMARY: summary }) || status;
    const counts = JSON.parse(readFileSync(summary, 'utf8'));
    for (const key of Object.keys(total)) total[key] += counts[key];
  }
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  if (total.passed === 0) status ||= 1;
}
rmSync(folder, { recursive: true, force: true });
process.exit(status);
