// Registrations and calls together on a running product, for minutes: failures, retransmissions, memory, shares.
// usage: npm run bench -- mixed [--config F] [--registrations N] [--calls N] [--seconds N] [--json]
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { cpuMs, residentMiB } from './lib/process-usage.mjs';
import { startNode } from './lib/server.mjs';
import { runClient, startSite } from './lib/sipp.mjs';

const { values } = parseArgs({
  options: {
    config: { type: 'string', default: 'config-examples/embedded.yaml' },
    registrations: { type: 'string', default: '300' },
    calls: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const config = parse(readFileSync(values.config, 'utf8'));
const { address, port } = config.sip_servers[0].entry;
const nodes = Object.entries(config.systems).flatMap(([system, { sites }]) =>
  Object.entries(sites).flatMap(([site, { nodes: list }]) =>
    list.map(({ uri }) => {
      const [, host, at] = /^sip:([\d.]+):(\d+)/.exec(uri);
      return { name: `${system}/${site}`, host, port: Number(at) };
    }),
  ),
);
const ACCOUNTS = Array.from({ length: 20_000 }, (_, i) => String(100_000 + i));
const sites = nodes.map((node) => ({ ...node, process: startSite(node.host, node.port) }));
const program = await startNode(['dist/cli/main.js', 'run', '-c', values.config], '"serving"');
const client = (scenario, rate, local) =>
  runClient({
    scenario,
    service: config.domains[0],
    accounts: ACCOUNTS,
    local,
    localPort: 0,
    remote: address,
    remotePort: port,
    rate,
    count: rate * seconds,
    timeoutS: seconds + 60,
  });
const memory = [];
const sampling = setInterval(() => memory.push(residentMiB(program.pid)), 1000);
let result;
try {
  const before = cpuMs(program.pid);
  const [registrations, calls] = await Promise.all([
    client('uac-register', Number(values.registrations), '127.0.0.9'),
    client('uac-invite', Number(values.calls), '127.0.0.10'),
  ]);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const counts = Object.fromEntries(
    sites.map((site) => [site.name, Number(site.process.statistics()['IncomingCall(C)'])]),
  );
  result = {
    registrations,
    calls,
    clean: [registrations, calls].every(
      (run) => run.code === 0 && run.failed === 0 && run.retransmissions === 0,
    ),
    sites: counts,
    cpu_cores: Math.round(((cpuMs(program.pid) - before) / seconds / 1000) * 100) / 100,
    // Transactions live for 32 s, so memory can be flat only after that.
    memory_mib: memory.filter((_, second) => second % 15 === 0),
  };
} finally {
  clearInterval(sampling);
  await program.stop();
  for (const site of sites) await site.process.stop();
}
console.log(values.json ? JSON.stringify(result) : result);
process.exit(result.clean ? 0 : 1);
