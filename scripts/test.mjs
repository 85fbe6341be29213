// npm test: installs what is one package away (root on Debian), builds, then runs Jest three times: first what only
// computes, two files at once; then those of test/integration that mostly wait, three at once; then those that measure
// or load, whose timing other work would disturb, one after the other. With arguments they go to Jest as they are, in
// one run.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'dsbc-test-'));
const run = (command, args, env = {}) =>
  spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } }).status ?? 1;

/** How long Jest may live on behind its summary: what a failed test left open must not keep a run for ever. */
const LINGERS_MS = 30_000;

/** Runs Jest until it ends, or until its summary is `LINGERS_MS` old, which is a failure. */
const runPhase = (summary, [command, ...args]) =>
  new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: 'inherit',
      env: { ...process.env, DSBC_TEST_SUMMARY: summary },
    });
    const watch = setInterval(() => {
      if (!existsSync(summary) || Date.now() - statSync(summary).mtimeMs < LINGERS_MS) return;
      console.error('the tests are over, but something they left open keeps Jest alive: ended');
      child.kill('SIGKILL');
    }, 1000);
    child.once('error', () => undefined);
    child.once('close', (code) => {
      clearInterval(watch);
      resolve(code ?? 1);
    });
  });
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
    status = (await runPhase(summary, jest('--passWithNoTests', ...phase).flat())) || status;
    const counts = JSON.parse(readFileSync(summary, 'utf8'));
    for (const key of Object.keys(total)) total[key] += counts[key];
  }
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  if (total.passed === 0) status ||= 1;
}
rmSync(folder, { recursive: true, force: true });
process.exit(status);
