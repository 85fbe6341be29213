import { topologyAdvice } from '../../plugin/config/advice';
import { ADVICE, type AdviceCode } from '../../plugin/config/advice-table';
import { parseConfig } from '../../plugin/config/config';
import { fileAdvice } from '../../plugin/config/file-advice';
import { secretAdvice } from '../../plugin/config/secret-advice';

const entry = { address: '198.51.100.10', port: 5060 };
const drachtio = { name: 'main', server: 'drachtio', entry, control: { secret: 's' } };
const node = (host: string, tcp = true) => ({ nodes: [{ uri: `sip:${host}:5060`, tcp }] });
let sites = 0;
const trusting = (net: string) => ({ ...node(`198.51.100.${30 + sites++}`), trusted_nets: [net] });
const ha = {
  group: 'g',
  key: 'k'.repeat(16),
  site: 'main',
  listen: { m1: '10.0.1.1:7946', m2: '10.0.2.1:7946', service: '198.51.100.2:7946' },
  peers: [
    {
      instance: 'dsbc-2',
      site: 'main',
      m1: '10.0.1.2:7946',
      m2: '10.0.2.2:7946',
      service: '198.51.100.3:7946',
    },
    { instance: 'dsbc-3', site: 'b', m1: '10.0.1.3:7946', m2: '10.0.2.3:7946', service: '198.51.100.4:7946' },
  ],
  vips: [{ address: '198.51.100.10', interface: 'eth0' }],
  witness: {},
};
const cassandra = {
  driver: 'cassandra',
  contact_points: ['10.0.1.41', '10.0.1.42', '10.0.1.43'],
  local_datacenter: 'dc1',
};
/** A topology about which there is nothing to say but its number of addresses. */
const sound = {
  domains: ['example.com'],
  sip_servers: [drachtio],
  default_system: 's',
  systems: { s: { sites: { main: node('198.51.100.21'), b: node('203.0.113.21') } } },
  registry: cassandra,
  ha,
  nat: { keys: [{ id: 1, secret: 'x'.repeat(16) }] },
  log: { syslog: { host: '10.0.1.31' } },
};
const codes = (input: unknown): AdviceCode[] => {
  const config = parseConfig(input);
  return [...topologyAdvice(config), ...fileAdvice(config), ...secretAdvice(config)].map(({ code }) => code);
};
const without = <T extends object>(value: T, ...keys: (keyof T)[]): Partial<T> =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key as keyof T))) as Partial<T>;
const { witness: _witness, ...withoutWitness } = ha;
const twoInstances = { ...ha, peers: ha.peers.slice(0, 1) };

const cases: [AdviceCode, unknown][] = [
  [
    'entry_loopback',
    { ...without(sound, 'ha'), sip_servers: [{ ...drachtio, entry: { address: '127.0.0.1' } }] },
  ],
  [
    'entry_private',
    { ...without(sound, 'ha'), sip_servers: [{ ...drachtio, entry: { address: '10.1.1.1' } }] },
  ],
  ['embedded_server', { ...sound, sip_servers: [{ name: 'main', server: 'embedded', entry }] }],
  ['single_instance', without(sound, 'ha')],
  ['nat_key_random', without(sound, 'ha', 'nat')],
  ['single_main_instance', { ...sound, ha: { ...ha, peers: ha.peers.slice(1) } }],
  ['no_secondary_instance', { ...sound, ha: twoInstances }],
  ['instance_sites_unknown', { ...sound, ha: { ...ha, site: undefined } }],
  [
    'one_heartbeat_link',
    {
      ...sound,
      ha: {
        ...ha,
        listen: { m1: '10.0.1.1:7946' },
        peers: [{ instance: 'x', site: 'main', m1: '10.0.1.2:7946' }],
      },
    },
  ],
  ['no_witness', { ...sound, ha: withoutWitness }],
  ['not_alone', { ...sound, registry: { ...cassandra, contact_points: ['127.0.0.1', '10.0.1.42'] } }],
  ['not_alone', { ...sound, log: { syslog: { host: 'localhost' } } }],
  [
    'not_alone',
    { ...sound, systems: { s: { sites: { main: { nodes: [{ uri: 'sip:198.51.100.10:5070' }] } } } } },
  ],
  [
    'registry_public',
    { ...sound, registry: { ...cassandra, contact_points: ['10.0.1.41', '203.0.113.99:9042'] } },
  ],
  ['registry_single', { ...sound, registry: { ...cassandra, contact_points: ['10.0.1.41'] } }],
  ['registry_local', { ...sound, ha: withoutWitness, registry: { driver: 'lmdb', path: 'x' } }],
  ['registry_memory', { ...without(sound, 'ha', 'registry') }],
  ['logserver_none', without(sound, 'log')],
  ['logserver_public', { ...sound, log: { syslog: { host: '203.0.113.31' } } }],
  ['mtu_headroom', { ...sound, mtu: 1450 }],
  [
    'mtu_no_tcp',
    {
      ...sound,
      systems: { s: { sites: { main: node('198.51.100.21', false), b: node('203.0.113.21') } } },
    },
  ],
  ['single_site', { ...sound, systems: { s: { sites: { main: node('198.51.100.21') } } } }],
  [
    'site_unreachable',
    {
      ...without(sound, 'ha'),
      sip_servers: [
        drachtio,
        { ...drachtio, name: 'v6', entry: { address: '2001:db8::10' }, control: { secret: 's', port: 9023 } },
      ],
    },
  ],
  [
    'net_of_two_sites',
    { ...sound, systems: { s: { sites: { main: trusting('10.2.0.0/16'), b: trusting('10.2.3.4/16') } } } },
  ],
  [
    'net_wide',
    { ...sound, systems: { s: { sites: { main: trusting('0.0.0.0/0'), b: node('203.0.113.21') } } } },
  ],
  ['net_wide', { ...sound, peers: [{ name: 'p', nets: ['::/0'] }] }],
  [
    'one_heartbeat_link',
    {
      ...sound,
      ha: { ...ha, listen: { m1: '10.0.1.1:7946', m2: '10.0.1.1:7947', service: '198.51.100.2:7946' } },
    },
  ],
  ['no_default_system', without(sound, 'default_system')],
  ['secret_shipped', { ...sound, nat: { keys: [{ id: 1, secret: 'change-me-nat-key-0123456789' }] } }],
  ['admin_clear', { ...sound, admin: { address: '198.51.100.2', token: 't'.repeat(16) } }],
  ['file_unreadable', { ...sound, admin: { cert_file: '/nowhere/cert.pem', key_file: '/nowhere/key.pem' } }],
  [
    'registry_unwritable',
    { ...without(sound, 'ha'), registry: { driver: 'lmdb', path: '/nowhere/registry.lmdb' } },
  ],
  ['public_addresses', sound],
];

describe('topologyAdvice', () => {
  it('has nothing to say of a sound topology, but counts its public addresses', () => {
    const advice = topologyAdvice(parseConfig(sound));
    expect(advice.map(({ code }) => code)).toEqual(['public_addresses']);
    expect(advice[0]?.about).toMatch(/^6: 198\.51\.100\.10, /);
  });

  it.each(cases)('advises %s where it applies', (code, input) => {
    expect(codes(input)).toContain(code);
    if (code !== 'public_addresses') expect(codes(sound)).not.toContain(code);
  });

  it('has a test for every code', () => {
    expect(new Set(cases.map(([code]) => code))).toEqual(new Set(Object.keys(ADVICE)));
  });

  it('does not warn of a public LogServer over TLS, or of a private admin address', () => {
    expect(codes({ ...sound, log: { syslog: { host: '203.0.113.31', protocol: 'tls' } } })).not.toContain(
      'logserver_public',
    );
    expect(codes({ ...sound, admin: { address: '10.0.1.1', token: 't'.repeat(16) } })).not.toContain(
      'admin_clear',
    );
  });

  it('warns first', () => {
    const levels = topologyAdvice(parseConfig({ ...without(sound, 'ha', 'log'), mtu: 1500 })).map(
      ({ level }) => level,
    );
    expect(levels).toEqual([...levels].sort().reverse());
  });
});
