// npm's install script: uses a prebuild when one fits, else builds the native addon when this machine can, else says
// why not. Never fails: the product runs without the addon (docs/native.md). DSBC_NATIVE_BUILD=0 skips it.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { headersDirectory, missingPrograms, nodeGyp } from './native-toolchain.mjs';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));
const say = (text) => console.log(`drachtio-dsbc: ${text}`);
const without = (reason) => say(`${reason}; it runs without the native addon, on TypeScript and iproute2`);

/** Whether an addon, built or prebuilt, loads in a process of its own. */
const loads = () =>
  spawnSync(process.execPath, ['-e', 'require("node-gyp-build")(process.argv[1])', root], {
    cwd: root,
    stdio: 'ignore',
  }).status === 0;

function hasPrebuild() {
  try {
    return require('node-gyp-build').resolve(root).includes('prebuilds') && loads();
  } catch {
    return false;
  }
}

function build() {
  if (process.env.DSBC_NATIVE_BUILD === '0') return without('DSBC_NATIVE_BUILD=0');
  if (hasPrebuild()) return say('the native addon is there as a prebuild');
  const missing = missingPrograms();
  if (missing.length > 0)
    return without(`the native addon is not built, since ${missing.join(', ')} is missing`);
  const gyp = nodeGyp();
  if (gyp === undefined) return without('the native addon is not built, since node-gyp is missing');
  const headers = headersDirectory();
  if (headers === undefined) say("node's headers are not installed beside it: node-gyp downloads them");
  const args = [gyp, 'rebuild', '--silent', ...(headers === undefined ? [] : [`--nodedir=${headers}`])];
  const { status, stderr, stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0 && loads()) return say('the native addon is built');
  console.log(`${stdout}${stderr}`.trimEnd().split('\n').slice(-15).join('\n'));
  return without('the native addon did not build');
}

try {
  build();
} catch (error) {
  without(`the native addon is not built (${error.message})`);
}
