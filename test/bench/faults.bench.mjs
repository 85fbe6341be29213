// Random faults on a group of three for as long as one likes; what counts is who has the VIP on the wire:
// npm run bench -- faults [--seconds=3600] [--seed=1] [--witness=strict|failsafe] [--kinds=kill,stop] [--json].
// Needs root, iproute2, nftables and tcpdump.
// Test code does the work (test/fixtures/ha/soak), so that CI runs the same for half a minute.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
require('../fixtures/typescript.cjs');
const { soakFaults } = require('../fixtures/ha/soak/fault-soak.ts');

const option = (name, fallback) =>
  process.argv.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback;
const json = process.argv.includes('--json');
const witness = option('witness');
const kinds = option('kinds');

const report = await soakFaults({
  seconds: Number(option('seconds', 60)),
  seed: Number(option('seed', 1)),
  ...(witness === undefined ? {} : { witness }),
  ...(kinds === undefined ? {} : { kinds: kinds.split(',') }),
  say: (text) => console.error(text),
});
console.log(JSON.stringify(report, undefined, json ? undefined : 2));
process.exit(report.violations.length === 0 ? 0 : 1);
