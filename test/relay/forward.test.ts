import type { ClientRequest, InboundRequest, ResponseSpec, SipLink } from '../../plugin/link/sip-link';
import { DRACHTIO_CAPABILITIES } from '../../plugin/link/sip-link';
import { parseMessage } from '../../plugin/message/parse';
import { forward } from '../../plugin/relay/forward';
import { silentLogger } from '../../plugin/telemetry/logger';
import { answerText, requestText } from '../fixtures/messages';

/** Two targets that say these statuses; where the request went, and what the caller heard. */
async function forwarded(statuses: readonly [number, number], onSilence: boolean) {
  const [went, heard]: [string[], number[]] = [[], []];
  const text = requestText({ method: 'MESSAGE' });
  const link = {
    name: 'main',
    capabilities: DRACHTIO_CAPABILITIES,
    request: ({ nextHop = '' }: ClientRequest) => {
      const status = statuses[went.length] ?? 200;
      went.push(nextHop);
      const { message } = parseMessage(answerText(text, status));
      const source = { transport: 'udp', address: '192.0.2.1', port: 5060 };
      return Promise.resolve({ kind: 'answer', status, message, source });
    },
    respond: (_request: InboundRequest, { status }: ResponseSpec) => {
      heard.push(status);
      return Promise.resolve();
    },
  } as unknown as SipLink;
  const { message } = parseMessage(text);
  const request = { link, message, settled: false, cancelled: false, onCancel: () => undefined };
  await forward(
    request as unknown as InboundRequest,
    {
      requestUri: 'sip:1002@example.com',
      targets: [{ uri: 'sip:a' }, { uri: 'sip:b' }],
      limits: { timeoutMs: 100, maxAttempts: 2, totalMs: 100, onSilence },
    },
    { log: silentLogger, now: () => 0 },
  );
  return { went, heard };
}

it.each([
  // The first may have delivered it, and its 408 is for nobody (RFC 4320 §4.2).
  [[408, 200], false, ['sip:a'], [503]],
  [[408, 200], true, ['sip:a', 'sip:b'], [200]],
  [[503, 200], false, ['sip:a', 'sip:b'], [200]],
  [[486, 200], true, ['sip:a'], [486]],
] as const)('targets that say %j, silence moving on: %s', async (statuses, onSilence, went, heard) => {
  expect(await forwarded(statuses, onSilence)).toEqual({ went, heard });
});
