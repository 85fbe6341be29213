// How long a client is without an answer when the active is killed or hands over, against keepalived in the same
// namespaces: npm run bench -- failover [--json] [--runs=5]. Needs root, iproute2 and keepalived.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { existsSync } from 'node:fs';
import { Namespaces, VIP, median, now, pause } from './lib/ha-namespaces.mjs';

const json = process.argv.includes('--json');
const runs = Number(process.argv.find((each) => each.startsWith('--runs='))?.slice(7) ?? 5);
const say = (text) => (json ? console.error(text) : console.log(text));
const fixtures = resolve('test/fixtures/ha');
const dist = resolve('dist');
const network = join(
  dist,
  'network',
  existsSync('build/Release') || existsSync('prebuilds') ? 'native-network.js' : 'iproute2-network.js',
);
const folder = mkdtempSync(join(tmpdir(), 'dsbc-failover-'));

const links = (number) => ({
  m1: { host: `10.1.0.${number}`, port: 5405 },
  m2: { host: `10.2.0.${number}`, port: 5405 },
  service: { host: `198.51.100.${number}`, port: 5405 },
});
const settings = (instance, heartbeatMs) => ({
  group: 'bench',
  instance,
  key: 'a key of the bench only',
  heartbeatMs,
  listen: links(instance === 'a' ? 1 : 2),
  peers: [instance === 'a' ? { id: 'b', links: links(2) } : { id: 'a', links: links(1) }],
  vips: [{ address: VIP, family: 4, interface: 'service' }],
});

/** `count` switches of the group by a signal to the active: the client's outages. */
async function group(heartbeatMs, signal, count) {
  const lab = new Namespaces();
  try {
    const client = lab.start(
      'client',
      process.execPath,
      join(fixtures, 'client-process.cjs'),
      JSON.stringify({ addresses: [VIP], everyMs: 5 }),
    );
    const launch = (name) =>
      lab.start(
        name,
        process.execPath,
        join(fixtures, 'instance-process.cjs'),
        JSON.stringify({ dist, network, settings: settings(name, heartbeatMs) }),
      );
    const instances = { a: launch('a'), b: launch('b') };
    const outages = [];
    for (let round = 0; round < count; round++) {
      for (const each of Object.values(instances)) await each.waitFor(/"to":"STANDBY"/);
      await pause(Math.max(1500, heartbeatMs * 5) + Math.random() * heartbeatMs);
      const owner = (await lab.sight(client, now() - 300)).owners.at(-1);
      if (owner === undefined) throw new Error('nobody serves');
      const since = now();
      await instances[owner].kill(signal);
      await pause(2500);
      const { outageMs, senderPauseMs, owners } = await lab.sight(client, since - 50);
      if (owners.at(-1) === owner) throw new Error('the other did not take over');
      outages.push(outageMs);
      say(
        `  heartbeat ${heartbeatMs} ms, ${signal}: ${Math.round(outageMs)} ms (longest pause of the client itself ${Math.round(senderPauseMs)} ms)`,
      );
      instances[owner] = launch(owner);
    }
    return outages;
  } finally {
    await lab.close();
  }
}

/** The same with keepalived at the same interval; the service is killed together with it. */
async function keepalived(intervalS, count) {
  const lab = new Namespaces();
  try {
    const client = lab.start(
      'client',
      process.execPath,
      join(fixtures, 'client-process.cjs'),
      JSON.stringify({ addresses: [VIP], everyMs: 5 }),
    );
    const config = (name) => {
      const file = join(folder, `${name}.conf`);
      writeFileSync(
        file,
        `global_defs {\n  vrrp_garp_master_delay 1\n}\nvrrp_instance bench {\n  state BACKUP\n  nopreempt\n  interface service\n  virtual_router_id 51\n  priority ${name === 'a' ? 101 : 100}\n  advert_int ${intervalS}\n  version 3\n  virtual_ipaddress {\n    ${VIP}/32 dev service\n  }\n}\n`,
      );
      return file;
    };
    const launch = (name) => [
      lab.start(name, process.execPath, join(fixtures, 'echo-process.cjs'), VIP, name),
      lab.start(
        name,
        'keepalived',
        '-n',
        '-l',
        '-D',
        '-P',
        '-f',
        config(name),
        '-p',
        join(folder, `${name}.pid`),
        '-r',
        join(folder, `${name}-vrrp.pid`),
      ),
    ];
    const nodes = { a: launch('a'), b: launch('b') };
    const outages = [];
    for (let round = 0; round < count; round++) {
      await pause(4000 + Math.random() * intervalS * 1000);
      const owner = (await lab.sight(client, now() - 300)).owners.at(-1);
      if (owner === undefined)
        throw new Error(`keepalived does not serve:\n${nodes.a[1].output.slice(-1500)}`);
      const pids = execFileSync('ip', ['netns', 'pids', lab.name(owner)], { encoding: 'utf8' })
        .split('\n')
        .filter((pid) => pid !== '');
      // All at once, as a host dies: its VRRP process says goodbye when it sees its parent die first.
      for (const pid of pids) process.kill(Number(pid), 'SIGSTOP');
      const since = now();
      for (const pid of pids) process.kill(Number(pid), 'SIGKILL');
      await pause(4500);
      const { outageMs } = await lab.sight(client, since - 50);
      outages.push(outageMs);
      say(`  keepalived ${intervalS} s, SIGKILL: ${Math.round(outageMs)} ms`);
      // keepalived leaves its address behind when it is killed.
      try {
        lab.ip(owner, 'address', 'del', `${VIP}/32`, 'dev', 'service');
      } catch {
        // It had gone.
      }
      nodes[owner] = launch(owner);
    }
    return outages;
  } finally {
    await lab.close();
  }
}

const figures = (outages) => ({
  median_ms: Math.round(median(outages)),
  min_ms: Math.round(Math.min(...outages)),
  max_ms: Math.round(Math.max(...outages)),
  runs: outages.length,
});

try {
  say('client outage, one probe every 5 ms');
  const takeover = figures(await group(500, 'SIGKILL', runs));
  const handover = figures(await group(500, 'SIGTERM', runs));
  const fast = figures(await group(50, 'SIGKILL', runs));
  const rival = figures(await keepalived(0.5, runs));
  for (const [name, each] of Object.entries({ takeover, handover, fast, keepalived: rival })) {
    say(
      `${name.padEnd(12)} median ${each.median_ms} ms (${each.min_ms} to ${each.max_ms}, ${each.runs} runs)`,
    );
  }
  console.log(JSON.stringify({ takeover, handover, fast, keepalived: rival }));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
