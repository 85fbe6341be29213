// Calls relayed as two dialogs, between user agents that hang up, cancel and re-INVITE at random over sockets that lose
// packets: at the end no dialog is left on either side, no call is stuck, and memory is what it was. On drachtio-server
// if DRACHTIO_BIN names one, else on the embedded server.
// usage: npm run bench -- b2bua [--rate N] [--seconds N] [--loss FRACTION] [--failover FRACTION] [--seed N] [--json]
import { fork } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Agent, Tally } from './lib/calls/agent.mjs';
import { randomPlan } from './lib/calls/plan.mjs';
import { randomFrom } from './lib/calls/random.mjs';
import { cpuMs, residentMiB } from './lib/process-usage.mjs';
import { freePort, startDrachtio } from './lib/server.mjs';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '60' },
    loss: { type: 'string', default: '0.03' },
    // The share of calls that try a target first which never answers; each keeps a transaction for 32 s.
    failover: { type: 'string', default: '0.03' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    json: { type: 'boolean', default: false },
  },
});
const rate = Number(values.rate);
const seconds = Number(values.seconds);
const seed = Number(values.seed);
const loss = Number(values.loss);
const ADDRESS = '127.0.0.1';
/** All that is under way ends by itself within 64 × T1, twice (a 2xx nobody acknowledged, and the BYE after it). */
const DRAIN_MS = 75_000;
/**
 * What drachtio-server 0.9.10 does not do, and nobody can do for it: send its 2xx to an INVITE inside a dialog again, or
 * its 487 to an INVITE that was cancelled before it rang. A lost one is missed; nothing may be left of it all the same.
 */
const LOST_BY_DRACHTIO = /: (no ACK \(\w+\)|re-INVITE never ended|no final answer after CANCEL)$/;

const port = await freePort(ADDRESS);
const bin = process.env.DRACHTIO_BIN;
const controlPort = bin === undefined ? undefined : await freePort('127.0.0.1');
const drachtio = bin === undefined ? undefined : await startDrachtio(bin, ADDRESS, port, controlPort);
const black = createSocket('udp4');
black.bind(0, ADDRESS);
await once(black, 'listening');

const tally = new Tally();
const parts = { address: ADDRESS, loss, server: { host: ADDRESS, port }, tally };
const caller = await Agent.open({ ...parts, name: 'caller', random: randomFrom(seed) });
const callee = await Agent.open({ ...parts, name: 'callee', random: randomFrom(seed + 1) });
const app = fork(
  fileURLToPath(new URL('./lib/b2bua-app.mjs', import.meta.url)),
  [
    JSON.stringify({
      callee: `sip:${callee.transactions.hostport}`,
      silent: `sip:${ADDRESS}:${black.address().port}`,
      address: ADDRESS,
      port,
      controlPort,
    }),
  ],
  { execArgv: ['--expose-gc'] },
);
let questions = 0;
const ask = (question = {}) =>
  new Promise((resolve, reject) => {
    const id = ++questions;
    const gone = () => reject(new Error('the application ended'));
    const hear = (message) => {
      if (message.id !== id) return;
      app.off('message', hear);
      app.off('exit', gone);
      resolve(message);
    };
    app.on('message', hear);
    app.once('exit', gone);
    app.send({ id, ...question });
  });
await Promise.race([
  once(app, 'message'),
  once(app, 'exit').then(() => {
    throw new Error('the application did not start');
  }),
]);

const processes = { app: app.pid, ...(drachtio === undefined ? {} : { drachtio: drachtio.pid }) };
const memory = Object.fromEntries(Object.keys(processes).map((name) => [name, []]));
const sampling = setInterval(() => {
  for (const [name, pid] of Object.entries(processes)) memory[name].push(residentMiB(pid));
}, 1000);
const before = await ask({ collect: true });
const cpuBefore = Object.values(processes).map(cpuMs);
const plans = randomFrom(seed + 2);
const start = performance.now();
let started = 0;
while (performance.now() - start < seconds * 1000) {
  for (const due = Math.floor(((performance.now() - start) / 1000) * rate); started < due; started++)
    caller.call(plans() < Number(values.failover) ? 'failover' : 'callee', randomPlan(plans, `c${started}`));
  await sleep(5);
}
const cpu = Object.values(processes).map(
  (pid, i) => Math.round(((cpuMs(pid) - cpuBefore[i]) / started) * 100) / 100,
);

const left = async () => {
  const { carrying, bridges, legs, commands, clientTransactions, inboundRequests, server } = await ask();
  return {
    callerCalls: caller.calls.size,
    calleeCalls: callee.calls.size,
    carrying,
    bridges,
    legs,
    commands,
    clientTransactions,
    inboundRequests,
    ...(server === undefined
      ? {}
      : { serverDialogs: server.dialogs, serverPending: server.pending, serverOwn: server.own }),
  };
};
const drainFrom = performance.now();
let leaks = await left();
while (Object.values(leaks).some((count) => count > 0) && performance.now() - drainFrom < DRAIN_MS) {
  await sleep(250);
  leaks = await left();
}
const drainMs = Math.round(performance.now() - drainFrom);
clearInterval(sampling);
const after = await ask({ collect: true });

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
/** Early: the second minute after the first two, when transactions have begun to end; late: the last minute under load. */
const growth = (samples) => {
  const load = samples.slice(0, seconds);
  if (load.length < 240) return undefined;
  return Math.round((median(load.slice(-60)) / median(load.slice(120, 180))) * 1000) / 1000;
};
const isServers = (fault) => bin !== undefined && LOST_BY_DRACHTIO.test(fault);
const pick = (wanted) =>
  Object.fromEntries(Object.entries(tally.faults).filter(([fault]) => isServers(fault) === wanted));
const faults = pick(false);
const isClean = Object.values(leaks).every((count) => count === 0) && Object.keys(faults).length === 0;
const sum = (name) => caller.transactions.counts[name] + callee.transactions.counts[name];
const result = {
  server: bin === undefined ? 'embedded' : 'drachtio',
  seed,
  rate,
  achievedRate: Math.round((started / seconds) * 10) / 10,
  calls: started,
  lossPercent: loss * 100,
  packets: {
    sent: sum('sent'),
    received: sum('received'),
    lost: sum('lost'),
    repeatedByAgents: sum('repeated'),
  },
  outcomes: tally.outcomes,
  inDialog: tally.inDialog,
  relayed: after.results,
  drainMs,
  leaks,
  faults,
  ...(bin === undefined ? {} : { lostByServer: pick(true) }),
  examples: tally.examples,
  cpuMsPerCall: Object.fromEntries(Object.keys(processes).map((name, i) => [name, cpu[i]])),
  heapMiB: { before: before.heapMiB, after: after.heapMiB },
  residentMiB: Object.fromEntries(
    Object.entries(memory).map(([name, list]) => [name, list.filter((_, i) => i % 30 === 0)]),
  ),
  residentGrowth: Object.fromEntries(Object.entries(memory).map(([name, list]) => [name, growth(list)])),
  clean: isClean,
};
console.log(values.json ? JSON.stringify(result) : result);
caller.close();
callee.close();
black.close();
app.kill('SIGTERM');
await drachtio?.stop();
process.exit(isClean ? 0 : 1);
