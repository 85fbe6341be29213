import {
  DRACHTIO_CAPABILITIES,
  type ClientRequest,
  type InboundRequest,
  type LinkCapabilities,
  type ProxyOptions,
  type SipLink,
} from '../../plugin/link/sip-link';
import { parseMessage } from '../../plugin/message/parse';
import { CancelInjector } from '../../plugin/relay/cancel-injector';
import { forward } from '../../plugin/relay/forward';
import { callKey, GuardedCall, GuardedCalls } from '../../plugin/relay/guarded-call';
import { ProxyRelay } from '../../plugin/relay/proxy';
import type { RelayTarget } from '../../plugin/relay/relay';
import { silentLogger } from '../../plugin/telemetry/logger';
import { requestText } from '../fixtures/messages';

const LIMITS = { timeoutMs: 2000, maxAttempts: 3, totalMs: 8000, onSilence: true };
const A: RelayTarget = { uri: 'sip:192.0.2.1', site: 'a' };
const B: RelayTarget = { uri: 'sip:192.0.2.2', site: 'b' };
const PHONE: RelayTarget = { uri: 'sip:203.0.113.7:40812;transport=udp' };

/** What the server is asked for a request to these targets. */
async function asked(method: string, targets: readonly RelayTarget[], more: Partial<LinkCapabilities> = {}) {
  const proxied: ProxyOptions[] = [];
  const sent: ClientRequest[] = [];
  const link = {
    name: 'main',
    addresses: [{ transport: 'udp', address: '198.51.100.10', port: 5060 }],
    capabilities: { ...DRACHTIO_CAPABILITIES, ...more },
    proxy: (_request: InboundRequest, options: ProxyOptions) => {
      proxied.push(options);
      return Promise.resolve({ kind: 'done', answers: [] });
    },
    request: (request: ClientRequest) => {
      sent.push(request);
      return Promise.resolve({ kind: 'timeout' });
    },
    respond: () => Promise.resolve(),
  } as unknown as SipLink;
  const { message } = parseMessage(requestText({ method }));
  const receivedOn = { address: '198.51.100.10', port: 5060 };
  const given = { link, message, receivedOn, settled: false, cancelled: false, onCancel: () => undefined };
  const request = given as unknown as InboundRequest;
  const options = { requestUri: 'sip:1002@example.com', targets, limits: LIMITS };
  const dependencies = { log: silentLogger, now: () => 0 };
  if (method !== 'INVITE') await forward(request, options, dependencies);
  else {
    const cancels = new CancelInjector(silentLogger);
    await new ProxyRelay({ ...dependencies, cancels }).relay(request, {
      ...options,
      failover: true,
      onPath: false,
    });
    cancels.close();
  }
  return { proxied, sent };
}

describe('where there is no other target', () => {
  it('a request waits for it as long as there is time', async () => {
    expect((await asked('REGISTER', [A])).sent).toMatchObject([{ timeoutMs: 8000 }]);
    expect((await asked('REGISTER', [A, B])).sent).toMatchObject([{ timeoutMs: 2000 }, { timeoutMs: 2000 }]);
  });

  it('so does an INVITE, on both servers', async () => {
    for (const failoverByStatus of [true, false]) {
      expect((await asked('INVITE', [A], { failoverByStatus })).proxied).toMatchObject([
        { provisionalTimeoutMs: 8000 },
      ]);
      expect((await asked('INVITE', [A, B], { failoverByStatus })).proxied).toMatchObject([
        { provisionalTimeoutMs: 2000 },
      ]);
    }
  });

  it('an INVITE to a phone has no guard behind it, one to a site has', async () => {
    const [toPhone] = (await asked('INVITE', [PHONE])).proxied;
    expect(toPhone?.targets).toHaveLength(1);
    const [toSite] = (await asked('INVITE', [A])).proxied;
    expect(toSite?.targets).toHaveLength(2);
  });

  it('an INVITE along a stream is given up soon all the same, and guarded: the connection may be gone', async () => {
    const gone: RelayTarget = { uri: 'sip:203.0.113.7:40812;transport=tcp' };
    const [alone] = (await asked('INVITE', [gone], { failoverByStatus: true })).proxied;
    expect(alone).toMatchObject({ provisionalTimeoutMs: 2000 });
    const [guarded] = (await asked('INVITE', [gone])).proxied;
    expect([guarded?.targets.length, guarded?.provisionalTimeoutMs]).toEqual([2, 2000]);
  });
});

it('each branch of a call that was forked has its own loop', () => {
  const calls = new GuardedCalls();
  const source = { transport: 'udp', address: '198.51.100.10', port: 5060 };
  const loop = (branch: string): InboundRequest => {
    const text = requestText({ method: 'INVITE', branch }).replace(
      'Via:',
      'Via: SIP/2.0/UDP 198.51.100.10;branch=z9hG4bKserver\r\nVia:',
    );
    const { message } = parseMessage(text);
    return { link: { name: 'main' }, message, source, receivedOn: source } as unknown as InboundRequest;
  };
  const forks = ['z9hG4bK-1', 'z9hG4bK-2'].map((branch) => {
    const { message } = loop(branch);
    const call = new GuardedCall(callKey('main', message), [A], 1, 8000);
    call.current = { target: A, startedAt: 0, branch };
    calls.add(call);
    return call;
  });
  expect(calls.size).toBe(2);
  expect([calls.loopOf(loop('z9hG4bK-1')), calls.loopOf(loop('z9hG4bK-2'))]).toEqual(forks);
  expect(calls.loopOf(loop('z9hG4bK-3'))).toBeUndefined();
  for (const call of [...forks, ...forks]) calls.remove(call);
  expect(calls.size).toBe(0);
  expect(calls.loopOf(loop('z9hG4bK-1'))).toBeUndefined();
});
