import { Bridge } from '../../plugin/relay/bridge';
import { Crossing } from '../../plugin/relay/crossing';
import { LegIds } from '../../plugin/relay/leg-ids';
import { Subscription } from '../../plugin/relay/subscription';
import { silentLogger } from '../../plugin/telemetry/logger';
import { FakeLeg } from '../fixtures/fake-leg';

const MINUTES = 60_000;

describe('two legs of which one is not believed', () => {
  const WHO = [
    ['P-Asserted-Identity', '<sip:boss@example.com>'],
    ['Remote-Party-ID', '<sip:boss@example.com>'],
  ] as const;
  const identity = (headers: readonly (readonly [string, string])[] = []): number =>
    headers.filter(([name]) => /^(p-asserted-identity|remote-party-id)$/i.test(name)).length;

  it.each([
    ['caller', 0, 2],
    ['callee', 2, 0],
    [undefined, 2, 2],
  ] as const)(
    '%s: what it says of who it is goes no further, in requests and answers',
    async (distrusted, fromA, fromB) => {
      const ids = new LegIds();
      const crossing = new Crossing(ids, silentLogger, { distrusted, callerCallId: 'a' });
      const [a, b] = [new FakeLeg('a'), new FakeLeg('b')];
      const bridge = new Bridge({ ids, crossing, log: silentLogger, ended: () => undefined, a, b });
      bridge.start();
      a.answerHeaders = b.answerHeaders = WHO;
      a.receive('UPDATE', WHO);
      b.receive('INFO', WHO);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect([identity(b.sent[0]?.headers), identity(a.sent[0]?.headers)]).toEqual([fromA, fromB]);
      // The answer to what A asked comes from B.
      expect([identity(b.given[0]?.headers), identity(a.given[0]?.headers)]).toEqual([fromA, fromB]);
      bridge.end('test is over');
    },
  );
});

describe('two legs and a side that is gone', () => {
  let a: FakeLeg;
  let b: FakeLeg;
  let ids: LegIds;
  let ended: number;
  beforeEach(() => {
    jest.useFakeTimers();
    a = new FakeLeg('a');
    b = new FakeLeg('b');
    ids = new LegIds();
    ended = 0;
  });
  afterEach(() => jest.useRealTimers());

  const shared = () => ({
    ids,
    crossing: new Crossing(ids, silentLogger),
    log: silentLogger,
    ended: (): void => {
      ended += 1;
    },
  });

  describe('of a call', () => {
    beforeEach(() => {
      new Bridge({ ...shared(), a, b }).start();
    });

    it('asks both sides every ten minutes and leaves a call that both know', async () => {
      await jest.advanceTimersByTimeAsync(31 * MINUTES);
      expect([a.methods, b.methods]).toEqual([
        ['OPTIONS', 'OPTIONS', 'OPTIONS'],
        ['OPTIONS', 'OPTIONS', 'OPTIONS'],
      ]);
      expect(ended).toBe(0);
    });

    it.each([
      ['is silent', undefined],
      ['says 481', 481],
    ])('hangs up the other side when one %s', async (_how, status) => {
      a.says = ({ method }) => (method === 'OPTIONS' ? status : 200);
      await jest.advanceTimersByTimeAsync(11 * MINUTES);
      expect(b.methods).toEqual(['OPTIONS', 'BYE']);
      expect(ended).toBe(1);
      expect(ids.size).toBe(0);
      expect(jest.getTimerCount()).toBe(0);
    });

    it('takes any other answer for life', async () => {
      a.says = () => 405;
      await jest.advanceTimersByTimeAsync(11 * MINUTES);
      expect(ended).toBe(0);
    });

    it('takes only the ACK of the INVITE for its answer', () => {
      const bridge = new Bridge({ ...shared(), a, b });
      bridge.acknowledgeBy(a, b, 2);
      bridge.start();
      a.receive('ACK');
      expect(b.acks).toEqual([]);
      a.receive('ACK', [], 2);
      expect(b.acks).toEqual([{ headers: [], body: '' }]);
    });

    it('asks nobody once the call is over', async () => {
      a.receive('BYE');
      await jest.advanceTimersByTimeAsync(30 * MINUTES);
      expect(b.methods).toEqual(['BYE']);
      expect(ended).toBe(1);
    });
  });

  describe('of a subscription', () => {
    const start = (): void => {
      new Subscription({ ...shared(), subscriber: a, notifier: b, event: 'presence', expiresS: 600 }).start();
    };
    const notify = (state: string) =>
      b.receive('NOTIFY', [
        ['Event', 'presence'],
        ['Subscription-State', state],
      ]);

    it('ends it half a minute after nobody refreshed it, and tells both', async () => {
      start();
      await jest.advanceTimersByTimeAsync(600_000 + 31_000);
      expect(ended).toBe(0);
      await jest.advanceTimersByTimeAsync(2000);
      expect(a.sent.map(({ method, headers }) => [method, headers])).toEqual([
        [
          'NOTIFY',
          [
            ['Event', 'presence'],
            ['Subscription-State', 'terminated;reason=timeout'],
          ],
        ],
      ]);
      expect(b.sent.map(({ method, headers }) => [method, headers])).toEqual([
        [
          'SUBSCRIBE',
          [
            ['Event', 'presence'],
            ['Expires', '0'],
          ],
        ],
      ]);
      expect([ended, a.ended, b.ended, ids.size, jest.getTimerCount()]).toEqual([1, true, true, 0, 0]);
    });

    it.each([
      ['a refresh', () => a.receive('SUBSCRIBE', [['Expires', '600']])],
      ['a NOTIFY that says so', () => notify('active;expires=600')],
    ])('lives on with %s', async (_what, refresh) => {
      start();
      await jest.advanceTimersByTimeAsync(500_000);
      refresh();
      await jest.advanceTimersByTimeAsync(600_000);
      expect(ended).toBe(0);
      await jest.advanceTimersByTimeAsync(60_000);
      expect(ended).toBe(1);
    });

    it('lives as long as the notifier grants, not as was asked', async () => {
      start();
      b.answerHeaders = [['Expires', '60']];
      a.receive('SUBSCRIBE', [['Expires', '600']]);
      await jest.advanceTimersByTimeAsync(95_000);
      expect(ended).toBe(1);
    });

    it('ends with the last NOTIFY, and nobody is told twice', async () => {
      start();
      notify('terminated;reason=noresource');
      await jest.advanceTimersByTimeAsync(0);
      expect(a.methods).toEqual(['NOTIFY']);
      expect(b.methods).toEqual([]);
      expect([ended, jest.getTimerCount()]).toEqual([1, 0]);
    });

    it('ends when the subscriber does not know it any more', async () => {
      start();
      a.says = () => 481;
      notify('active');
      await jest.advanceTimersByTimeAsync(0);
      expect(b.given).toMatchObject([{ status: 481 }]);
      expect(b.methods).toEqual(['SUBSCRIBE']);
      expect(ended).toBe(1);
    });

    it('ends with the link of one leg, and the other is told to come again', async () => {
      start();
      b.lose('the link to the SIP server was lost');
      await jest.advanceTimersByTimeAsync(0);
      expect(a.sent[0]?.headers).toContainEqual(['Subscription-State', 'terminated;reason=deactivated']);
      expect(ended).toBe(1);
    });
  });
});
