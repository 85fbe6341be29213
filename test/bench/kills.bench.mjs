// What is lost when the active is killed again and again under load, by relay and with the reason:
// npm run bench -- kills [--server=embedded|drachtio] [--kills=10] [--rate=200] [--registrations=40] [--seed=1] [--json].
// Needs root, iproute2 and nftables; for drachtio DRACHTIO_BIN. Test code does the work (test/fixtures/ha/soak).
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
require('../fixtures/typescript.cjs');
const { soakKills } = require('../fixtures/ha/soak/kill-soak.ts');

const option = (name, fallback) =>
  process.argv.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback;

const report = await soakKills({
  server: option('server', 'embedded'),
  kills: Number(option('kills', 10)),
  callsPerSecond: Number(option('rate', 200)),
  registrationsPerSecond: Number(option('registrations', 40)),
  seed: Number(option('seed', 1)),
  settleMs: 36_000,
  say: (text) => console.error(text),
});
console.log(JSON.stringify(report, undefined, process.argv.includes('--json') ? undefined : 2));
process.exit(report.violations.length === 0 ? 0 : 1);
