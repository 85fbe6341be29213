import { flowFact } from '../../plugin/dispatch/flows';
import type { InboundRequest } from '../../plugin/link/sip-link';
import { FlowTokens } from '../../plugin/nat/flow-token';
import { parsed, requestText } from '../fixtures/routing';

const tokens = new FlowTokens([{ id: 1, secret: 'a secret' }]);
const token = tokens.issue({
  entry: { address: '198.51.100.10', port: 5060 },
  transport: 'udp',
  remote: { address: '203.0.113.7', port: 40812 },
});
const isOurs = (host: string): boolean => host === '198.51.100.10' || host === 'example.com';

const stateOf = (...routes: readonly string[]): string | undefined => {
  const message = parsed(requestText({ headers: routes.map((route) => `Route: ${route}`) }));
  return flowFact({ message } as InboundRequest, tokens, isOurs)?.state;
};

it.each([
  ['on top', [`<sip:${token}@198.51.100.10;lr>`], 'valid'],
  ['behind us as outbound proxy', ['<sip:198.51.100.10;lr>', `<sip:${token}@198.51.100.10;lr>`], 'valid'],
  [
    'behind two names of ours',
    ['<sip:example.com>, <sip:198.51.100.10>', `<sip:${token}@example.com>`],
    'valid',
  ],
  ['behind us, spoilt', ['<sip:198.51.100.10;lr>', `<sip:${token.slice(1)}@198.51.100.10;lr>`], 'forged'],
  ['behind somebody else', ['<sip:192.0.2.1;lr>', `<sip:${token}@198.51.100.10;lr>`], undefined],
  ['of somebody else', [`<sip:${token}@192.0.2.1;lr>`], undefined],
  ['behind what is malformed', ['<nonsense>', `<sip:${token}@198.51.100.10;lr>`], undefined],
  ['nowhere', ['<sip:198.51.100.10;lr>'], undefined],
])('the token of our Path, %s', (_where, routes, state) => {
  expect(stateOf(...routes)).toBe(state);
});
