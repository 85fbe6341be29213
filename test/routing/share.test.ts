import { hashText, unitOf } from '../../plugin/routing/hash';
import {
  backupOrder,
  configuredShares,
  effectiveShares,
  shareSite,
  weightedWinner,
} from '../../plugin/routing/share';

const THREE = [shareSite('s', 'main', 0.5), shareSite('s', 'a', 0.3), shareSite('s', 'b', 0.2)];

describe('shares', () => {
  it('are equal under auto', () => {
    expect(configuredShares(['m', 'a', 'b', 'c'], 'auto')).toEqual([0.25, 0.25, 0.25, 0.25]);
  });

  it('are the percentages given, 0 for a backup', () => {
    expect(configuredShares(['m', 'a'], { m: 100, a: 0 })).toEqual([1, 0]);
  });

  it.each([
    { out: 'main', isIn: [false, true, true], shares: [0, 0.55, 0.45] },
    { out: 'a', isIn: [true, false, true], shares: [0.65, 0, 0.35] },
    { out: 'b', isIn: [true, true, false], shares: [0.6, 0.4, 0] },
    { out: 'main and a', isIn: [false, false, true], shares: [0, 0, 1] },
    { out: 'all', isIn: [false, false, false], shares: [0, 0, 0] },
  ])('H16: 50/30/20 without $out is split equally', ({ isIn, shares }) => {
    effectiveShares([0.5, 0.3, 0.2], isIn).forEach((share, i) => expect(share).toBeCloseTo(shares[i]!, 12));
  });

  it('H16: a site at 0 gets nothing while another is left, and all when it is the only one', () => {
    expect(effectiveShares([0.7, 0.3, 0], [false, true, true])).toEqual([0, 1, 0]);
    expect(effectiveShares([1, 0], [false, true])).toEqual([0, 1]);
  });
});

describe('rendezvous', () => {
  it('gives each site its share of the keys', () => {
    const counts = [0, 0, 0];
    for (let i = 0; i < 20_000; i++) counts[weightedWinner(THREE, hashText(`1${i}`))]!++;
    expect(Math.abs(counts[0]! / 200 - 50)).toBeLessThan(1);
    expect(Math.abs(counts[1]! / 200 - 30)).toBeLessThan(1);
    expect(Math.abs(counts[2]! / 200 - 20)).toBeLessThan(1);
  });

  it('chooses the heir independently of the first choice', () => {
    const heirs = new Map<string, number>();
    for (let i = 0; i < 30_000; i++) {
      const hash = hashText(`acc-${i}`);
      const winner = weightedWinner(THREE, hash);
      const heir = backupOrder(THREE, hash).find((site) => site !== winner)!;
      heirs.set(`${winner}>${heir}`, (heirs.get(`${winner}>${heir}`) ?? 0) + 1);
    }
    for (const [winner, a, b] of [
      [0, 1, 2],
      [1, 0, 2],
      [2, 0, 1],
    ] as const) {
      const first = heirs.get(`${winner}>${a}`)!;
      const second = heirs.get(`${winner}>${b}`)!;
      expect(Math.abs(first / (first + second) - 0.5)).toBeLessThan(0.02);
    }
  });

  it('puts backups behind every site with a share', () => {
    const sites = [shareSite('s', 'z', 0), shareSite('s', 'm', 0.5), shareSite('s', 'n', 0.5)];
    for (let i = 0; i < 100; i++) expect(backupOrder(sites, hashText(`k${i}`))[2]).toBe(0);
  });

  it('has no winner where no site has a share', () => {
    expect(weightedWinner([shareSite('s', 'm', 0)], 1)).toBe(-1);
  });

  it('never changes its numbers: instances of two versions must agree', () => {
    expect([hashText('1001'), hashText('+12025550123'), hashText('')].map((h) => h >>> 0))
      .toMatchInlineSnapshot(`
     [
       2500018170,
       2150805743,
       2872998923,
     ]
    `);
    expect(unitOf(hashText('1001'), hashText('share source/main'))).toMatchInlineSnapshot(
      `0.929283523815684`,
    );
  });

  it('stays inside (0, 1)', () => {
    for (let i = 0; i < 10_000; i++) {
      const u = unitOf(Math.imul(i, 2654435761), i);
      expect(u > 0 && u < 1).toBe(true);
    }
  });
});
