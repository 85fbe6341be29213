import { decide, route } from '../../plugin/routing/decide';
import { enquire } from '../../plugin/routing/enquire';
import type { KeyAnswer } from '../../plugin/routing/deciding';
import { readFacts } from '../../plugin/routing/facts';
import { callerKeys } from '../../plugin/routing/keys';
import type { Step } from '../../plugin/routing/decision';
import {
  ABLE,
  factsOf,
  labLookup,
  labSnapshot,
  parsed,
  requestText,
  SOURCES,
  UNABLE,
  world,
} from '../fixtures/routing';

const snapshot = labSnapshot();
const dark = (): KeyAnswer => 'unavailable';

describe('while the registry cannot be asked', () => {
  const register = factsOf({ method: 'REGISTER', uri: 'sip:example.com', to: '<sip:1001@example.com>' });

  it('keys go to the default system', () => {
    const decision = route(register, labSnapshot({ default_system: 'target' }), dark, world());
    expect(decision).toMatchObject({ kind: 'dispatch', system: 'target' });
  });

  it('or are refused 503 with Retry-After, if so configured or without a default system', () => {
    const rejecting = labSnapshot({ default_system: 'target', registry: { on_error: 'reject' } });
    for (const one of [rejecting, snapshot]) {
      expect(route(register, one, dark, world())).toMatchObject({
        kind: 'answer',
        status: 503,
        headers: [['Retry-After', '5']],
      });
    }
  });

  it('a key that is cached still decides', () => {
    const invite = factsOf({ uri: 'sip:+12025550123@example.com' });
    const lookup = (key: { kind: string; value: string }): KeyAnswer =>
      key.kind === 'did' ? { system: 'target' } : 'unavailable';
    expect(route(invite, snapshot, lookup, world())).toMatchObject({ kind: 'dispatch', system: 'target' });
  });

  it('a site hears 503, not 404', () => {
    const invite = factsOf({ uri: 'sip:1002@example.com' }, { source: SOURCES.sourceMain });
    expect(route(invite, snapshot, dark, world())).toMatchObject({ kind: 'answer', status: 503 });
  });
});

describe('a site’s Route', () => {
  it.each([
    ['<sip:203.0.113.200;transport=tcp;lr>', 'sip:203.0.113.200;transport=tcp'],
    ['"x" <sip:a@203.0.113.200:5080;lr>', 'sip:203.0.113.200:5080'],
    ['<sips:203.0.113.200;lr>', 'sips:203.0.113.200'],
    ['<sip:203.0.113.200;lr;transport=TLS>', 'sip:203.0.113.200;transport=TLS'],
  ])('%s says over what the request leaves', (value, nextHop) => {
    const [uri, source] = ['sip:100@203.0.113.200:5070', SOURCES.sourceMain];
    const decision = route(
      factsOf({ uri, headers: [`Route: ${value}`] }, { source }),
      snapshot,
      () => null,
      world(),
    );
    expect(decision).toMatchObject({ kind: 'outbound', requestUri: uri, nextHop });
  });
});

describe('Routes of which more than one name us', () => {
  const us = '<sip:198.51.100.10;lr>';
  const decided = (routes: string, change: object, server = ABLE, uri = 'sip:1002@example.com') => {
    const facts = factsOf({ uri, headers: [`Route: ${routes}`] }, { ...change, server });
    return route(facts, snapshot, labLookup, world());
  };
  const ways = [
    ['a phone’s call', {}, 'sip:1002@example.com'],
    ['a site’s call to the world', { source: SOURCES.sourceMain }, 'sip:100@203.0.113.200'],
  ] as const;

  it.each(ways)('never go on to the next hop, which would send it back: %s', (_who, change, uri) => {
    for (const routes of [`${us}, <sip:example.com;lr>`, `${us}, ${us}, ${us}`]) {
      expect(decided(routes, change, ABLE, uri)).toMatchObject({ relay: 'proxy', strip: ['route'] });
      expect(decided(routes, change, UNABLE, uri)).toMatchObject({ relay: 'b2bua', strip: ['route'] });
    }
    for (const server of [ABLE, UNABLE])
      expect(decided(us, change, server, uri)).toMatchObject({ relay: 'proxy', strip: [] });
  });
});

describe('a user part in a Route that names us', () => {
  const decided = (state: 'valid' | 'forged', source: (typeof SOURCES)[keyof typeof SOURCES]) => {
    const request = { uri: 'sip:1002@example.com', headers: ['Route: <sip:me@198.51.100.10;lr>'] };
    const facts = factsOf(request, { source, flow: { token: 'me', state } });
    return route(facts, snapshot, labLookup, world());
  };

  it('that is no token goes off with the Route, unless a site sends it', () => {
    for (const source of [SOURCES.phone, SOURCES.phoneTcp])
      expect(decided('forged', source)).toMatchObject({ kind: 'dispatch', strip: [] });
    expect(decided('forged', SOURCES.sourceMain)).toMatchObject({ kind: 'answer', status: 403 });
  });

  it('that is a token nobody but a site may use', () => {
    expect(decided('valid', SOURCES.phone)).toMatchObject({ kind: 'answer', status: 403 });
  });
});

describe('who is not believed in what follows', () => {
  const decided = (request: object, arrival: object) =>
    route(factsOf(request, arrival), snapshot, labLookup, world());
  const flow = { token: 't', state: 'valid', transport: 'udp', address: '203.0.113.7', port: 40812 } as const;
  const [toAccount, toDid] = ['sip:1002@example.com', 'sip:+12025550123@example.com'];

  it.each([
    ['a phone that calls', toAccount, { source: SOURCES.phone }, 'caller'],
    [
      'a vendor without trust_identity',
      'sip:0012025550123@example.com',
      { source: SOURCES.vendorB },
      'caller',
    ],
    ['not one with it', toDid, { source: SOURCES.vendorA }, undefined],
    ['a phone that is called', 'sip:1001@192.0.2.33', { source: SOURCES.sourceMain, flow }, 'callee'],
    [
      'a PBX without trust_identity that is called',
      'sip:1@203.0.113.200',
      { source: SOURCES.sourceMain },
      'callee',
    ],
    ['not a trusted vendor that is called', 'sip:1@192.0.2.70', { source: SOURCES.sourceMain }, undefined],
  ])('%s', (_who, uri, arrival, side) => {
    const decision = decided({ uri }, arrival);
    expect(decision.kind).not.toBe('answer');
    if (side === undefined) expect(decision).not.toHaveProperty('distrusted');
    else expect(decision).toHaveProperty('distrusted', side);
  });
});

describe('the keys of a request', () => {
  it('are asked for in order, and the first known one decides', () => {
    const enquiry = enquire(
      factsOf({
        uri: 'sip:+12025550123@example.com',
        from: '<sip:nobody@example.com>;tag=a',
        headers: ['Authorization: Digest username="1001", nonce="n"'],
      }),
      snapshot,
    );
    if (enquiry.kind !== 'ask') throw new Error('decided');
    expect(enquiry.keys.all().map(({ key }) => `${key.kind} ${key.value}`)).toEqual([
      'account nobody',
      'account 1001',
      'did +12025550123',
      'did 12025550123',
      'account +12025550123',
    ]);
    expect(decide(enquiry, [null, { system: 'source' }], snapshot, world())).toMatchObject({
      system: 'source',
      affinityKey: '1001',
    });
  });

  it('a DID is served where its account is served', () => {
    const facts = factsOf({ uri: 'sip:+12025550123@example.com' }, { source: SOURCES.vendorA });
    const byDid = route(facts, snapshot, labLookup, world());
    const own = route(
      factsOf({ method: 'REGISTER', uri: 'sip:example.com', to: '<sip:1002@example.com>' }),
      snapshot,
      labLookup,
      world(),
    );
    if (byDid.kind !== 'dispatch' || own.kind !== 'dispatch') throw new Error('not dispatched');
    expect(byDid.affinityKey).toBe('1002');
    expect(byDid.plan[0]).toBe(own.plan[0]);
  });

  it('a call is spread by its Call-ID where affinity says so', () => {
    const change = {
      systems: {
        source: {
          load_distribution: 'auto',
          affinity: 'call',
          sites: { m: { nodes: [{ uri: 'sip:m' }] }, a: { nodes: [{ uri: 'sip:a' }] } },
        },
      },
    } as const;
    const byCall = labSnapshot(change);
    const sites = new Set(
      Array.from({ length: 40 }, (_, i) => {
        const decision = route(factsOf({ callId: `call-${i}` }), byCall, labLookup, world());
        return decision.kind === 'dispatch' ? decision.plan[0]!.site : '';
      }),
    );
    expect(sites).toEqual(new Set(['m', 'a']));
  });
});

describe('a Request-URI', () => {
  const dispatchUri = (uri: string, arrival = {}, method = 'INVITE'): string => {
    const decision = route(
      factsOf({ method, uri, to: '<sip:x@example.com>' }, arrival),
      snapshot,
      labLookup,
      world(),
    );
    return decision.kind === 'dispatch' ? decision.requestUri : decision.kind;
  };

  it.each([
    'sip:1002@198.51.100.10',
    'sip:1002@198.51.100.10:5060',
    'sip:1002@198.51.100.11',
    'sip:1002@example.com',
    'sips:1002@example.com',
    'SIP:1002@EXAMPLE.com:5060',
    'sip:1002:secret@example.com?Subject=x',
  ])('%s goes out as one and the same', (uri) => {
    expect(dispatchUri(uri)).toBe('sip:1002@example.com');
  });

  it('H25: is byte for byte the one sent where nothing needs to change', () => {
    const uri = 'sip:+12025550123;npdi;rn=+12025550199@example.com;user=phone';
    expect(dispatchUri(uri)).toBe(uri);
    expect(dispatchUri(uri, { server: UNABLE })).toBe(uri);
  });

  it('has its semicolons escaped where the server would choke on them', () => {
    const uri = 'sip:+12025550123;npdi@example.com';
    expect(dispatchUri(uri, { server: UNABLE }, 'MESSAGE')).toBe('sip:+12025550123%3Bnpdi@example.com');
    expect(dispatchUri(uri, { server: ABLE }, 'MESSAGE')).toBe(uri);
  });

  it('tel parameters travel in the user part', () => {
    expect(dispatchUri('tel:+1-202-555-0123;npdi')).toBe('sip:+12025550123;npdi@example.com;user=phone');
  });
});

describe('a request whose Contact has no host', () => {
  const invite = (server = UNABLE, method = 'INVITE') =>
    route(
      factsOf({ method, headers: ['Contact: <tel:+12025550123>'] }, { server }),
      snapshot,
      labLookup,
      world(),
    );

  it('is refused on a server it would harm, if it opens a dialog', () => {
    expect(invite()).toMatchObject({ kind: 'answer', status: 400 });
    expect(invite(UNABLE, 'SUBSCRIBE')).toMatchObject({ kind: 'answer', status: 400 });
    expect(invite(UNABLE, 'MESSAGE')).toMatchObject({ kind: 'dispatch' });
    expect(invite(ABLE)).toMatchObject({ kind: 'dispatch', relay: 'proxy' });
  });
});

describe('which relay, on drachtio-server', () => {
  it.each([
    ['INVITE, direct', 'INVITE', {}, [], { relay: 'proxy', onPath: false, failover: true }],
    [
      'INVITE with 100rel',
      'INVITE',
      {},
      ['Supported: timer, 100rel'],
      { relay: 'proxy', onPath: true, failover: false },
    ],
    ['INVITE behind NAT', 'INVITE', { behindNat: true }, [], { relay: 'b2bua', onPath: true }],
    ['INVITE on TCP', 'INVITE', { source: SOURCES.phoneTcp }, [], { relay: 'b2bua' }],
    [
      'INVITE with an identity to strip',
      'INVITE',
      {},
      ['P-Asserted-Identity: <sip:a@b>'],
      { relay: 'b2bua' },
    ],
    ['SUBSCRIBE, direct', 'SUBSCRIBE', {}, [], { relay: 'proxy', onPath: false }],
    [
      'SUBSCRIBE with a .invalid Contact',
      'SUBSCRIBE',
      {},
      ['Contact: <sip:a@b.invalid>'],
      { relay: 'b2bua' },
    ],
    ['SUBSCRIBE behind NAT', 'SUBSCRIBE', { behindNat: true }, [], { relay: 'b2bua' }],
    ['MESSAGE behind NAT', 'MESSAGE', { behindNat: true }, [], { relay: 'forward', onPath: false }],
    ['INFO out of dialog', 'INFO', {}, [], { relay: 'forward' }],
  ] as const)('%s', (_, method, arrival, headers, expected) => {
    const decision = route(
      factsOf({ method, headers }, { server: UNABLE, ...arrival }),
      snapshot,
      labLookup,
      world(),
    );
    expect(decision).toMatchObject({ kind: 'dispatch', ...expected });
  });

  it('H11: a user it could not carry is 414; one that is forwarded is carried', () => {
    const uri = `sip:${'9'.repeat(240)}@example.com`;
    expect(route(factsOf({ uri }, { server: UNABLE }), snapshot, labLookup, world())).toMatchObject({
      kind: 'answer',
      status: 414,
    });
    expect(
      route(factsOf({ uri, method: 'MESSAGE' }, { server: UNABLE }), snapshot, labLookup, world()),
    ).toMatchObject({ kind: 'dispatch' });
  });

  it('dialogs: on_path and bypass overrule', () => {
    const onPath = labSnapshot({ dialogs: { endpoint: 'on_path', peer: 'auto' } });
    const bypass = labSnapshot({ dialogs: { endpoint: 'bypass', peer: 'auto' } });
    expect(route(factsOf({}, { server: UNABLE }), onPath, labLookup, world())).toMatchObject({
      relay: 'proxy',
      onPath: true,
    });
    expect(route(factsOf({}, { server: UNABLE, behindNat: true }), bypass, labLookup, world())).toMatchObject(
      { relay: 'proxy', onPath: false },
    );
  });
});

it('asks the registry for a few names of one request only, however many credentials it carries', () => {
  const headers = Array.from({ length: 1500 }, (_, i) => `Authorization: Digest username="user-${i}"`);
  const keys = callerKeys(factsOf({ headers })).all();
  expect(keys.map(({ part }) => part).filter((part) => part === 'the digest user name')).toHaveLength(8);
});

describe('readFacts', () => {
  const read = (uri: string) =>
    readFacts({
      message: parsed(requestText({ uri: 'sip:x@example.com' }).replace('sip:x@example.com', uri)),
      source: SOURCES.phone,
      receivedOn: { address: '198.51.100.10', port: 5060 },
      server: ABLE,
      behindNat: false,
    });

  it.each([
    ['mailto:a@b', 416],
    ['http://example.com', 416],
    ['sip:%@example.com', 400],
    ['sip:', 400],
    ['sip:@example.com', 400],
  ])('%s is %d', (uri, status) => {
    expect(read(uri)).toMatchObject({ ok: false, status });
  });

  it.each(['urn:service:counseling', 'tel:112', 'sips:a@example.com'])('%s is fine', (uri) => {
    expect(read(uri).ok).toBe(true);
  });
});

it('tells its steps in words an operator knows', () => {
  const steps: Step[] = [];
  route(
    factsOf({ uri: 'sip:+12025550123@example.com' }, { source: SOURCES.vendorA }),
    snapshot,
    labLookup,
    world(),
    steps,
  );
  expect(steps.map(({ step, because }) => `${step}: ${because}`)).toMatchInlineSnapshot(`
   [
     "source: 192.0.2.70 is peer vendor-a",
     "registry: did +12025550123 (the called number): in system target, rings account 1002",
     "site: a of system target: it is the account's own by its share of 50 %",
     "node: sip:198.51.100.33:5060 (a), then sip:198.51.100.31:5060 (main), then sip:198.51.100.32:5060 (main)",
     "relay: proxy, bypass: our Via but no Record-Route, what follows in the dialog goes direct",
   ]
  `);
});
