import { checkConfig, parseConfig } from '../../plugin/config/config';
import { DsbcError } from '../../plugin/errors';
import { smallConfig } from '../fixtures/config';

const textsOf = (input: unknown): string[] => {
  const result = checkConfig(input);
  return result.ok ? [] : result.problems.map((problem) => problem.text);
};

describe('checkConfig', () => {
  it('takes the smallest useful configuration and fills in every default', () => {
    const config = parseConfig(smallConfig());
    expect(config.systems['source']?.load_distribution).toBe('auto');
    expect(config.systems['source']?.affinity).toBe('account');
    expect(config.systems['source']?.sites['main']?.nodes[0]?.tcp).toBe(false);
    expect(config.admin).toEqual({ enabled: true, address: '127.0.0.1', port: 8090 });
    expect(config.health.down_codes).toEqual([503]);
    expect(config.nat.path).toBe('always');
    expect(config.registry.driver).toBe('memory');
    expect(config.mtu).toBe(1300);
  });

  it('freezes the value all the way down', () => {
    const config = parseConfig(smallConfig());
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.systems['source']?.sites['main']?.nodes)).toBe(true);
    expect(Object.isFrozen(config.health.ejection)).toBe(true);
  });

  it('finds nothing under names that every object has', () => {
    const config = parseConfig(smallConfig());
    expect(config.systems['constructor']).toBeUndefined();
    expect(config.systems['source']?.sites['__proto__']).toBeUndefined();
  });

  it.each<Refusal>([
    [
      'an unknown key',
      (c) => ({ ...c, default_sytem: 'x' }),
      'default_sytem: expected one of the keys instance, domains',
    ],
    [
      'a key of the other kind of SIP server',
      (c) => ({
        ...c,
        sip_servers: [
          { name: 'main', server: 'embedded', entry: { address: '127.0.0.1' }, control: { secret: 'x' } },
        ],
      }),
      'sip_servers[0].control: expected one of the keys name, server, entry ("control" goes with another kind',
    ],
    ['a near miss of a key', (c) => ({ ...c, default_sytem: 'x' }), 'did you mean "default_system"?'],
    [
      'no SIP server',
      (c) => ({ ...c, sip_servers: [] }),
      'sip_servers: expected at least one SIP server; found an empty list',
    ],
    [
      'no systems at all',
      ({ sip_servers }) => ({ sip_servers }),
      'systems: expected a map by name; found nothing',
    ],
    [
      'a server of an unknown kind',
      (c) => ({ ...c, sip_servers: [{ ...c.sip_servers[0], server: 'kamailio' }] }),
      'sip_servers[0].server: expected one of embedded, drachtio; found "kamailio"',
    ],
    [
      'a control port on the embedded server',
      (c) => ({ ...c, sip_servers: [{ ...c.sip_servers[0], control: {} }] }),
      'sip_servers[0].control: expected one of the keys',
    ],
    [
      'no control port for drachtio-server',
      (c) => ({ ...c, sip_servers: [{ ...c.sip_servers[0], server: 'drachtio' }] }),
      'sip_servers[0].control: expected a map of keys, which server: drachtio needs: secret, and perhaps host, port, tls, ',
    ],
    [
      'no entry address',
      (c) => ({ ...c, sip_servers: [{ name: 'main', server: 'embedded' }] }),
      'sip_servers[0].entry: expected a map of keys: address, and perhaps port, ',
    ],
    [
      'an address that is none',
      (c) => ({ ...c, sip_servers: [{ ...c.sip_servers[0], entry: { address: '10.0.0.300' } }] }),
      'sip_servers[0].entry.address: expected an IPv4 or IPv6 address; found "10.0.0.300"',
    ],
    [
      'a port out of range',
      (c) => ({ ...c, admin: { port: 70000 } }),
      'admin.port: expected a number from 0 to 65535; found 70000',
    ],
    [
      'a port that is text',
      (c) => ({ ...c, admin: { port: 'high' } }),
      'admin.port: expected a number; found "high"',
    ],
    [
      'a name with a space',
      (c) => ({ ...c, systems: { 'a b': c.systems.source } }),
      'systems["a b"]: expected a name of letters',
    ],
    [
      'an unknown default system',
      (c) => ({ ...c, default_system: 'target' }),
      'default_system: expected one of the systems: source; found target',
    ],
    [
      'shares that miss 100',
      (c) => withShares(c, { main: 70, a: 20 }),
      'systems.source.load_distribution: expected percentages that add up to 100; found 90',
    ],
    [
      'a share for a site that is not there',
      (c) => withShares(c, { main: 70, b: 30, a: 0 }),
      'systems.source.load_distribution.b: expected one of the sites: main, a; found b',
    ],
    [
      'a site without a share',
      (c) => withShares(c, { main: 100 }),
      'systems.source.load_distribution: expected a percentage for each site (0 means backup only); found none for a',
    ],
    [
      'a negative share',
      (c) => withShares(c, { main: 130, a: -30 }),
      'systems.source.load_distribution.a: expected a percentage from 0 to 100; found -30',
    ],
    [
      'a share that is text',
      (c) => withShares(c, { main: 'most', a: 0 }),
      'systems.source.load_distribution.main: expected a number; found "most"',
    ],
    [
      'shares that are neither',
      (c) => withShares(c, [50, 50]),
      'systems.source.load_distribution: expected "auto", or a percentage for each site; found the list [50, 50]',
    ],
    [
      'shares with a bad name',
      (c) => withShares(c, { main: 70, 'a b': 30 }),
      'systems.source.load_distribution["a b"]: expected a name of letters',
    ],
    [
      'a node with a user',
      (c) => withNode(c, 'sip:1001@198.51.100.21'),
      'nodes[0].uri: expected a SIP URI without user',
    ],
    [
      'a node that is asked for by sips:',
      (c) => withNode(c, 'sips:198.51.100.21:5061'),
      '(sips: is not taken); found "sips:198.51.100.21:5061"',
    ],
    [
      'a node that is our own entry address',
      (c) => ({
        ...withNode(c, 'sip:198.51.100.10'),
        sip_servers: [
          { ...c.sip_servers[0], entry: { address: '198.51.100.9' } },
          { name: 'alias', server: 'embedded', entry: { address: '198.51.100.10' } },
        ],
      }),
      'sites.a.nodes[0].uri: expected the address of the site, not an entry address of ours, which would send its requests back to us; found sip:198.51.100.10',
    ],
    [
      'a node that is our own entry address by TLS',
      (c) => ({
        ...withNode(c, 'sip:198.51.100.10;transport=tls'),
        sip_servers: [
          {
            name: 'main',
            server: 'drachtio',
            control: { secret: 'cymru-4711' },
            entry: { address: '198.51.100.10', tls_port: 5061 },
          },
        ],
      }),
      'expected the address of the site, not an entry address of ours',
    ],
    [
      'a node with a port out of range',
      (c) => withNode(c, 'sip:198.51.100.21:99999'),
      'expected a SIP URI without user',
    ],
    [
      'two nodes with one address',
      (c) => withNode(c, 'sip:198.51.100.22:5060'),
      'expected a URI that no other node has; found sip:198.51.100.22:5060, which is also a node of source/main',
    ],
    [
      'a network that is none',
      (c) => ({ ...c, peers: [{ name: 'v', nets: ['192.0.2.0/33'] }] }),
      'peers[0].nets[0]: expected a network such as 192.0.2.0/24',
    ],
    [
      'a peer nobody can recognise',
      (c) => ({ ...c, peers: [{ name: 'v', nets: [] }] }),
      'peers[0].nets: expected at least one network',
    ],
    [
      'two peers of one name',
      (c) => ({
        ...c,
        peers: [
          { name: 'v', nets: ['192.0.2.1'] },
          { name: 'v', nets: ['192.0.2.2'] },
        ],
      }),
      'peers[1].name: expected a name that no other peer has; found v',
    ],
    [
      'three flow keys',
      (c) => ({ ...c, nat: { keys: [1, 2, 3].map((id) => ({ id, secret: 'x'.repeat(32) })) } }),
      'nat.keys: expected at most two keys',
    ],
    [
      'a probe time-out above its interval',
      (c) => ({ ...c, health: { interval_ms: 500, timeout_ms: 900 } }),
      'health.timeout_ms: expected at most health.interval_ms (500); found 900',
    ],
    [
      'an open admin port without a token',
      (c) => ({ ...c, admin: { address: '198.51.100.5' } }),
      'admin.token: expected a token, because 198.51.100.5 can be reached from outside; found none',
    ],
    [
      'TLS on the embedded server',
      (c) => ({
        ...c,
        sip_servers: [{ ...c.sip_servers[0], entry: { address: '127.0.0.1', tls_port: 5061 } }],
      }),
      'sip_servers[0].entry.tls_port: expected no such port: the embedded server speaks UDP and TCP',
    ],
    [
      'a VIP that no SIP server is bound to',
      (c) => withGroup(c, {}),
      'ha.vips[0].address: expected the entry address of a SIP server; found 198.51.100.10',
    ],
    [
      'a group without flow keys',
      (c) => withGroup(c, {}),
      'nat.keys: expected at least one key, the same on every instance of the group; found none',
    ],
    [
      'an instance that is its own peer',
      (c) => withGroup({ ...c, instance: 'dsbc-2' }, {}),
      'ha.peers[0].instance: expected a name that no other instance of the group has; found dsbc-2',
    ],
    [
      'a witness without Cassandra',
      (c) => withGroup(c, { witness: {} }),
      'ha.witness: expected registry.driver: cassandra',
    ],
    [
      'a heartbeat link with one end',
      (c) => withGroup(c, { listen: { m1: '10.0.0.1:7001', m2: '10.0.1.1:7001' } }),
      'ha.peers[0]: expected `m2` on both ends of the link, or on neither; found one end only',
    ],
    ...['0.0.0.0', '::', '0:0:0:0:0:0:0:0', '::ffff:0.0.0.0', '224.0.0.5', 'ff02::1', '255.255.255.255'].map(
      (address): Refusal => [
        `the entry address ${address}`,
        (c) => ({ ...c, sip_servers: [{ ...c.sip_servers[0], entry: { address } }] }),
        `sip_servers[0].entry.address: expected the address of one machine, which others can send to (not 0.0.0.0 or ::, no multicast or broadcast address); found "${address}"`,
      ],
    ),
    [
      'a VIP that is all addresses',
      (c) => withGroup(c, { vips: [{ address: '0.0.0.0', interface: 'eth0' }] }),
      'ha.vips[0].address: expected the address of one machine',
    ],
    [
      'a node that is all addresses',
      (c) => withNode(c, 'sip:0.0.0.0:5060'),
      'nodes[0].uri: expected a SIP URI',
    ],
    [
      'a LogServer that is all addresses',
      (c) => ({ ...c, log: { syslog: { host: '0.0.0.0' } } }),
      'log.syslog.host: expected a host name, or the IP address of one machine; found "0.0.0.0"',
    ],
    [
      'a heartbeat link on all addresses',
      (c) => withGroup(c, { listen: { m1: '0.0.0.0:7001' } }),
      'ha.listen.m1: expected a host, or host:port',
    ],
    ...[302, 401, 404, 480, 486, 487, 501, 600, 603].map((code): Refusal => [
      `a failover at ${code}`,
      (c) => ({ ...c, failover: { codes: [408, code, 503] } }),
      'failover.codes[1]: expected 408, 430, or a fault of the server (500 to 599 but ',
    ]),
    ...['Contact', 'm', 'VIA', 'p-asserted-identity', 'X-Dsbc-Target'].map((header): Refusal => [
      `the flow in ${header}`,
      (c) => ({ ...c, nat: { header } }),
      `nat.header: expected a header name that nothing else uses, such as X-DSBC-Flow: no standard SIP header; found "${header}"`,
    ]),
    [
      'a group whose heartbeats would not fit one datagram',
      (c) =>
        withGroup(c, {
          peers: Array.from({ length: 14 }, (_, index) => ({
            instance: `dsbc-${index + 10}`.padEnd(64, 'x'),
            m1: `10.0.0.${index + 2}:7001`,
          })),
        }),
      'ha.peers: expected fewer instances or shorter names: a heartbeat, which names all, has 1232 bytes at most; found 14 peers, 1',
    ],
    [
      'a heartbeat link to itself',
      (c) => withGroup(c, { listen: { m1: '10.0.0.2:7001' } }),
      'ha.peers[0].m1: expected an address and port that no other end of a link has; found 10.0.0.2:7001, as of ha.listen.m1',
    ],
    [
      'two heartbeat links on one socket',
      (c) =>
        withGroup(c, {
          listen: { m1: '10.0.0.1', m2: '10.0.0.1:5405' },
          peers: [{ instance: 'dsbc-2', m1: '10.0.0.2', m2: '10.0.1.2' }],
        }),
      'ha.listen.m2: expected an address and port that no other end of a link has',
    ],
    [
      'a heartbeat link that moves with the VIP',
      (c) => withGroup(c, { listen: { m1: '198.51.100.10:7001' } }),
      "ha.listen.m1: expected the instance's own address: a virtual IP moves between instances; found 198.51.100.10:7001",
    ],
    [
      'two drachtio-servers behind one control port',
      (c) => ({ ...c, sip_servers: [server('a', {}), server('b', {})] }),
      'sip_servers[1].control: expected a control port of its own; found 127.0.0.1 port 9022, as of a',
    ],
    [
      'two drachtio-servers that send copies to one port',
      (c) => ({
        ...c,
        sip_servers: [server('a', { capture_port: 9060 }), server('b', { port: 9023, capture_port: 9060 })],
      }),
      'sip_servers[1].control.capture_port: expected a port of its own; found 9060, as of a',
    ],
    [
      'two SIP servers on one port, of TLS and of TCP',
      (c) => ({
        ...c,
        sip_servers: [
          { ...server('a', {}), entry: { address: '2001:db8::1', tls_port: 5061 } },
          { ...server('b', { port: 9023 }), entry: { address: '2001:DB8:0::1', port: 5061 } },
        ],
      }),
      'sip_servers[1].entry.port: expected a port of its own for TCP, TLS, WS and WSS; found 2001:db8::1 port 5061, as of a',
    ],
    [
      'one IPv6 entry written in two ways',
      (c) => ({
        ...c,
        sip_servers: [
          { ...server('a', {}), entry: { address: '2001:db8::1' } },
          { ...server('b', { port: 9023 }), entry: { address: '2001:DB8:0::1' } },
        ],
      }),
      'sip_servers[1].entry: expected an entry address and port of its own; found 2001:db8::1 port 5060',
    ],
    [
      'an admin API on the port of a TCP entry',
      (c) => ({ ...c, admin: { port: 5060 } }),
      'admin.port: expected a port that SIP server main does not listen on; found 127.0.0.1 port 5060',
    ],
    [
      'an admin API on all addresses and the port of a TCP entry',
      (c) => ({ ...c, admin: { address: '0.0.0.0', port: 5060, token: 't'.repeat(16) } }),
      'admin.port: expected a port that SIP server main does not listen on',
    ],
    [
      'two peers of one network',
      (c) => ({
        ...c,
        peers: [
          { name: 'v', nets: ['192.0.2.0/24'] },
          { name: 'w', nets: ['192.0.2.7/24'] },
        ],
      }),
      'peers[1].nets[0]: expected a network that nobody else has; found 192.0.2.7/24, which is of peer v',
    ],
    [
      'a peer at the address of a node',
      (c) => ({ ...c, peers: [{ name: 'v', nets: ['198.51.100.21'] }] }),
      'peers[0].nets[0]: expected a network that nobody else has; found 198.51.100.21, which is of site source/main',
    ],
    [
      'a node over UDP behind an entry of TCP only',
      (c) => ({
        ...c,
        sip_servers: [{ ...c.sip_servers[0], entry: { address: '127.0.0.1', transports: ['tcp'] } }],
      }),
      'nodes[0].uri: expected a node that a SIP server can send to',
    ],
    [
      'a node over TLS behind the embedded server',
      (c) => withNode(c, 'sip:198.51.100.21;transport=tls'),
      'nodes[0].uri: expected a node that a SIP server can send to',
    ],
    [
      'a node of IPv6 behind an entry of IPv4',
      (c) => withNode(c, 'sip:[2001:db8::21]'),
      'nodes[0].uri: expected a node that a SIP server can send to',
    ],
    [
      'a file copied from another instance, whose peer is this instance itself',
      (c) => withGroup(c, { listen: { m1: '10.0.0.2:7001' } }),
      'ha.peers[0].m1: expected an address of the other instance, not our own; found 10.0.0.2:7001',
    ],
    [
      'a CA for a control connection in clear text',
      (c) => ({ ...c, sip_servers: [server('a', { ca_file: '/ca.pem' })] }),
      'sip_servers[0].control.ca_file: expected `tls: true` with it; found tls: false',
    ],
    [
      'a CA for a LogServer in clear text',
      (c) => ({ ...c, log: { syslog: { host: '10.0.0.1', ca_file: '/ca.pem' } } }),
      'log.syslog.ca_file: expected `protocol: tls` with it; found protocol: udp',
    ],
    [
      'no domain for the Request-URI',
      (c) => ({ ...c, domains: [] }),
      'systems.source: expected `domain` here, or at least one of `domains` at the top; found neither',
    ],
  ])('refuses %s and says what was expected and found', (_name, change, expected) => {
    const texts = textsOf(change(smallConfig()));
    expect(texts.join('\n')).toContain(expected);
  });

  it('takes the failover at faults of servers, and an admin API on all addresses', () => {
    const codes = [408, 430, 500, 502, 503, 504];
    expect(textsOf({ ...smallConfig(), failover: { codes } })).toEqual([]);
    const admin = { address: '0.0.0.0', token: 't'.repeat(16) };
    expect(textsOf({ ...smallConfig(), admin })).toEqual([]);
    expect(textsOf({ ...smallConfig(), nat: { header: 'X-Flow' } })).toEqual([]);
  });

  it('says nothing of the default system where there is no system', () => {
    expect(textsOf({ ...smallConfig(), systems: {}, default_system: 'x' })).toEqual([
      'systems: expected at least one system; found a map without keys',
    ]);
  });

  it('gives entries and VIPs one spelling', () => {
    const config = parseConfig({
      ...(withGroup(smallConfig(), { vips: [{ address: '2001:DB8::0:10', interface: 'eth0' }] }) as object),
      nat: { keys: [{ id: 1, secret: 'x'.repeat(16) }] },
      sip_servers: [
        { ...server('a', {}), entry: { address: '2001:db8:0::10' } },
        { ...server('b', { port: 9023 }), entry: { address: '198.51.100.10' } },
      ],
    });
    expect(config.sip_servers[0]?.entry.address).toBe('2001:db8::10');
    expect(config.ha?.vips[0]?.address).toBe('2001:db8::10');
  });

  it('reports every problem, not only the first', () => {
    expect(textsOf({ ...smallConfig(), mtu: 1, drain_ms: -1, colour: 'red' })).toHaveLength(3);
  });

  it('never shows a secret, whatever is wrong with it', () => {
    const texts = textsOf({
      ...smallConfig(),
      admin: { token: 'swordfish' },
      nat: { keys: [{ id: 1, secret: 'hunter2' }] },
    }).join('\n');
    expect(texts).toContain(
      'admin.token: expected a secret of at least 16 characters; found 9 characters (not shown)',
    );
    expect(texts).toContain('nat.keys[0].secret');
    expect(texts).not.toMatch(/swordfish|hunter2/);
  });

  it('throws DSBC_CONFIG_INVALID with all problems when a value is needed', () => {
    expect.assertions(2);
    try {
      parseConfig({});
    } catch (error) {
      expect(error).toBeInstanceOf(DsbcError);
      expect((error as DsbcError).details['problems']).toHaveLength(2);
    }
  });
});

type Small = ReturnType<typeof smallConfig>;
type Refusal = [what: string, change: (config: Small) => unknown, text: string];

const server = (name: string, control: object) => ({
  name,
  server: 'drachtio',
  entry: { address: name === 'a' ? '127.0.0.1' : '127.0.0.2' },
  control: { secret: 's', ...control },
});

function withShares(config: Small, load_distribution: object): unknown {
  return { ...config, systems: { source: { ...config.systems.source, load_distribution } } };
}

function withNode(config: Small, uri: string): object {
  const sites = {
    ...config.systems.source.sites,
    a: { nodes: [{ uri }] },
    main: { nodes: [{ uri: 'sip:198.51.100.22:5060' }] },
  };
  return { ...config, systems: { source: { sites } } };
}

function withGroup(config: object, ha: object): unknown {
  return {
    ...config,
    ha: {
      group: 'g',
      key: 'k'.repeat(16),
      listen: { m1: '10.0.0.1:7001' },
      peers: [{ instance: 'dsbc-2', m1: '10.0.0.2:7001' }],
      vips: [{ address: '198.51.100.10', interface: 'eth0' }],
      ...ha,
    },
  };
}
