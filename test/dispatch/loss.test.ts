import { lossOf } from '../../plugin/dispatch/loss';
import type { RequestRecord } from '../../plugin/dispatch/request-record';
import type { AttemptRecord } from '../../plugin/relay/relay';

const attempt = (outcome: AttemptRecord['outcome'], status?: number): AttemptRecord => ({
  target: { uri: 'sip:192.0.2.1' },
  server: 'vip',
  outcome,
  milliseconds: 1,
  ...(status === undefined ? {} : { status }),
});
const record = (change: Partial<RequestRecord>): RequestRecord => ({
  id: '1',
  method: 'INVITE',
  callId: 'c',
  server: 'vip',
  source: '192.0.2.9',
  transport: 'udp',
  role: 'endpoint',
  attempts: [],
  ending: 'answered',
  milliseconds: 1,
  decision: 'dispatch',
  ...change,
});

describe('what a failing site did to a request', () => {
  it.each([
    ['nothing: answered at once', [attempt('answer', 200)], 200, undefined],
    ['nothing: busy is an answer', [attempt('answer', 486)], 486, undefined],
    [
      'delayed by silence',
      [attempt('silence'), attempt('answer', 200)],
      200,
      { effect: 'delayed', reason: 'timeout' },
    ],
    [
      'delayed by a 503, then by silence',
      [attempt('answer', 503), attempt('silence'), attempt('answer', 404)],
      404,
      { effect: 'delayed', reason: 'unavailable' },
    ],
    [
      'lost when the last one could not be reached either',
      [attempt('silence'), attempt('transport_error')],
      503,
      { effect: 'lost', reason: 'transport_error' },
    ],
    ['lost to a 408', [attempt('answer', 408)], 408, { effect: 'lost', reason: 'timeout' }],
    ['lost to a 503', [attempt('answer', 503)], 503, { effect: 'lost', reason: 'unavailable' }],
  ])('%s', (_name, attempts, status, loss) => {
    expect(lossOf(record({ attempts, status }))).toEqual(loss);
  });

  it('lost when no node could be tried', () => {
    expect(lossOf(record({ decision: 'answer', status: 503 }))).toEqual({
      effect: 'lost',
      reason: 'no_node',
    });
    expect(lossOf(record({ decision: 'answer', status: 404 }))).toBeUndefined();
  });

  it('lost with its cause when the caller got nothing from us', () => {
    expect(lossOf(record({ ending: 'lost', cause: 'link_lost' }))).toEqual({
      effect: 'lost',
      reason: 'link_lost',
    });
  });

  it('neither when the caller hung up, or nothing was to be carried', () => {
    expect(lossOf(record({ ending: 'cancelled', attempts: [attempt('silence')] }))).toBeUndefined();
    expect(lossOf(record({ ending: 'dropped' }))).toBeUndefined();
  });
});
