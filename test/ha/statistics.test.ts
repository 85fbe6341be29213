import type { GroupMessage } from '../../plugin/ha/group/message';
import { HeartbeatStatistics } from '../../plugin/ha/heartbeat/statistics';

const message = (seq: number, incarnation = 1): GroupMessage => ({
  kind: 'BEAT',
  from: 'b',
  to: '',
  state: 'STANDBY',
  incarnation,
  seq,
  term: 0,
  highestTerm: 0,
  tenure: 0,
  links: 1,
  priority: 100,
  grant: 0,
  heard: {},
});

describe('heartbeat statistics', () => {
  it('counts loss and order per peer and link', () => {
    const statistics = new HeartbeatStatistics(['b'], ['m1', 'm2']);
    for (const seq of [1, 2, 5, 4, 6]) statistics.count('m1', message(seq), seq);
    expect(statistics.of('b').m1).toEqual({ received: 5, lost: 1, reordered: 1, lastAt: 6 });
    expect(statistics.of('b').m2).toEqual({ received: 0, lost: 0, reordered: 0, lastAt: -Infinity });
  });

  it('does not take a new life, or a long absence, for loss', () => {
    const statistics = new HeartbeatStatistics(['b'], ['m1']);
    for (const [seq, life] of [
      [1, 1],
      [900, 1],
      [3, 2],
      [4, 2],
    ] as const)
      statistics.count('m1', message(seq, life), 1);
    expect(statistics.of('b').m1?.lost).toBe(0);
  });

  it('names a silent link only while the peer is heard over another', () => {
    const statistics = new HeartbeatStatistics(['b'], ['m1', 'm2', 'service']);
    statistics.count('m1', message(1), 0);
    statistics.count('m2', message(1), 0);
    statistics.count('m2', message(2), 1000);
    expect(statistics.silentPaths(1200, 1100)).toEqual(['m1 b', 'service b']);
    expect(statistics.silentPaths(9000, 1100)).toEqual([]);
  });

  it('counts what is refused, by reason', () => {
    const statistics = new HeartbeatStatistics([], ['m1']);
    statistics.reject('forged');
    statistics.reject('forged');
    expect(statistics.rejected()).toEqual({ forged: 2, foreign: 0, malformed: 0, version: 0 });
  });
});
