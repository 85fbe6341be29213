import { from, toAccount, type CallFlow, type CallFlowGroup } from './row';

const NUMBER = '+12025550123';
const PORTED = '+12025550123;npdi;rn=+12025550199';

/** A form of the Request-URI, and what a system without a domain of its own gets for it. */
interface Form {
  readonly words: string;
  readonly uri: string;
  readonly sent: string;
  /** Sent by drachtio-server as a client, which refuses a user with a semicolon. */
  readonly escaped?: string;
  /** User and parameters of the Contact in a redirection. */
  readonly contact: RegExp;
}

const FORMS: readonly Form[] = [
  {
    words: 'the VIP as its host',
    uri: `sip:${NUMBER}@198.51.100.10`,
    sent: `sip:${NUMBER}@example.com`,
    contact: /^<sip:\+12025550123@[\d.]+:5060>;q=1\.0$/,
  },
  {
    words: 'an alias as its host',
    uri: `sip:${NUMBER}@198.51.100.11`,
    sent: `sip:${NUMBER}@example.com`,
    contact: /^<sip:\+12025550123@[\d.]+:5060>;q=1\.0$/,
  },
  {
    words: 'a domain as its host',
    uri: `sip:${NUMBER}@example.com`,
    sent: `sip:${NUMBER}@example.com`,
    contact: /^<sip:\+12025550123@[\d.]+:5060>;q=1\.0$/,
  },
  {
    words: 'the scheme tel',
    uri: 'tel:+1-202-555-0123',
    sent: `sip:${NUMBER}@example.com;user=phone`,
    contact: /^<sip:\+12025550123@[\d.]+:5060;user=phone>;q=1\.0$/,
  },
  {
    words: 'npdi and rn in its user part',
    uri: `sip:${PORTED}@example.com;user=phone`,
    sent: `sip:${PORTED}@example.com;user=phone`,
    escaped: `sip:+12025550123%3Bnpdi%3Brn=+12025550199@example.com;user=phone`,
    contact: /^<sip:\+12025550123;npdi;rn=\+12025550199@[\d.]+:5060;user=phone>;q=1\.0$/,
  },
  {
    words: 'npdi and rn in a tel URI',
    uri: `tel:${PORTED}`,
    sent: `sip:${PORTED}@example.com;user=phone`,
    escaped: `sip:+12025550123%3Bnpdi%3Brn=+12025550199@example.com;user=phone`,
    contact: /^<sip:\+12025550123;npdi;rn=\+12025550199@[\d.]+:5060;user=phone>;q=1\.0$/,
  },
];

const URN = 'urn:service:sos';

const asked = (uri: string): CallFlow['request'] => (uri.startsWith('sip:') ? toAccount(uri) : { uri });

const rowsOf = ({ words, uri, sent, escaped, contact }: Form): CallFlow[] => [
  {
    who: 'endpoint 1001, by forward',
    toWhom: `a Request-URI with ${words}`,
    registry: '1001 in source',
    happens: `the site gets ${sent}`,
    request: { method: 'MESSAGE', ...asked(uri) },
    expected: { kind: 'dispatch', system: 'source', relay: 'forward', requestUri: sent },
    ...(escaped === undefined ? {} : { onDrachtio: { requestUri: escaped } }),
  },
  {
    who: 'endpoint 1001, by proxy',
    toWhom: `a Request-URI with ${words}`,
    registry: '1001 in source',
    happens: `the site gets ${sent}`,
    request: asked(uri),
    expected: { kind: 'dispatch', system: 'source', relay: 'proxy', onPath: false, requestUri: sent },
    // The alias is not the server's own address, so that its proxy would leave it.
    ...(uri.includes('100.11') ? { onDrachtio: { relay: 'b2bua', onPath: true } } : {}),
  },
  {
    who: 'endpoint 1001 behind NAT, by proxy on path or b2bua',
    toWhom: `a Request-URI with ${words}`,
    registry: '1001 in source',
    happens: `the site gets ${sent}`,
    request: asked(uri),
    arrival: { behindNat: true },
    expected: { kind: 'dispatch', system: 'source', relay: 'proxy', onPath: true, requestUri: sent },
    onDrachtio: { relay: 'b2bua', ...(escaped === undefined ? {} : { requestUri: escaped }) },
  },
  {
    who: 'site main of source, redirected',
    toWhom: `a Request-URI with ${words}`,
    registry: 'DID in target',
    happens: '302 to target, the same user in the Contact',
    request: asked(uri),
    arrival: from('sourceMain'),
    expected: { kind: 'answer', status: 302, system: 'target', header: ['Contact', contact] },
  },
];

export const URI_MATRIX: CallFlowGroup = {
  title: 'Each form of the Request-URI through each relay',
  rows: [
    ...FORMS.flatMap(rowsOf),
    {
      who: 'endpoint 1001, MESSAGE',
      toWhom: URN,
      registry: '1001 in source',
      happens: 'a urn goes by proxy whatever the method, unchanged',
      request: { method: 'MESSAGE', uri: URN },
      expected: { kind: 'dispatch', system: 'source', relay: 'proxy', requestUri: URN },
    },
    {
      who: 'endpoint 1001, INVITE',
      toWhom: URN,
      registry: '1001 in source',
      happens: 'by proxy, unchanged',
      request: { uri: URN },
      expected: { kind: 'dispatch', system: 'source', relay: 'proxy', onPath: false, requestUri: URN },
    },
    {
      who: 'site main of source',
      toWhom: URN,
      registry: '1001 in source',
      happens: 'to another site of the caller’s system, unchanged',
      request: { uri: URN },
      arrival: from('sourceMain'),
      expected: { kind: 'dispatch', system: 'source', relay: 'proxy', requestUri: URN },
    },
  ],
};
