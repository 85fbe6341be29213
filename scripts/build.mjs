// Compiles plugin/ into a folder beside dist/ and puts it in its place when it is whole: a build that fails or is
// interrupted, and a program that runs meanwhile, keep the old one.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const tsc = require.resolve('typescript/bin/tsc');
const remove = (folder) => rmSync(folder, { recursive: true, force: true });

/** Folders that interrupted builds left behind are named after processes that are gone. */
const isAlive = (pid) => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
};
for (const name of readdirSync('.')) {
  const pid = /^\.dist-(\d+)/.exec(name)?.[1];
  if (pid !== undefined && !isAlive(Number(pid))) remove(name);
}

const made = `.dist-${process.pid}`;
mkdirSync(made);
const args = [tsc, '-p', 'tsconfig.json', '--outDir', made, ...process.argv.slice(2)];
const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
if (status !== 0) {
  remove(made);
  process.exit(status ?? 1);
}
if (existsSync(`${made}/cli/main.js`)) chmodSync(`${made}/cli/main.js`, 0o755);
// Another build may put its own there between the two steps: then once more, and the last one stays.
for (let place = 0; existsSync(made); place++) {
  const old = `${made}-old-${place}`;
  if (existsSync('dist')) renameSync('dist', old);
  try {
    renameSync(made, 'dist');
  } catch (error) {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  }
  remove(old);
}
