import { DEFAULT_SYSTEM, toAccount, type CallFlowGroup } from './row';

export const CALLERS: CallFlowGroup = {
  title: 'Who an endpoint says it is',
  rows: [
    {
      who: 'unknown caller',
      toWhom: 'DID +12025550123',
      registry: 'DID in target, rings 1002',
      happens: 'the DID’s system, at the site of its account',
      request: {
        ...toAccount('sip:+12025550123@example.com'),
        from: '<sip:someone@elsewhere.invalid>;tag=a',
        headers: ['Contact: <sip:203.0.113.7:40812>'],
      },
      expected: {
        kind: 'dispatch',
        system: 'target',
        requestUri: 'sip:+12025550123@target.example.com',
        key: 'did +12025550123',
      },
    },
    {
      who: 'endpoint 1001',
      toWhom: 'account, with a P-Asserted-Identity of its own making',
      registry: '1001 in source',
      happens: 'the header does not travel on',
      request: {
        ...toAccount('sip:1002@example.com'),
        headers: ['P-Asserted-Identity: <sip:boss@example.com>', 'Remote-Party-ID: <sip:boss@example.com>'],
      },
      expected: { kind: 'dispatch', strip: ['p-asserted-identity', 'remote-party-id'] },
    },
    {
      who: 'anonymous caller with P-Preferred-Identity',
      toWhom: 'a number',
      registry: '1001 in source',
      happens: 'the preferred identity names the account',
      request: {
        ...toAccount('sip:+442079460000@example.com'),
        from: '"Anonymous" <sip:anonymous@anonymous.invalid>;tag=a',
        headers: ['P-Preferred-Identity: <sip:1001@example.com>', 'Contact: <sip:203.0.113.7:40812>'],
      },
      expected: { kind: 'dispatch', system: 'source', key: 'account 1001' },
    },
    {
      who: 'anonymous caller, unknown',
      toWhom: 'a DID',
      registry: 'DID in target',
      happens: 'the DID decides',
      request: {
        ...toAccount('sip:+12025550123@example.com'),
        from: '<sip:anonymous@anonymous.invalid>;tag=a',
        headers: ['Contact: <sip:203.0.113.7:40812>'],
      },
      expected: { kind: 'dispatch', system: 'target', key: 'did +12025550123' },
    },
    {
      who: 'PBX trunk with any From, credentials given',
      toWhom: 'a number',
      registry: 'trunk in source',
      happens: 'the digest user name names the account',
      request: {
        ...toAccount('sip:+442079460000@example.com'),
        from: '<sip:+12125550000@pbx.local>;tag=a',
        headers: [
          'Contact: <sip:203.0.113.7:40812>',
          'Authorization: Digest username="trunk@example.com", realm="r", nonce="n1", uri="sip:x", response="0"',
        ],
      },
      expected: { kind: 'dispatch', system: 'source', key: 'account trunk' },
    },
    {
      who: 'PBX trunk with any From, registered over this flow',
      toWhom: 'a number',
      registry: 'trunk in source',
      happens: 'the registration names the account',
      request: {
        ...toAccount('sip:+442079460000@example.com'),
        from: '<sip:+12125550000@pbx.local>;tag=a',
        headers: ['Contact: <sip:203.0.113.7:40812>'],
      },
      arrival: { registeredAs: () => 'trunk' },
      expected: { kind: 'dispatch', system: 'source', key: 'account trunk' },
    },
    {
      who: 'unknown caller',
      toWhom: 'emergency, with a default system',
      registry: 'nothing',
      happens: 'the default system gets it: better there than nowhere',
      request: {
        uri: 'urn:service:sos',
        to: '<urn:service:sos>',
        from: '<sip:nobody@example.com>;tag=a',
        headers: ['Contact: <sip:203.0.113.7:40812>'],
      },
      settings: DEFAULT_SYSTEM,
      expected: { kind: 'dispatch', system: 'source', relay: 'proxy', requestUri: 'urn:service:sos' },
    },
    {
      who: 'caller with a From user of 10,000 characters',
      toWhom: 'a DID',
      registry: 'DID in target',
      happens: 'the DID decides: no registry can hold such a caller',
      request: {
        ...toAccount('sip:+12025550123@198.51.100.10'),
        from: `<sip:${'9'.repeat(10_000)}@example.com>;tag=a`,
        headers: ['Contact: <sip:203.0.113.7:40812>'],
      },
      expected: { kind: 'dispatch', system: 'target', key: 'did +12025550123' },
      byServer: { drachtio: 400 },
    },
    {
      who: 'RFC 6140 PBX, any number of its own in From',
      toWhom: 'a number outside',
      registry: 'trunk in source',
      happens: 'the registration over the same flow names the account',
      request: {
        ...toAccount('sip:+442079460000@example.com'),
        from: '<sip:+12125550007@pbx.local>;tag=a',
        headers: ['Contact: <sip:203.0.113.7:40812>'],
      },
      arrival: { registeredAs: () => 'trunk' },
      expected: { kind: 'dispatch', system: 'source', relay: 'proxy', onPath: false, key: 'account trunk' },
    },
  ],
};
