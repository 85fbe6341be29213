import { flow, routed, toAccount, type CallFlowGroup } from './row';

export const OTHER_METHODS: CallFlowGroup = {
  title: 'Other methods',
  rows: [
    {
      who: 'endpoint 1001',
      toWhom: 'a presence subscription',
      registry: '1001 in source',
      happens: 'the caller’s system; on path behind NAT (H19)',
      request: { method: 'SUBSCRIBE', ...toAccount('sip:1002@example.com') },
      arrival: { behindNat: true },
      expected: { kind: 'dispatch', system: 'source', relay: 'proxy', onPath: true },
      onDrachtio: { relay: 'b2bua' },
    },
    {
      who: 'endpoint 1001',
      toWhom: 'a MESSAGE to 1002',
      registry: '1001 in source',
      happens: 'forwarded to the caller’s system',
      request: { method: 'MESSAGE', ...toAccount('sip:1002@example.com') },
      expected: { kind: 'dispatch', system: 'source', relay: 'forward', requestUri: 'sip:1002@example.com' },
    },
    {
      who: 'endpoint 1001',
      toWhom: 'PUBLISH of its presence',
      registry: '1001 in source',
      happens: 'forwarded to its system',
      request: { method: 'PUBLISH', ...toAccount('sip:1001@example.com') },
      expected: { kind: 'dispatch', system: 'source', relay: 'forward' },
    },
    {
      who: 'site main of source',
      toWhom: 'a NOTIFY out of dialog (MWI), along a flow token',
      registry: '(not asked)',
      happens: 'forwarded to the flow',
      request: { method: 'NOTIFY', ...routed('sip:1001@192.0.2.33') },
      arrival: flow('valid'),
      expected: { kind: 'to_flow', relay: 'forward' },
    },
    {
      who: 'anyone',
      toWhom: 'OPTIONS to us',
      registry: '(not asked)',
      happens: '200',
      request: { method: 'OPTIONS', uri: 'sip:example.com', to: '<sip:example.com>' },
      expected: { kind: 'answer', status: 200, header: ['Allow', /INVITE/] },
    },
    {
      who: 'anyone',
      toWhom: 'OPTIONS to us with Max-Forwards 0',
      registry: '(not asked)',
      happens: '200: it is for us',
      request: {
        method: 'OPTIONS',
        uri: 'sip:198.51.100.10:5060',
        to: '<sip:198.51.100.10>',
        headers: ['Max-Forwards: 0'],
      },
      expected: { kind: 'answer', status: 200 },
    },
  ],
};
