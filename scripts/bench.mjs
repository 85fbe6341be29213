// npm run bench -- NAME [--json …]: builds, then runs test/bench/NAME.bench.mjs on the built code in dist/.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

const SUFFIX = '.bench.mjs';
const names = readdirSync('test/bench')
  .filter((file) => file.endsWith(SUFFIX))
  .map((file) => file.slice(0, -SUFFIX.length));
const [name, ...rest] = process.argv.slice(2);
if (name === undefined || !names.includes(name)) {
  console.error(`usage: npm run bench -- NAME [--json]\nbenches: ${names.join(', ')}`);
  process.exit(2);
}
const run = (args) =>
  spawnSync(process.execPath, args, { stdio: ['inherit', 'inherit', 'inherit'] }).status ?? 1;
if (process.env.DSBC_BENCH_NO_BUILD === undefined) {
  const built = run(['scripts/build.mjs']);
  if (built !== 0) process.exit(built);
}
process.exit(run(['--expose-gc', `test/bench/${name}${SUFFIX}`, ...rest]));
