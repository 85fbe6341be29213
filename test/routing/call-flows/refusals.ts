import { from, toAccount, type CallFlowGroup } from './row';

export const REFUSALS: CallFlowGroup = {
  title: 'Loops, limits and refusals',
  rows: [
    {
      who: 'endpoint',
      toWhom: 'anything with Max-Forwards 0',
      registry: '(not asked)',
      happens: '483',
      request: { ...toAccount('sip:1002@example.com'), headers: ['Max-Forwards: 0'] },
      expected: { kind: 'answer', status: 483 },
    },
    {
      who: 'endpoint',
      toWhom: 'anything with Max-Breadth 0',
      registry: '(not asked)',
      happens: '440 (RFC 5393)',
      request: { ...toAccount('sip:1002@example.com'), headers: ['Max-Breadth: 0'] },
      expected: { kind: 'answer', status: 440 },
    },
    {
      who: 'endpoint',
      toWhom: 'anything with Proxy-Require',
      registry: '(not asked)',
      happens: '420 with Unsupported',
      request: { ...toAccount('sip:1002@example.com'), headers: ['Proxy-Require: sec-agree, foo'] },
      expected: { kind: 'answer', status: 420, header: ['Unsupported', 'sec-agree, foo'] },
    },
    {
      who: 'endpoint',
      toWhom: 'anything that already has our Via',
      registry: '(not asked)',
      happens: '482',
      request: {
        ...toAccount('sip:1002@example.com'),
        headers: [
          'Via: SIP/2.0/UDP 192.0.2.33;branch=z9hG4bK-1, SIP/2.0/UDP 198.51.100.10:5060;branch=z9hG4bK-2',
        ],
      },
      expected: { kind: 'answer', status: 482 },
    },
    {
      who: 'site main of source, which proxies a call on',
      toWhom: 'a vendor, our Via once below its own',
      registry: 'nothing',
      happens: 'a spiral, not a loop: out',
      request: {
        ...toAccount('sip:+442079460000@sip.vendor.example'),
        headers: [
          'Via: SIP/2.0/UDP 198.51.100.21;branch=z9hG4bK-1',
          'Via: SIP/2.0/UDP 198.51.100.10;branch=z9hG4bK-2, SIP/2.0/UDP 198.51.100.10;branch=z9hG4bK-3, SIP/2.0/UDP 203.0.113.7;branch=z9hG4bK-4',
        ],
      },
      arrival: from('sourceMain'),
      expected: { kind: 'outbound' },
    },
    {
      who: 'endpoint',
      toWhom: 'a dialog nobody knows (H29)',
      registry: '(not asked)',
      happens: '481, never a second call',
      request: { uri: 'sip:1002@198.51.100.10', to: '<sip:1002@example.com>;tag=t-from-before' },
      expected: { kind: 'answer', status: 481 },
    },
    {
      who: 'endpoint',
      toWhom: 'an ACK that belongs to nothing (H23)',
      registry: '(not asked)',
      happens: 'silence',
      request: { method: 'ACK', to: '<sip:1002@example.com>;tag=x' },
      expected: { kind: 'drop' },
    },
    {
      who: 'endpoint 1009',
      toWhom: 'anybody',
      registry: '1009 is blocked',
      happens: '403',
      request: { ...toAccount('sip:1002@example.com'), from: '<sip:1009@example.com>;tag=a' },
      expected: { kind: 'answer', status: 403, key: 'account 1009' },
    },
    {
      who: 'endpoint 2001',
      toWhom: 'anybody',
      registry: '2001 in a system that is not configured',
      happens: '503 with Retry-After',
      request: { ...toAccount('sip:1002@example.com'), from: '<sip:2001@example.com>;tag=a' },
      expected: { kind: 'answer', status: 503, header: ['Retry-After', /\d+/] },
    },
  ],
};
