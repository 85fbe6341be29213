// Whole-program load: the product against a trivial proxy app on the same SIP server, in the same run.
// usage: npm run bench -- dispatch [--json] [--rate N] [--seconds N] [--runs N] [--only trivial|dsbc] [--method INVITE|REGISTER]
// The server is drachtio-server where DRACHTIO_BIN names one, else the embedded server: a process of its own beside the
// trivial app, inside the product's process otherwise (so that node_cpu_ms of dsbc then includes the server).
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cpuMs, residentMiB } from './lib/process-usage.mjs';
import { freePort, startDrachtio, startNode } from './lib/server.mjs';
import { runClient, startSite } from './lib/sipp.mjs';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '10' },
    runs: { type: 'string', default: '5' },
    only: { type: 'string' },
    method: { type: 'string' },
  },
});
const bin = process.env.DRACHTIO_BIN;
const rate = Number(values.rate);
const count = rate * Number(values.seconds);
const ACCOUNTS = Array.from({ length: 5000 }, (_, i) => String(10_000 + i));
const SITES = ['127.0.0.21', '127.0.0.22'];

function dsbcConfig(port, controlPort, sitePort) {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-bench-'));
  const file = join(folder, 'dsbc.yaml');
  const registry = { driver: 'memory' };
  writeFileSync(
    file,
    JSON.stringify({
      instance: 'bench',
      domains: ['example.com'],
      sip_servers: [
        {
          name: 'main',
          server: bin ? 'drachtio' : 'embedded',
          entry: { address: '127.0.0.1', port, transports: ['udp', 'tcp'] },
          ...(bin ? { control: { host: '127.0.0.1', port: controlPort, secret: 'cymru' } } : {}),
        },
      ],
      default_system: 'source',
      systems: {
        source: {
          load_distribution: 'auto',
          sites: Object.fromEntries(
            SITES.map((address, i) => [`site${i}`, { nodes: [{ uri: `sip:${address}:${sitePort}` }] }]),
          ),
        },
      },
      registry,
      nat: { keys: [{ id: 1, secret: 'a secret of the bench, 32 bytes or more' }] },
      limits: { per_source: { exempt_nets: ['127.0.0.0/8'] } },
    }),
  );
  return file;
}

async function measure(app, method) {
  const port = await freePort('127.0.0.1');
  const controlPort = await freePort('127.0.0.1');
  const sitePort = await freePort(SITES[0]);
  const sites = SITES.map((address) => startSite(address, sitePort));
  const server = bin
    ? await startDrachtio(bin, '127.0.0.1', port, controlPort)
    : app === 'trivial'
      ? await startNode(
          [new URL('./lib/embedded.mjs', import.meta.url).pathname, '127.0.0.1', port, controlPort].map(
            String,
          ),
          'ready',
        )
      : undefined;
  const program =
    app === 'trivial'
      ? await startNode(
          [
            new URL('./lib/trivial-app.mjs', import.meta.url).pathname,
            String(controlPort),
            ...SITES.map((a) => `sip:${a}:${sitePort}`),
          ],
          'connected',
        )
      : await startNode(
          ['dist/cli/main.js', 'run', '-c', dsbcConfig(port, controlPort, sitePort)],
          '"serving"',
        );
  const client = (transactions, at) =>
    runClient({
      scenario: method === 'INVITE' ? 'uac-invite' : 'uac-register',
      service: 'example.com',
      accounts: ACCOUNTS,
      local: '127.0.0.9',
      localPort: 0,
      remote: '127.0.0.1',
      remotePort: port,
      rate: at,
      count: transactions,
    });
  try {
    await client(Math.min(1000, count), Math.min(200, rate));
    const before = { server: server ? cpuMs(server.pid) : 0, node: cpuMs(program.pid) };
    const result = await client(count, rate);
    const per = (after, start) => Math.round(((after - start) / count) * 1000) / 1000;
    return {
      app,
      method,
      offered: rate,
      ...result,
      clean: result.code === 0 && result.failed === 0 && result.retransmissions === 0,
      server_cpu_ms: server ? per(cpuMs(server.pid), before.server) : undefined,
      node_cpu_ms: per(cpuMs(program.pid), before.node),
      node_mib: residentMiB(program.pid),
    };
  } finally {
    await program.stop();
    await server?.stop();
    for (const site of sites) await site.stop();
  }
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const apps = values.only ? [values.only] : ['trivial', 'dsbc'];
const methods = values.method ? [values.method] : ['REGISTER', 'INVITE'];
const report = {};
for (const method of methods) {
  for (const app of apps) {
    const runs = [];
    for (let i = 0; i < Number(values.runs); i += 1) {
      const run = await measure(app, method);
      if (!values.json) console.log(run);
      runs.push(run);
    }
    report[`${method} ${app}`] = {
      clean_runs: runs.filter((run) => run.clean).length,
      runs: runs.length,
      achieved: median(runs.map((run) => run.achieved)),
      node_cpu_ms: median(runs.map((run) => run.node_cpu_ms)),
      server_cpu_ms: median(runs.map((run) => run.server_cpu_ms ?? 0)),
      p50_ms: median(runs.map((run) => run.p50)),
      p99_ms: median(runs.map((run) => run.p99)),
      node_mib: median(runs.map((run) => run.node_mib)),
    };
  }
}
console.log(JSON.stringify(report));
