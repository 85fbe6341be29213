// Decisions per second on one core: role, keys, cached registry, share and plan, Request-URI and relay, from facts that
// were read once (reading the header is another bench). Bar: 500,000 a second. Beside it, in the same run: reading the
// facts of one message, as a measure of this machine. Rates are per second of CPU time used (all threads of the process,
// garbage collection included), so that other work on the machine does not count.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { route } = require('../../dist/routing/decide.js');
const { readFacts } = require('../../dist/routing/facts.js');
const { makeSnapshot } = require('../../dist/routing/snapshot.js');
const { parseMessage } = require('../../dist/message/parse.js');

const RUNS = 7;
const RUN_MS = 400;
const ACCOUNTS = 2000;

const snapshot = makeSnapshot({
  domains: ['example.com'],
  sip_servers: [{ name: 'main', entry: { address: '198.51.100.10', port: 5060 } }],
  systems: Object.fromEntries(
    ['source', 'target'].map((name, s) => [
      name,
      {
        domain: `${name}.example.com`,
        load_distribution: { main: 50, a: 30, b: 20 },
        affinity: 'account',
        sites: Object.fromEntries(
          ['main', 'a', 'b'].map((site, i) => [
            site,
            { nodes: [{ uri: `sip:198.51.100.${21 + s * 10 + i}:5060` }] },
          ]),
        ),
      },
    ]),
  ),
  peers: [{ name: 'vendor', nets: ['192.0.2.0/24'] }],
});
const world = { states: new Map(), turnOf: () => 0, seenAt: () => undefined, challenger: undefined };
const registry = new Map();
for (let i = 0; i < ACCOUNTS; i++)
  registry.set(`account ${1000 + i}`, { system: i % 2 === 0 ? 'source' : 'target' });
const lookup = (key) => registry.get(`${key.kind} ${key.value}`) ?? null;

const text = (method, i) =>
  [
    `${method} ${method === 'REGISTER' ? 'sip:example.com' : `sip:+120255501${10 + (i % 89)}@example.com`} SIP/2.0`,
    'Via: SIP/2.0/UDP 192.0.2.33:5060;branch=z9hG4bK-1;rport',
    'Max-Forwards: 70',
    `From: "Desk ${i}" <sip:${1000 + i}@example.com>;tag=f${i}`,
    `To: <sip:${1000 + i}@example.com>`,
    `Call-ID: c${i}@example.net`,
    `CSeq: 1 ${method}`,
    `Contact: <sip:${1000 + i}@203.0.113.7:40812>`,
    'User-Agent: bench',
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n');
const server = {
  failoverByStatus: true,
  flowRecordRoute: true,
  exactHeaders: true,
  hostlessContactSafe: true,
};
const arrival = (message) => ({
  message,
  source: { transport: 'udp', address: '203.0.113.7', port: 40812 },
  receivedOn: { address: '198.51.100.10', port: 5060 },
  server,
  behindNat: false,
});
const factsFor = (method) =>
  Array.from({ length: ACCOUNTS }, (_, i) => readFacts(arrival(parseMessage(text(method, i)).message)).facts);

function rate(work) {
  const rates = [];
  for (let run = 0; run < RUNS; run++) {
    const until = performance.now() + RUN_MS;
    const before = process.cpuUsage();
    let done = 0;
    while (performance.now() < until) {
      for (let i = 0; i < ACCOUNTS; i++) work(i);
      done += ACCOUNTS;
    }
    const { user, system } = process.cpuUsage(before);
    rates.push((done * 1e6) / (user + system));
  }
  return rates.sort((a, b) => a - b)[RUNS >> 1];
}

const invites = factsFor('INVITE');
const registers = factsFor('REGISTER');
const texts = Array.from({ length: ACCOUNTS }, (_, i) => text('INVITE', i));
const sink = { count: 0 };
const decideAll = (facts) => (i) => {
  if (route(facts[i], snapshot, lookup, world).kind === 'dispatch') sink.count++;
};
const figures = {
  decide_invite_per_s: Math.round(rate(decideAll(invites))),
  decide_register_per_s: Math.round(rate(decideAll(registers))),
  parse_and_read_facts_per_s: Math.round(
    rate((i) => {
      if (readFacts(arrival(parseMessage(texts[i]).message)).ok) sink.count++;
    }),
  ),
};
if (sink.count === 0) throw new Error('nothing was dispatched');
const pass = Math.min(figures.decide_invite_per_s, figures.decide_register_per_s) >= 500_000;
if (process.argv.includes('--json'))
  console.log(JSON.stringify({ bench: 'decide', ...figures, bar: 500_000, pass }));
else {
  for (const [name, value] of Object.entries(figures))
    console.log(`${name.padEnd(28)} ${value.toLocaleString('en')}`);
  console.log(`bar 500,000 decisions/s: ${pass ? 'met' : 'missed'}`);
}
process.exitCode = pass ? 0 : 1;
