// What is lost, and for how long nobody is served, when the VIP is handed to and fro under load:
// npm run bench -- handovers [--server=embedded|drachtio] [--handovers=20] [--rate=200] [--methods=INVITE] [--json].
// Needs root, iproute2 and nftables; for drachtio DRACHTIO_BIN. Test code does the work (test/fixtures/ha/soak).
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
require('../fixtures/typescript.cjs');
const { soakHandovers } = require('../fixtures/ha/soak/handover-soak.ts');

const option = (name, fallback) =>
  process.argv.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback;

const report = await soakHandovers({
  server: option('server', 'embedded'),
  handovers: Number(option('handovers', 20)),
  perSecond: Number(option('rate', 200)),
  methods: option('methods', 'INVITE').split(','),
  say: (text) => console.error(text),
});
console.log(JSON.stringify(report, undefined, process.argv.includes('--json') ? undefined : 2));
process.exit(Object.keys(report.failed).length === 0 ? 0 : 1);
