import { NodeCheck, type Presence } from '../../plugin/relay/node-check';

const TARGET = { uri: 'sip:a', system: 's', site: 'main', node: 'sip:a' };

describe('whether a node refuses', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function lab(answers: readonly (readonly [Presence | 'fails', afterMs: number])[]) {
    const asked: string[] = [];
    const check = new NodeCheck(
      async (server, uri) => {
        const [presence, afterMs] = answers[Math.min(asked.length, answers.length - 1)]!;
        asked.push(`${server} ${uri}`);
        await new Promise((resolve) => setTimeout(resolve, afterMs));
        if (presence === 'fails') throw new Error('no link');
        return presence;
      },
      () => Date.now(),
    );
    const ask = async (server = 'vip', target: { uri: string } = TARGET) => {
      const start = Date.now();
      const refuses = await check.refuses(server, target);
      return { refuses, after: Date.now() - start };
    };
    return { asked, ask, check };
  }
  /** What came out when so much time has passed. */
  async function after<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
    await jest.advanceTimersByTimeAsync(milliseconds);
    return promise;
  }

  it('a refusal and an answer are known when they come', async () => {
    const { ask, asked } = lab([
      ['refused', 5],
      ['there', 7],
    ]);
    expect(await after(ask(), 100)).toEqual({ refuses: true, after: 5 });
    expect(await after(ask(), 100)).toEqual({ refuses: false, after: 7 });
    expect(asked).toEqual(['vip sip:a', 'vip sip:a']);
  });

  it('one OPTIONS serves all that wait, and its answer those that come just after; each server asks by itself', async () => {
    const { ask, asked } = lab([['there', 20]]);
    const first = ask();
    await jest.advanceTimersByTimeAsync(15);
    const second = ask();
    const other = ask('alias');
    await jest.advanceTimersByTimeAsync(5);
    expect([await first, await second]).toEqual([
      { refuses: false, after: 20 },
      { refuses: false, after: 5 },
    ]);
    expect(await after(ask(), 0)).toEqual({ refuses: false, after: 0 });
    expect(await after(other, 20)).toEqual({ refuses: false, after: 20 });
    expect(asked).toEqual(['vip sip:a', 'alias sip:a']);
    await jest.advanceTimersByTimeAsync(50);
    await after(ask(), 20);
    expect(asked).toHaveLength(3);
  });

  it('a node that has just answered a request is not asked', async () => {
    const { ask, asked, check } = lab([['there', 5]]);
    await after(ask(), 5);
    for (let i = 0; i < 5; i++) {
      await jest.advanceTimersByTimeAsync(40);
      check.heard('vip', TARGET);
    }
    expect(await after(ask(), 0)).toEqual({ refuses: false, after: 0 });
    expect(asked).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(50);
    await after(ask(), 5);
    expect(asked).toHaveLength(2);
  });

  it('waits 70 ms for a node once, and 15 ms for a refusal until it has answered in time', async () => {
    const { ask, asked } = lab([
      ['silent', 2000],
      ['fails', 0],
      ['there', 1],
      ['refused', 1],
    ]);
    expect(await after(ask(), 200)).toEqual({ refuses: false, after: 70 });
    expect(await after(ask(), 0)).toEqual({ refuses: false, after: 0 });
    await jest.advanceTimersByTimeAsync(2000);
    expect(await after(ask(), 20)).toEqual({ refuses: false, after: 0 });
    expect(await after(ask(), 20)).toEqual({ refuses: false, after: 1 });
    expect(asked).toHaveLength(3);
    await jest.advanceTimersByTimeAsync(50);
    expect(await after(ask(), 20)).toEqual({ refuses: true, after: 1 });
    expect(jest.getTimerCount()).toBe(0);
  });

  it('a slow node whose port closes is found out within a round trip, and costs 15 ms while it answers', async () => {
    const { ask, asked } = lab([
      ['there', 80],
      ['there', 80],
      ['refused', 3],
      ['refused', 3],
    ]);
    expect(await after(ask(), 130)).toEqual({ refuses: false, after: 70 });
    const first = ask();
    await jest.advanceTimersByTimeAsync(10);
    const second = ask();
    await jest.advanceTimersByTimeAsync(10);
    expect([await first, await second]).toEqual([
      { refuses: false, after: 15 },
      { refuses: false, after: 5 },
    ]);
    expect(await after(ask(), 0)).toEqual({ refuses: false, after: 0 });
    await jest.advanceTimersByTimeAsync(110);
    expect(await after(ask(), 10)).toEqual({ refuses: true, after: 3 });
    expect(await after(ask(), 10)).toEqual({ refuses: true, after: 3 });
    expect(asked).toHaveLength(4);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('while suspended nothing is asked, and what waits goes at once', async () => {
    const { ask, asked, check } = lab([['refused', 60]]);
    const [first, second] = [ask(), ask('alias')];
    await jest.advanceTimersByTimeAsync(20);
    check.suspend(true);
    const gone = { refuses: false, after: 20 };
    expect(await after(Promise.all([first, second]), 0)).toEqual([gone, gone]);
    expect(await after(ask('third'), 0)).toEqual({ refuses: false, after: 0 });
    expect(asked).toEqual(['vip sip:a', 'alias sip:a']);
    await jest.advanceTimersByTimeAsync(100);
    check.suspend(false);
    expect(await after(ask(), 60)).toEqual({ refuses: true, after: 60 });
    expect(jest.getTimerCount()).toBe(0);
  });

  it('endpoints and peers are not asked', async () => {
    const { ask, asked } = lab([['refused', 0]]);
    expect(await ask('vip', { uri: 'sip:phone' })).toEqual({ refuses: false, after: 0 });
    expect(asked).toEqual([]);
  });
});
