import { from, toAccount, type CallFlow, type CallFlowGroup } from './row';

const acmeCalls = { ...toAccount('sip:+442079460000@198.51.100.10'), from: '<sip:1101@example.com>;tag=a' };
const didOfAcme = toAccount('sip:+12025551100@198.51.100.10');
const to = (system: string): CallFlow['expected'] => ({
  kind: 'dispatch',
  system,
  relay: 'proxy',
  onPath: false,
});

/** Customer acme moves from source to target: 1101, 1102 and +12025551100 are his. */
export const MIGRATION: CallFlowGroup = {
  title: 'A customer in the middle of migration',
  rows: [
    {
      who: 'endpoint 1101 of acme',
      toWhom: 'a number, before the export',
      registry: '1101 of acme, not exported',
      happens: 'the source system places the call',
      request: acmeCalls,
      expected: to('source'),
    },
    {
      who: 'endpoint 1101 of acme',
      toWhom: 'a number, while acme is exported as it rings',
      registry: '1101 of acme, not exported, then exported',
      happens: 'the call is answered where it rings',
      request: acmeCalls,
      exportedMeanwhile: true,
      expected: to('source'),
    },
    {
      who: 'endpoint 1101 of acme',
      toWhom: 'a number, after the export',
      registry: '1101 of acme, exported',
      happens: 'the target system places the call',
      request: acmeCalls,
      exported: true,
      expected: to('target'),
    },
    {
      who: 'endpoint 1101 of acme',
      toWhom: 'a number, while acme is rolled back as it rings',
      registry: '1101 of acme, exported, then not',
      happens: 'the call is answered where it rings',
      request: acmeCalls,
      exported: true,
      exportedMeanwhile: false,
      expected: to('target'),
    },
    {
      who: 'vendor-a',
      toWhom: 'a DID of acme, before the export',
      registry: 'DID of acme, not exported, rings 1101',
      happens: 'to the source system',
      request: didOfAcme,
      arrival: from('vendorA'),
      expected: { ...to('source'), key: 'did +12025551100' },
    },
    {
      who: 'vendor-a',
      toWhom: 'a DID of acme, while acme is exported as it rings',
      registry: 'DID of acme, not exported, then exported',
      happens: 'the call is answered where it rings',
      request: didOfAcme,
      arrival: from('vendorA'),
      exportedMeanwhile: true,
      expected: to('source'),
    },
    {
      who: 'vendor-a',
      toWhom: 'a DID of acme, after the export',
      registry: 'DID of acme, exported, rings 1101',
      happens: 'to the target system',
      request: didOfAcme,
      arrival: from('vendorA'),
      exported: true,
      expected: { ...to('target'), key: 'did +12025551100' },
    },
    {
      who: 'site main of source',
      toWhom: 'account 1101 of acme, before the export',
      registry: '1101 of acme, not exported',
      happens: 'to another site of its own system: the one where 1101 is',
      request: toAccount('sip:1101@example.com'),
      arrival: from('sourceMain'),
      expected: to('source'),
    },
    {
      who: 'site main of source',
      toWhom: 'account 1101 of acme, after the export',
      registry: '1101 of acme, exported',
      happens: '302 to target',
      request: toAccount('sip:1101@example.com'),
      arrival: from('sourceMain'),
      exported: true,
      expected: { kind: 'answer', status: 302, system: 'target' },
    },
    {
      who: 'endpoint 1101 of acme',
      toWhom: 'MESSAGE to 1102 of acme, after the export',
      registry: '1101 of acme, exported',
      happens: 'to the target system',
      request: {
        method: 'MESSAGE',
        ...toAccount('sip:1102@example.com'),
        from: '<sip:1101@example.com>;tag=a',
      },
      exported: true,
      expected: { kind: 'dispatch', system: 'target', relay: 'forward' },
    },
  ],
};
