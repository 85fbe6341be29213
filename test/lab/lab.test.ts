import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Host } from '../fixtures/lab/host';
import { Lab } from '../fixtures/lab/lab';
import { Guardian, uniquePrefix } from '../fixtures/lab/namespaces';
import { command } from '../fixtures/lab/command';
import type { Port } from '../fixtures/lab/network';
import { Probe } from '../fixtures/lab/probe';
import { describeWith } from '../fixtures/needs';

// A busy machine takes its time to make namespaces and start programs.
jest.setTimeout(60_000);

const QUIET_MS = 150;
const pause = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));
const there = (namespace: string): boolean => existsSync(`/run/netns/${namespace}`);
/** Not a process that is dead and waits for its parent to notice. */
const lives = (pid: number): boolean => {
  try {
    return !readFileSync(`/proc/${pid}/status`, 'latin1').includes('State:\tZ');
  } catch {
    return false;
  }
};
const until = async (condition: () => boolean, withinMs = 5000): Promise<boolean> => {
  for (let waited = 0; waited < withinMs && !condition(); waited += 20) await pause(20);
  return condition();
};

describeWith(['netns', 'tcpdump'], 'the lab', () => {
  const labs: Lab[] = [];
  const probes: Probe[] = [];
  const create = async (): Promise<Lab> => {
    const lab = await Lab.create();
    labs.push(lab);
    return lab;
  };
  const open = async (host: Host, address: string): Promise<Probe> => {
    const probe = await Probe.open(host, address, 5060);
    probes.push(probe);
    return probe;
  };

  afterEach(async () => {
    for (const probe of probes.splice(0)) probe.close();
    for (const lab of labs.splice(0)) await lab.close();
  });

  interface Pair {
    readonly hosts: readonly [Host, Host];
    readonly ports: readonly [Port, Port];
    readonly a: Probe;
    readonly b: Probe;
  }
  const pair = async (): Promise<Pair> => {
    const lab = await create();
    const lan = await lab.network('lan');
    const hosts = [await lab.host('a'), await lab.host('b')] as const;
    const ports = [
      await lan.attach(hosts[0], { addresses: ['198.51.100.1/24', '2001:db8::1/64'] }),
      await lan.attach(hosts[1], { addresses: ['198.51.100.2/24', '2001:db8::2/64'] }),
    ] as const;
    return {
      hosts,
      ports,
      a: await open(hosts[0], '198.51.100.1'),
      b: await open(hosts[1], '198.51.100.2'),
    };
  };
  const reach = async ({ a, b }: Pair, text: string, withinMs?: number): Promise<[boolean, boolean]> => {
    a.send(`${text} ab`, '198.51.100.2 5060');
    b.send(`${text} ba`, '198.51.100.1 5060');
    const heard = await Promise.all([b.hears(`${text} ab`, withinMs), a.hears(`${text} ba`, withinMs)]);
    return [heard[0] !== undefined, heard[1] !== undefined];
  };

  it('carries IPv4 and IPv6 between two hosts at once, while another lab has the same addresses', async () => {
    const [first, second] = await Promise.all([pair(), pair()]);
    expect(await reach(first, 'first')).toEqual([true, true]);
    expect(await reach(second, 'second')).toEqual([true, true]);
    expect(second.a.count('first') + first.b.count('second')).toBe(0);
    const six = await open(first.hosts[0], '2001:db8::1');
    const sixth = await open(first.hosts[1], '2001:db8::2');
    six.send('over six', '2001:db8::2 5060');
    expect(await sixth.hears('over six')).toBe('2001:db8::1 5060');
  });

  it('isolates a port without the host seeing it, and heals', async () => {
    const world = await pair();
    const fault = await world.ports[0].isolate();
    expect(await reach(world, 'isolated', QUIET_MS)).toEqual([false, false]);
    const { stdout } = await world.hosts[0].run('cat', ['/sys/class/net/lo/carrier']);
    expect(stdout.trim()).toBe('1');
    const link = await world.hosts[0].run('ip', ['-j', 'link', 'show', 'eth0']);
    expect((JSON.parse(link.stdout) as { flags: string[] }[])[0]?.flags).not.toContain('NO-CARRIER');
    await fault.heal();
    expect(await reach(world, 'healed')).toEqual([true, true]);
  });

  it('takes the carrier away and brings it back', async () => {
    const world = await pair();
    await world.ports[0].unplug();
    const link = await world.hosts[0].run('ip', ['-j', 'link', 'show', 'eth0']);
    expect((JSON.parse(link.stdout) as { flags: string[] }[])[0]?.flags).toContain('NO-CARRIER');
    await world.ports[0].plugIn();
    expect(await reach(world, 'back')).toEqual([true, true]);
  });

  it('loses everything one way, only what matches, or a share', async () => {
    const world = await pair();
    // Neighbours first: a lost ARP request would cost more than the packet.
    expect(await reach(world, 'before')).toEqual([true, true]);

    const oneWay = await world.ports[0].lose({ direction: 'from_host' });
    expect(await reach(world, 'one way', QUIET_MS)).toEqual([false, true]);
    await oneWay.heal();

    const matching = await world.ports[0].lose({ match: 'udp dport 9' });
    expect(await reach(world, 'another port')).toEqual([true, true]);
    await matching.heal();

    const share = await world.ports[0].lose({ percent: 30, direction: 'from_host' });
    for (let sent = 0; sent < 1000; sent += 1) {
      world.a.send(`share ${sent}`, '198.51.100.2 5060');
      if (sent % 50 === 0) await pause(1);
    }
    await pause(QUIET_MS);
    // 1000 tries at 0.7: six standard deviations are 87.
    expect(Math.abs(world.b.count('share') - 700)).toBeLessThan(87);
    await share.heal();
    expect(await reach(world, 'healed')).toEqual([true, true]);
  });

  it('runs programs inside a host, captures their packets and ends them', async () => {
    const world = await pair();
    const sleeper = world.hosts[0].start('sleep', ['1000']);
    const capture = await world.hosts[1].capture('udp port 5060', 'eth0');
    const everywhere = await world.hosts[1].capture('udp port 5060');
    world.a.send('seen on the wire \xff', '198.51.100.2 5060');
    await world.b.hears('seen on the wire \xc3\xbf');
    const expected = {
      protocol: 'udp',
      source: '198.51.100.1',
      sourcePort: 5060,
      destination: '198.51.100.2',
      destinationPort: 5060,
      payload: 'seen on the wire \xc3\xbf',
    };
    expect(await capture.packets()).toEqual([expect.objectContaining(expected)]);
    expect(await everywhere.packets()).toEqual([expect.objectContaining(expected)]);
    expect(sleeper.running).toBe(true);
    await sleeper.stop();
    expect(sleeper.running).toBe(false);
    expect(await world.hosts[1].neighbour('198.51.100.1')).toMatch(/^([0-9a-f]{2}:){5}/);
    expect(await world.hosts[0].holds('2001:db8::1')).toBe(true);
  });

  it('says what a program printed when what was awaited does not come', async () => {
    const host = await (await create()).host('a');
    const talker = host.start('sh', ['-c', 'echo no such luck; exit 3']);
    await expect(talker.waitFor(/luck is here/)).rejects.toThrow(/it ended.*\n.*no such luck/s);
    expect(talker.exitCode).toBe(3);
    await expect(host.start('no-such-program').waitFor(/never/)).rejects.toThrow('no-such-program');
    await expect(host.run('sh', ['-c', 'echo broken >&2; exit 1'])).rejects.toThrow('broken');
    await expect(host.udp('192.0.2.99')).rejects.toThrow('EADDRNOTAVAIL');
  });

  it('leaves nothing behind when it is closed, running programs included', async () => {
    const lab = await create();
    const host = await lab.host('a');
    await lab.network('lan');
    const sleeper = host.start('sh', ['-c', 'trap "" TERM; setsid sleep 1000 & echo $!; wait']);
    const [, grandchild] = await sleeper.waitFor(/(\d+)\n/);
    await lab.close();
    labs.pop();
    expect(there(host.namespace)).toBe(false);
    expect(await until(() => !lives(Number(grandchild)))).toBe(true);
  });

  it('is removed when the process that made it is killed', async () => {
    const script = `
      const { spawn } = require('node:child_process');
      const guardian = spawn('sh', ['-c', ${JSON.stringify(Guardian.script)}, 'sh', process.argv[1]], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
      guardian.on('spawn', () => console.log('made'));
      setInterval(() => guardian.stdin, 1000);`;
    const prefix = uniquePrefix();
    await command('ip', ['netns', 'add', `${prefix}x`]);
    const owner = spawn(process.execPath, ['-e', script, prefix], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(owner.stdout, 'data');
    expect(there(`${prefix}x`)).toBe(true);
    owner.kill('SIGKILL');
    expect(await until(() => !there(`${prefix}x`))).toBe(true);
  });

  it('sweeps what a dead process without a guardian left, and nothing of a living one', async () => {
    const doomed = spawn(process.execPath, [path.join(__dirname, 'doomed-lab.cjs')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(doomed.stdout, 'data')) as [Buffer];
    const [namespace = '', pid] = line.toString().trim().split(' ');
    await create();
    expect(there(namespace)).toBe(true);
    expect(lives(Number(pid))).toBe(true);

    doomed.kill('SIGKILL');
    await once(doomed, 'exit');
    expect(there(namespace)).toBe(true);
    await create();
    expect(there(namespace)).toBe(false);
    expect(await until(() => !lives(Number(pid)))).toBe(true);
  });
});
