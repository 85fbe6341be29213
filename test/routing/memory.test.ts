import { ChallengeMemory } from '../../plugin/routing/challenges';
import { readDigest } from '../../plugin/routing/digest';
import { RecentSites } from '../../plugin/routing/recent-sites';

const node = (name: string) => ({ system: 's', site: 'main', node: name });

describe('ChallengeMemory', () => {
  it('remembers who challenged, for a minute', () => {
    let now = 0;
    const memory = new ChallengeMemory(() => now);
    memory.remember('n1', node('a'));
    now = 59_999;
    expect(memory.challengerOf('n1')).toEqual(node('a'));
    now = 60_000;
    expect(memory.challengerOf('n1')).toBeUndefined();
    expect(memory.size).toBe(0);
  });

  it('stays bounded, the oldest going first', () => {
    const memory = new ChallengeMemory(() => 0, { max: 100 });
    for (let i = 0; i < 1000; i++) memory.remember(`n${i}`, node(`${i}`));
    expect(memory.size).toBe(100);
    expect(memory.challengerOf('n899')).toBeUndefined();
    expect(memory.challengerOf('n999')).toEqual(node('999'));
  });

  it('clears what is due as new ones come', () => {
    let now = 0;
    const memory = new ChallengeMemory(() => now);
    for (let i = 0; i < 50; i++) memory.remember(`n${i}`, node('a'));
    now = 61_000;
    memory.remember('later', node('b'));
    expect(memory.size).toBe(1);
  });

  it('takes the last to use a nonce, and refuses one of absurd length', () => {
    const memory = new ChallengeMemory(() => 0);
    memory.remember('n', node('a'));
    memory.remember('n', node('b'));
    memory.remember('x'.repeat(5000), node('a'));
    expect(memory.challengerOf('n')).toEqual(node('b'));
    expect(memory.size).toBe(1);
  });
});

describe('readDigest', () => {
  it.each([
    ['Digest realm="a", nonce="n1"', { nonce: 'n1' }],
    [
      'Digest username="1001", realm="a,b", nonce="n=1,2", uri="sip:x", response="0"',
      { username: '1001', nonce: 'n=1,2' },
    ],
    ['digest nonce=bare, username="a\\"b"', { nonce: 'bare', username: 'a"b' }],
    ['Digest username="x, nonce=\\"evil\\"", nonce="good"', { username: 'x, nonce="evil"', nonce: 'good' }],
    ['Basic Zm9v', {}],
    ['Digest', {}],
    ['', {}],
    ['Digest nonce=""', {}],
  ])('%s', (value, fact) => {
    expect(readDigest(value)).toEqual(fact);
  });
});

describe('RecentSites', () => {
  it('knows the last site of an account for an hour, within bounds', () => {
    let now = 0;
    const sites = new RecentSites(() => now, { max: 2 });
    sites.saw('s', '1', 'main');
    sites.saw('s', '2', 'main');
    sites.saw('s', '1', 'a');
    sites.saw('s', '3', 'b');
    expect([sites.siteOf('s', '1'), sites.siteOf('s', '2'), sites.siteOf('s', '3')]).toEqual([
      'a',
      undefined,
      'b',
    ]);
    expect(sites.size).toBe(2);
    now = 3_600_001;
    expect(sites.siteOf('s', '1')).toBeUndefined();
  });
});
