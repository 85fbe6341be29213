import { flow, from, routed, toAccount, type CallFlow, type CallFlowGroup } from './row';

/** The cases of a call, for requests that are none. */
const METHODS = ['SUBSCRIBE', 'NOTIFY', 'MESSAGE', 'PUBLISH'] as const;
type Method = (typeof METHODS)[number];

/** SUBSCRIBE opens a dialog, the others don't. */
const relayOf = (method: Method): string => (method === 'SUBSCRIBE' ? 'proxy' : 'forward');

/** A SUBSCRIBE whose Request-URI has to change goes by b2bua there. */
const rewritten = (method: Method): Pick<CallFlow, 'onDrachtio'> =>
  method === 'SUBSCRIBE' ? { onDrachtio: { relay: 'b2bua', onPath: true } } : {};

const rowsOf = (method: Method): CallFlow[] => [
  {
    who: 'endpoint 1001',
    toWhom: 'account alice of the same system',
    registry: '1001 in source',
    happens: 'to the caller’s system',
    request: { method, ...toAccount('sip:alice@example.com') },
    expected: {
      kind: 'dispatch',
      system: 'source',
      relay: relayOf(method),
      requestUri: 'sip:alice@example.com',
    },
  },
  {
    who: 'endpoint 1001',
    toWhom: 'account 1002 of the other system',
    registry: '1001 in source',
    happens: 'to the caller’s system',
    request: { method, ...toAccount('sip:1002@example.com') },
    expected: { kind: 'dispatch', system: 'source', relay: relayOf(method), key: 'account 1001' },
  },
  {
    who: 'endpoint 1002',
    toWhom: 'account 1001 of the other system',
    registry: '1002 in target',
    happens: 'to the caller’s system, under its domain',
    request: { method, ...toAccount('sip:1001@example.com'), from: '<sip:1002@example.com>;tag=a' },
    expected: {
      kind: 'dispatch',
      system: 'target',
      relay: relayOf(method),
      requestUri: 'sip:1001@target.example.com',
    },
    ...rewritten(method),
  },
  {
    who: 'endpoint 1001',
    toWhom: 'a number outside',
    registry: '1001 in source',
    happens: 'to the caller’s system',
    request: { method, ...toAccount('sip:+442079460000@example.com') },
    expected: { kind: 'dispatch', system: 'source', relay: relayOf(method) },
  },
  {
    who: 'vendor-a',
    toWhom: 'a DID of the target system',
    registry: 'DID in target, rings 1002',
    happens: 'to target',
    request: { method, ...toAccount('sip:+12025550123@example.com') },
    arrival: from('vendorA'),
    expected: { kind: 'dispatch', system: 'target', relay: relayOf(method), key: 'did +12025550123' },
    ...rewritten(method),
  },
  {
    who: 'vendor-a',
    toWhom: 'an unknown number',
    registry: 'nothing',
    happens: '404',
    request: { method, ...toAccount('sip:+12025550100@example.com') },
    arrival: from('vendorA'),
    expected: { kind: 'answer', status: 404 },
  },
  {
    who: 'site main of source',
    toWhom: 'account 1002 of the other system',
    registry: '1002 in target',
    happens: '302 to target',
    request: { method, ...toAccount('sip:1002@example.com') },
    arrival: from('sourceMain'),
    expected: { kind: 'answer', status: 302, system: 'target' },
  },
  {
    who: 'site main of source',
    toWhom: 'a vendor',
    registry: 'nothing',
    happens: 'out through the one address',
    request: { method, ...toAccount('sip:+442079460000@192.0.2.70') },
    arrival: from('sourceMain'),
    expected: { kind: 'outbound', relay: relayOf(method), nextHop: 'sip:192.0.2.70' },
  },
  {
    who: 'site main of source',
    toWhom: 'a host that nothing allows',
    registry: 'nothing',
    happens: '403',
    request: { method, ...toAccount('sip:bob@elsewhere.invalid') },
    arrival: from('sourceMain'),
    expected: { kind: 'answer', status: 403 },
  },
  {
    who: 'site main of source',
    toWhom: 'a phone with a public address, along its flow token',
    registry: '(not asked)',
    happens: 'to the flow',
    request: { method, ...routed('sip:1001@203.0.113.7:40812') },
    arrival: flow('valid'),
    expected: { kind: 'to_flow', relay: relayOf(method), requestUri: 'sip:1001@203.0.113.7:40812' },
  },
];

export const METHOD_MATRIX: CallFlowGroup = {
  title: 'SUBSCRIBE, NOTIFY, MESSAGE and PUBLISH in the same cases',
  rows: METHODS.flatMap(rowsOf),
};
