import { flow, from, routed, toAccount, type CallFlow, type CallFlowGroup } from './row';

const PHONE = 'sip:1001@203.0.113.7:40812';
const REFER = { method: 'REFER', headers: ['Refer-To: <sip:1003@example.com>'] };
/** drachtio-server discards it and tells nobody. */
const UNTOLD = { byServer: { drachtio: 0 } } as const;

/** A method that the DSBC carries like any other request. */
const carried = (method: string): CallFlow[] => [
  {
    who: 'endpoint 1001',
    toWhom: 'account 1002',
    registry: '1001 in source',
    happens: 'to the caller’s system',
    request: { method, ...toAccount('sip:1002@example.com') },
    expected: { kind: 'dispatch', system: 'source', relay: 'forward', key: 'account 1001' },
  },
  {
    who: 'site main of source',
    toWhom: 'a phone with a public address, along its flow token',
    registry: '(not asked)',
    happens: 'to the flow',
    request: { method, ...routed(PHONE) },
    arrival: flow('valid'),
    expected: { kind: 'to_flow', relay: 'forward', requestUri: PHONE },
  },
];

const REFERS: CallFlow[] = [
  {
    who: 'endpoint 1001',
    toWhom: 'account 1002',
    registry: '1001 in source',
    happens: 'to the caller’s system; it opens a dialog, as SUBSCRIBE does',
    request: { ...REFER, ...toAccount('sip:1002@example.com') },
    expected: { kind: 'dispatch', system: 'source', relay: 'proxy', onPath: false, key: 'account 1001' },
    ...UNTOLD,
  },
  {
    who: 'endpoint 1001 behind NAT',
    toWhom: 'account 1002',
    registry: '1001 in source',
    happens: 'on path by flow token: the NOTIFYs come back through it',
    request: { ...REFER, ...toAccount('sip:1002@example.com') },
    arrival: { behindNat: true },
    expected: { kind: 'dispatch', system: 'source', relay: 'proxy', onPath: true },
    onDrachtio: { relay: 'b2bua' },
    ...UNTOLD,
  },
  {
    who: 'endpoint 1002',
    toWhom: 'account 1001 of the other system',
    registry: '1002 in target',
    happens: 'to the caller’s system, under its domain',
    request: { ...REFER, ...toAccount('sip:1001@example.com'), from: '<sip:1002@example.com>;tag=a' },
    expected: {
      kind: 'dispatch',
      system: 'target',
      relay: 'proxy',
      requestUri: 'sip:1001@target.example.com',
    },
    ...UNTOLD,
  },
  {
    who: 'vendor-a',
    toWhom: 'a DID of the target system',
    registry: 'DID in target, rings 1002',
    happens: 'to target',
    request: { ...REFER, ...toAccount('sip:+12025550123@example.com') },
    arrival: from('vendorA'),
    expected: { kind: 'dispatch', system: 'target', relay: 'proxy', key: 'did +12025550123' },
    ...UNTOLD,
  },
  {
    who: 'site main of source',
    toWhom: 'account 1002 of the other system',
    registry: '1002 in target',
    happens: '302 to target',
    request: { ...REFER, ...toAccount('sip:1002@example.com') },
    arrival: from('sourceMain'),
    expected: { kind: 'answer', status: 302, system: 'target' },
    ...UNTOLD,
  },
  {
    who: 'site main of source',
    toWhom: 'a phone with a public address, along its flow token',
    registry: '(not asked)',
    happens: 'to the flow',
    request: {
      method: 'REFER',
      ...routed(PHONE),
      headers: [...REFER.headers, ...(routed(PHONE).headers ?? [])],
    },
    arrival: flow('valid'),
    expected: { kind: 'to_flow', relay: 'proxy', requestUri: PHONE },
    ...UNTOLD,
  },
];

/** A method that the SIP servers deal with by themselves. */
const byServer = (
  method: string,
  happens: string,
  expected: CallFlow['expected'],
  statuses: NonNullable<CallFlow['byServer']>,
): CallFlow[] => [
  {
    who: 'endpoint 1001',
    toWhom: 'account 1002',
    registry: '(not asked)',
    happens,
    request: { method, ...toAccount('sip:1002@example.com') },
    expected,
    byServer: statuses,
  },
  {
    who: 'site main of source',
    toWhom: 'a phone with a public address, along its flow token',
    registry: '(not asked)',
    happens,
    request: { method, ...routed(PHONE) },
    arrival: flow('valid'),
    expected: expected.kind === 'dispatch' ? { kind: 'to_flow', relay: 'forward' } : expected,
    byServer: statuses,
  },
];

const WITHOUT_DIALOG = 'it belongs to a dialog, and names none';
const UNKNOWN = { kind: 'answer', status: 481 } as const;

/** With SUBSCRIBE, NOTIFY, MESSAGE and PUBLISH, which have a table of their own, every method there is. */
export const OUTSIDE_DIALOGS: CallFlowGroup = {
  title: 'The other methods outside a dialog',
  rows: [
    ...['OPTIONS', 'INFO'].flatMap(carried),
    ...REFERS,
    ...['BYE', 'UPDATE'].flatMap((method) =>
      byServer(method, WITHOUT_DIALOG, UNKNOWN, { embedded: 481, drachtio: 481 }),
    ),
    ...byServer('PRACK', WITHOUT_DIALOG, UNKNOWN, { embedded: 481, drachtio: 0 }),
    ...byServer('CANCEL', 'it cancels nothing', { kind: 'drop' }, { embedded: 481, drachtio: 481 }),
    ...byServer('ACK', 'it is never answered', { kind: 'drop' }, { embedded: 0, drachtio: 0 }),
    ...byServer(
      'FOO',
      'a method nobody knows: it is not carried',
      { kind: 'dispatch', relay: 'forward' },
      { embedded: 501, drachtio: 0 },
    ),
  ],
};
