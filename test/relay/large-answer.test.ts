import { DsbcError } from '../../plugin/errors';
import {
  DRACHTIO_CAPABILITIES,
  type InboundRequest,
  type ResponseSpec,
  type SipLink,
} from '../../plugin/link/sip-link';
import { parseMessage } from '../../plugin/message/parse';
import type { SipMessage } from '../../plugin/message/sip-message';
import { forward } from '../../plugin/relay/forward';
import { silentLogger } from '../../plugin/telemetry/logger';
import { answerText, requestText } from '../fixtures/messages';

const read = (text: string): SipMessage => {
  const result = parseMessage(text);
  if (!result.ok) throw new Error(result.reason);
  return result.message;
};

describe('an answer that is larger than the server takes', () => {
  const relay = async (settled: boolean, takes: (spec: ResponseSpec) => boolean) => {
    const given: number[] = [];
    const link = {
      name: 'main',
      capabilities: DRACHTIO_CAPABILITIES,
      request: () =>
        Promise.resolve({
          kind: 'answer',
          status: 200,
          message: read(answerText(requestText(), 200, ['X-Large: ...'])),
          source: { transport: 'udp', address: '192.0.2.1', port: 5060 },
        }),
      respond: (_request: InboundRequest, spec: ResponseSpec) => {
        given.push(spec.status);
        return takes(spec)
          ? Promise.resolve()
          : Promise.reject(new DsbcError('DSBC_LINK_REFUSED', 'too large'));
      },
    } as unknown as SipLink;
    const request = {
      link,
      message: read(requestText()),
      settled,
      cancelled: false,
      onCancel: () => undefined,
    };
    const result = await forward(
      request as unknown as InboundRequest,
      {
        requestUri: 'sip:example.com',
        targets: [{ uri: 'sip:192.0.2.1' }],
        limits: { timeoutMs: 100, maxAttempts: 1, totalMs: 100, onSilence: true },
      },
      { log: silentLogger, now: () => 0 },
    );
    return { given, result };
  };
  const isSmall = ({ headers = [] }: ResponseSpec): boolean => headers.every(([name]) => name !== 'X-Large');

  it('is a 502 for the caller, not silence', async () => {
    const { given, result } = await relay(false, isSmall);
    expect(given).toEqual([200, 502]);
    expect(result).toMatchObject({ kind: 'answered', answer: { status: 502 } });
  });

  it.each([
    ['who has his answer', true, isSmall, [200]],
    ['who is gone', false, () => false, [200, 502]],
  ])('nothing more is said to a caller %s', async (_who, settled, takes, statuses) => {
    const { given, result } = await relay(settled, takes);
    expect(given).toEqual(statuses);
    expect(result).toMatchObject({ kind: 'lost', cause: 'caller_gone' });
  });
});
