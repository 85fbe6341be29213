// What a build of the addon needs, for scripts/install.mjs and scripts/prebuild.mjs.
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/** The directory whose include/node holds this node's headers, so that a build downloads nothing; undefined without them. */
export function headersDirectory() {
  for (const program of [process.execPath, realpathSync(process.execPath)]) {
    const prefix = dirname(dirname(program));
    if (existsSync(join(prefix, 'include', 'node', 'node_api.h'))) return prefix;
  }
  return undefined;
}

/** node-gyp: npm tells its own when it runs a script; a checkout has one among its tools. */
export function nodeGyp() {
  try {
    return require.resolve('node-gyp/bin/node-gyp.js');
  } catch {
    return process.env.npm_config_node_gyp;
  }
}

/** The programs a build needs and that are not there. */
export function missingPrograms() {
  const runs = (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
  const needed = [
    ['python3', [process.env.PYTHON, 'python3', 'python']],
    ['make', ['make']],
    ['g++', [process.env.CXX, 'g++', 'c++', 'clang++']],
  ];
  return needed.filter(([, programs]) => !programs.filter(Boolean).some(runs)).map(([name]) => name);
}
