// 200,000 registrations behind NAT: memory per binding, evenness of the pings, delay of the event loop; and what a flow token costs.
// usage: npm run bench -- bindings [--wire] [--interval SECONDS] [--json]
// Without --wire the pings go nowhere: what the table and the schedule cost. With it they are OPTIONS through the link and
// the embedded SIP server, all in this process as in the program, to phones in another that answer.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRequire } from 'node:module';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

const require = createRequire(import.meta.url);
const { BindingTable } = require('../../dist/nat/bindings.js');
const { Keepalive } = require('../../dist/nat/keepalive.js');
const { FlowTokens } = require('../../dist/nat/flow-token.js');
const { silentLogger } = require('../../dist/telemetry/logger.js');

const { values } = parseArgs({
  options: {
    wire: { type: 'boolean', default: false },
    interval: { type: 'string', default: '25' },
    json: { type: 'boolean', default: false },
  },
});
const BINDINGS = 200_000;
const INTERVAL = Number(values.interval);
/** How long is looked at; the pings are spread over the interval, so a part of it tells the rate. */
const SECONDS = 25;
const now = () => performance.now();
const wire = values.wire ? await openWire() : undefined;
const memory = () => {
  gc();
  gc();
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
};
const flowAt = (i) => ({
  entry: wire?.entry ?? { address: '198.51.100.10', port: 5060 },
  transport: 'udp',
  // All of 127/8 is this machine.
  remote: {
    address: `${wire ? 127 : 10}.${((i >> 16) & 255) + 1}.${(i >> 8) & 255}.${i & 255}`,
    port: wire?.phonePort ?? 1024 + (i % 60000),
  },
});

const before = memory();
const table = new BindingTable({ maxBindings: BINDINGS, now });
const perSecond = new Array(SECONDS).fill(0);
let started = 0;
const keepalive = new Keepalive({
  table,
  config: { enabled: true, interval_s: INTERVAL, misses: 3, timeout_s: 4 },
  now,
  log: silentLogger,
  send: (target) => {
    perSecond[Math.min(SECONDS - 1, Math.floor((now() - started) / 1000))]++;
    return wire === undefined ? Promise.resolve(true) : wire.ping(target);
  },
});
const t0 = now();
for (let i = 0; i < BINDINGS; i++)
  table.take(
    {
      aor: `${100000 + i}@example.com`,
      all: false,
      contacts: [
        {
          uri: `sip:${100000 + i}@192.168.1.33:5060`,
          device: `call:${i}-8f3a77d1c2@192.168.1.33`,
          expires: 3600,
        },
      ],
    },
    flowAt(i),
    true,
  );
const insert = (now() - t0) / BINDINGS;
const bytes = (memory() - before) / BINDINGS;

const delay = monitorEventLoopDelay({ resolution: 1 });
keepalive.setActive(true);
keepalive.start();
started = now();
const cpuBefore = process.cpuUsage();
delay.enable();
await sleep(SECONDS * 1000);
delay.disable();
keepalive.stop();
const { user, system } = process.cpuUsage(cpuBefore);
await sleep(wire ? 4500 : 0);
const { sent, answered } = keepalive.counts;

const tokens = new FlowTokens([{ id: 1, secret: 'a secret for the bench only' }]);
const N = 100_000;
const t1 = now();
let token;
for (let i = 0; i < N; i++) token = tokens.issue(flowAt(i));
const issue = ((now() - t1) / N) * 1000;
const t2 = now();
for (let i = 0; i < N; i++) tokens.read(token);
const read = ((now() - t2) / N) * 1000;

// The first and the last second are cut by the start and the end of the run.
const inner = perSecond.slice(1, -1);
const mean = inner.reduce((sum, count) => sum + count, 0) / inner.length;
const off = Math.max(...inner.map((count) => Math.abs(count - mean) / mean)) * 100;
const result = {
  bindings: BINDINGS,
  pingsBy: wire ? 'OPTIONS through the embedded SIP server' : 'the schedule alone',
  intervalSeconds: INTERVAL,
  bytesPerBinding: Math.round(bytes),
  insertMicroseconds: Number((insert * 1000).toFixed(2)),
  pingsPerSecond: Math.round(mean),
  worstSecondOffPercent: Number(off.toFixed(2)),
  unansweredPings: sent - answered,
  cpuCores: Number(((user + system) / 1e6 / SECONDS).toFixed(2)),
  eventLoopDelayP99Ms: Number((delay.percentile(99) / 1e6).toFixed(2)),
  tokenIssueMicroseconds: Number(issue.toFixed(2)),
  tokenReadMicroseconds: Number(read.toFixed(2)),
};
if (values.json) console.log(JSON.stringify(result));
else for (const [name, value] of Object.entries(result)) console.log(`${name.padEnd(26)} ${value}`);
await wire?.close();

/** A SIP server, a link to it, and phones that answer. */
async function openWire() {
  const { startEmbeddedServer } = require('../../dist/embedded');
  const { createLink } = require('../../dist/link/create-link.js');
  const { ping } = require('../../dist/dispatch/own-requests.js');
  const server = await startEmbeddedServer({
    addresses: [{ address: '127.0.0.1', port: 0, transports: ['udp'] }],
    control: { port: 0, secret: 'cymru' },
  });
  const link = createLink({ name: 'main', host: '127.0.0.1', port: server.controlPort, secret: 'cymru' });
  const phones = fork(fileURLToPath(new URL('./lib/answering-phones.mjs', import.meta.url)));
  const [{ port: phonePort }] = await once(phones, 'message');
  while (link.state !== 'connected') await sleep(20);
  let ids = 0;
  const parts = { link: () => link, linkOf: () => link, now, newId: () => `ping${++ids}` };
  return {
    entry: { address: '127.0.0.1', port: server.addresses[0].port },
    phonePort,
    ping: (target) => ping(parts, target, 4000),
    close: async () => {
      phones.kill();
      await link.close();
      await server.close();
    },
  };
}
