import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DEFAULT_HEARTBEAT_PORT, settingsOf } from '../../plugin/ha/settings';
import { EXAMPLES, loadInstance, SYSTEM_DIR } from '../fixtures/examples';
import type { Host } from '../fixtures/lab/host';
import { Lab } from '../fixtures/lab/lab';
import { Probe } from '../fixtures/lab/probe';
import { describeWith } from '../fixtures/needs';

// A busy machine takes its time to make namespaces and start programs.
jest.setTimeout(60_000);

const text = (name: string): string => readFileSync(path.join(SYSTEM_DIR, name), 'utf8');

/** A unit file as sections of keys; a key may come several times. */
function unit(name: string): (section: string, key: string) => string[] {
  let section = '';
  const found: [string, string, string][] = [];
  for (const line of text(name).split('\n')) {
    section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section;
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) found.push([section, key, value]);
    else expect(line).toMatch(/^($|#|\[\w+\]$)/);
  }
  return (wanted, key) => found.flatMap(([s, k, value]) => (s === wanted && k === key ? [value] : []));
}

describe('dsbc.service', () => {
  const dsbc = unit('dsbc.service');

  it('runs without root, with the two capabilities that a VIP needs', () => {
    expect(dsbc('Service', 'User')).toEqual(['dsbc']);
    for (const key of ['AmbientCapabilities', 'CapabilityBoundingSet'])
      expect(dsbc('Service', key)).toEqual(['CAP_NET_ADMIN CAP_NET_RAW']);
    // Netlink for addresses, packet sockets for announcements.
    expect(dsbc('Service', 'RestrictAddressFamilies')[0]).toMatch(/AF_NETLINK AF_PACKET/);
  });

  it('is told when it is ready, watched, and restarted for ever', () => {
    expect(dsbc('Service', 'Type')).toEqual(['notify']);
    expect(dsbc('Service', 'WatchdogSec')).toHaveLength(1);
    expect(dsbc('Service', 'Restart')).toEqual(['always']);
    // systemd's own limit would end that after five starts in ten seconds.
    expect(dsbc('Unit', 'StartLimitIntervalSec')).toEqual(['0']);
  });

  it('starts the file that every README puts in place, with the environment file of the examples', () => {
    expect(dsbc('Service', 'ExecStart')).toEqual(['/usr/bin/env dsbc run -c /etc/dsbc/dsbc.yaml']);
    expect(dsbc('Service', 'EnvironmentFile')).toEqual(['/etc/dsbc/dsbc.env']);
    for (const { folder } of EXAMPLES)
      expect(readFileSync(path.join(folder, 'README.md'), 'utf8')).toContain('/etc/dsbc/dsbc.yaml');
  });

  it('keeps the registry where the file of the single server expects it', async () => {
    const single = EXAMPLES.find(({ name }) => name === 'single-server')!;
    const { registry } = await loadInstance(single, 'dsbc');
    expect(dsbc('Service', 'StateDirectory')).toEqual(['dsbc']);
    expect(registry).toMatchObject({ driver: 'lmdb', path: '/var/lib/dsbc/registry.lmdb' });
  });
});

describe('drachtio@.service', () => {
  const drachtio = unit('drachtio@.service');

  it('starts the configuration of its name and restarts it also after exit code 0', () => {
    expect(drachtio('Service', 'ExecStart')).toEqual([
      '/usr/local/bin/drachtio -f /etc/drachtio/%i.conf.xml $DRACHTIO_OPTIONS',
    ]);
    expect(drachtio('Service', 'Restart')).toEqual(['always']);
    expect(drachtio('Unit', 'StartLimitIntervalSec')).toEqual(['0']);
    expect(drachtio('Service', 'EnvironmentFile')).toEqual(['/etc/dsbc/dsbc.env', '-/etc/drachtio/%i.env']);
  });

  it('takes half of the memory at most, since it leaks what strangers send', () => {
    expect(drachtio('Service', 'MemoryMax')).toEqual(['50%']);
  });
});

it('dsbc.nft guards every port that heartbeats take: those of the examples, and that of a link which names none', async () => {
  const rule = text('dsbc.nft')
    .split('\n')
    .find((line) => line.includes('@heartbeat_peers drop'));
  const guarded = /th dport \{([^}]*)\}/
    .exec(rule ?? '')?.[1]
    ?.split(',')
    .map(Number);
  const used = new Set([DEFAULT_HEARTBEAT_PORT]);
  for (const example of EXAMPLES)
    for (const instance of example.instances) {
      const { ha } = await loadInstance(example, instance);
      if (ha === undefined) continue;
      const { listen, peers } = settingsOf(ha, instance);
      for (const links of [listen, ...peers.map((peer) => peer.links)])
        for (const { port } of Object.values(links)) used.add(port);
    }
  expect(guarded).toEqual([...used].sort());
});

it('docs/topologies.md puts every file of config-examples/system in its place', () => {
  const steps = readFileSync(path.join(SYSTEM_DIR, '../../docs/topologies.md'), 'utf8');
  for (const file of ['dsbc.service', 'drachtio@.service', '90-dsbc.conf', 'dsbc.nft', 'dsbc.env'])
    expect(steps).toContain(`\`${file}\``);
});

describeWith(['netns'], 'in a namespace', () => {
  let lab: Lab;
  let server: Host;
  let stranger: Host;
  const probes: Probe[] = [];
  const open = async (host: Host, address: string, port: number): Promise<Probe> => {
    const probe = await Probe.open(host, address, port);
    probes.push(probe);
    return probe;
  };

  beforeEach(async () => {
    lab = await Lab.create();
    const lan = await lab.network('lan');
    server = await lab.host('server');
    stranger = await lab.host('stranger');
    await lan.attach(server, { addresses: ['198.51.100.2/24', '198.51.100.10/32', '192.168.7.1/24'] });
    await lan.attach(stranger, {
      addresses: ['198.51.100.99/24', '198.51.100.21/24', '10.0.1.12/24', '192.168.7.9/24'],
    });
    await server.ip('route add 10.0.1.0/24 dev eth0');
  });

  afterEach(async () => {
    for (const probe of probes.splice(0)) probe.close();
    await lab.close();
  });

  it('90-dsbc.conf: each setting that a namespace has can be set, and the VIP of another machine can be bound', async () => {
    const settings = [...text('90-dsbc.conf').matchAll(/^([\w.]+) = (\d+)$/gm)].map(([, key, value]) => [
      key!,
      value!,
    ]);
    // Buffer sizes are the machine's, not a namespace's.
    const ofNamespace = settings.filter(([key]) => key!.startsWith('net.ip'));
    await expect(server.udp('198.51.100.77', 5060)).rejects.toThrow('EADDRNOTAVAIL');
    await server.sysctl(Object.fromEntries(ofNamespace) as Record<string, string>);
    await open(server, '198.51.100.77', 5060);
    for (const [key] of settings) expect(existsSync(`/proc/sys/${key!.replaceAll('.', '/')}`)).toBe(true);
  });

  it('dsbc.nft: drops what kills the SIP server, lets everything else through', async () => {
    const sip = await open(server, '198.51.100.10', 5060);
    const from = await open(stranger, '198.51.100.99', 5060);
    const site = await open(stranger, '198.51.100.21', 5060);
    await server.nft(text('dsbc.nft'));
    for (const method of ['BYE', 'ACK', 'INVITE', 'REGISTER']) {
      from.send(`${method} tel:+12025550123 SIP/2.0`, '198.51.100.10 5060');
      from.send(`${method} sip:+12025550123@example.com SIP/2.0`, '198.51.100.10 5060');
    }
    site.send('BYE tel:+12025550199 SIP/2.0', '198.51.100.10 5060');
    from.send('end', '198.51.100.10 5060');
    await sip.hears('end');
    const heard = async (line: string): Promise<boolean> =>
      (await sip.hears(`${line} SIP/2.0`, 0)) !== undefined;
    expect(await heard('BYE tel:+12025550123')).toBe(false);
    expect(await heard('ACK tel:+12025550123')).toBe(false);
    expect(await heard('INVITE tel:+12025550123')).toBe(true);
    for (const method of ['BYE', 'ACK', 'INVITE', 'REGISTER'])
      expect(await heard(`${method} sip:+12025550123@example.com`)).toBe(true);
    expect(await heard('BYE tel:+12025550199')).toBe(true);
  });

  it('dsbc.nft: lets an address send some PRACKs a second, and sites all of theirs', async () => {
    const sip = await open(server, '198.51.100.10', 5060);
    const from = await open(stranger, '198.51.100.99', 5060);
    const site = await open(stranger, '198.51.100.21', 5060);
    await server.nft(text('dsbc.nft'));
    const start = Date.now();
    for (let i = 0; i < 200; i++) {
      from.send('PRACK sip:phone@198.51.100.10 SIP/2.0', '198.51.100.10 5060');
      site.send('PRACK sip:site@198.51.100.10 SIP/2.0', '198.51.100.10 5060');
      if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    from.send('PRACKS are no PRACK', '198.51.100.10 5060');
    site.send('end', '198.51.100.10 5060');
    expect(await sip.hears('PRACKS are no PRACK')).toBeDefined();
    await sip.hears('end');
    const seconds = (Date.now() - start) / 1000;
    expect(sip.count('PRACK sip:site')).toBe(200);
    const heard = sip.count('PRACK sip:phone');
    expect(heard).toBeGreaterThanOrEqual(100);
    expect(heard).toBeLessThanOrEqual(101 + Math.ceil(20 * seconds));
  });

  it('dsbc.nft: lets nothing out from the VIP to internal networks, and heartbeats in from the group only', async () => {
    const vip = await open(server, '198.51.100.10', 5060);
    const inside = await open(stranger, '192.168.7.9', 5060);
    const outside = await open(stranger, '198.51.100.99', 5060);
    const heartbeats = await open(server, '198.51.100.2', 7946);
    const peer = await open(stranger, '10.0.1.12', 7946);
    await server.nft(text('dsbc.nft'));
    // The kernel refuses the send itself.
    vip.socket.on('error', () => undefined);
    vip.send('relayed', '192.168.7.9 5060');
    vip.send('to a phone', '198.51.100.99 5060');
    expect(await outside.hears('to a phone')).toBe('198.51.100.10 5060');
    expect(await inside.hears('relayed', 100)).toBeUndefined();
    outside.send('forged', '198.51.100.2 7946');
    peer.send('heartbeat', '198.51.100.2 7946');
    expect(await heartbeats.hears('heartbeat')).toBe('10.0.1.12 7946');
    expect(await heartbeats.hears('forged', 0)).toBeUndefined();
  });
});
