import { silentLogger } from '../../plugin/telemetry/logger';
import { TalliedLines } from '../../plugin/telemetry/tallied-lines';

describe('lines that are counted', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  function tallies(maxKeys = 100) {
    const lines: [string, object, string | undefined][] = [];
    const log = {
      ...silentLogger,
      info: (fields: object, message?: string) => lines.push(['info', fields, message]),
      warn: (fields: object, message?: string) => lines.push(['warn', fields, message]),
    };
    const tallied = new TalliedLines({ log, now: () => Date.now(), intervalMs: 30_000, maxKeys });
    return { tallied, lines };
  }

  it('tell the first at once, and how many came after it each interval, also when it is over', () => {
    const { tallied, lines } = tallies();
    for (let i = 0; i < 1000; i++) tallied.note('a', { source: 'a', i }, 'refused');
    tallied.note('b', { source: 'b' }, 'refused', 'info');
    expect(lines).toEqual([
      ['warn', { source: 'a', i: 0, count: 1 }, 'refused'],
      ['info', { source: 'b', count: 1 }, 'refused'],
    ]);
    lines.length = 0;
    jest.advanceTimersByTime(29_000);
    expect(lines).toEqual([]);
    jest.advanceTimersByTime(1000);
    expect(lines).toEqual([['warn', { source: 'a', i: 999, count: 999 }, 'refused']]);
    jest.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
    tallied.note('a', { source: 'a' }, 'refused');
    expect(lines.at(-1)).toEqual(['warn', { source: 'a', count: 1 }, 'refused']);
  });

  it('are no more than there are keys, and one for all others', () => {
    const { tallied, lines } = tallies(10);
    for (let i = 0; i < 5000; i++) tallied.note(`k${i}`, { source: `k${i}` }, 'refused');
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)).toEqual(['warn', { count: 1 }, 'the same and the like, of more sources']);
    jest.advanceTimersByTime(30_000);
    expect(lines).toHaveLength(12);
    expect(lines.at(-1)).toEqual(['warn', { count: 4989 }, 'the same and the like, of more sources']);
  });

  it('tell what is left when they end, and leave no timer', () => {
    const { tallied, lines } = tallies();
    for (let i = 0; i < 3; i++) tallied.note('a', {}, 'refused');
    tallied.close();
    expect(lines.map(([, fields]) => fields)).toEqual([{ count: 1 }, { count: 2 }]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
