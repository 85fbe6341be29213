// npm test: installs what is one package away (root on Debian), builds, runs Jest.
import { spawnSync } from 'node:child_process';

const run = (command, args) => spawnSync(command, args, { stdio: 'inherit' }).status ?? 1;
if (process.env.DSBC_TEST_NO_INSTALL === undefined) run('bash', ['scripts/install-test-tools.sh']);
const built = run(process.execPath, ['scripts/build.mjs']);
if (built !== 0) process.exit(built);
process.exit(run(process.execPath, ['node_modules/jest/bin/jest.js', ...process.argv.slice(2)]));
