// npm run prebuild: builds the addon for this platform into prebuilds/, stripped, for the published package.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { headersDirectory, nodeGyp } from './native-toolchain.mjs';

const require = createRequire(import.meta.url);
const headers = headersDirectory();
// The version of the target only names the headers; Node-API 8 makes one build fit every Node from 12.22 on.
const args = ['--napi', '--strip', '--tag-libc', '--target', `node@${process.versions.node}`];
const { status } = spawnSync(process.execPath, [require.resolve('prebuildify/bin.js'), ...args], {
  stdio: 'inherit',
  env: {
    ...process.env,
    PREBUILD_NODE_GYP: nodeGyp(),
    ...(headers === undefined ? {} : { npm_config_nodedir: headers }),
  },
});
process.exit(status ?? 1);
