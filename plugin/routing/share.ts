import { hashText, unitOf } from './hash';
import type { LoadDistribution } from './settings';

/** A site with its configured share, as the choice sees it. */
export interface ShareSite {
  readonly name: string;
  /** 0 to 1; the shares of a system add up to 1. A site at 0 is a backup. */
  readonly share: number;
  readonly seed: number;
  /** For the second choice, so that it is independent of the first. */
  readonly backupSeed: number;
}

export function shareSite(system: string, name: string, share: number): ShareSite {
  return {
    name,
    share,
    seed: hashText(`share ${system}/${name}`),
    backupSeed: hashText(`backup ${system}/${name}`),
  };
}

/** The configured shares of a system, each 0 to 1: equal under `auto`, else the percentages. */
export function configuredShares(
  sites: readonly string[],
  distribution: LoadDistribution,
): readonly number[] {
  if (distribution === 'auto') return sites.map(() => 1 / sites.length);
  return sites.map((name) => (distribution[name] ?? 0) / 100);
}

/**
 * The shares that result when some sites are out: the lost share is split equally over the sites that remain
 * (50/30/20 without the first is 55/45). A site at 0 takes part only when no other remains.
 * @param shares as configured, adding up to 1
 * @param isIn which sites can be used
 * @returns shares that add up to 1, or all 0 if no site is in
 */
export function effectiveShares(shares: readonly number[], isIn: readonly boolean[]): readonly number[] {
  const heirs = heirsOf(shares, isIn);
  const count = heirs.filter(Boolean).length;
  if (count === 0) return shares.map(() => 0);
  const lost = shares.reduce((sum, share, i) => (heirs[i] === true ? sum : sum + share), 0);
  return shares.map((share, i) => (heirs[i] === true ? share + lost / count : 0));
}

function heirsOf(shares: readonly number[], isIn: readonly boolean[]): readonly boolean[] {
  const withShare = shares.map((share, i) => isIn[i] === true && share > 0);
  return withShare.some(Boolean) ? withShare : shares.map((_, i) => isIn[i] === true);
}

/**
 * Weighted rendezvous: of all configured sites, the one this key belongs to. With u uniform in (0, 1), the least
 * -ln(u)/share falls on each site with exactly its share as probability.
 * @returns an index into `sites`; -1 if all shares are 0
 */
export function weightedWinner(sites: readonly ShareSite[], keyHash: number): number {
  let winner = -1;
  let best = Infinity;
  for (let i = 0; i < sites.length; i++) {
    const site = sites[i];
    if (site === undefined || site.share <= 0) continue;
    const score = -Math.log(unitOf(keyHash, site.seed)) / site.share;
    if (score < best) {
      best = score;
      winner = i;
    }
  }
  return winner;
}

/**
 * The order in which the sites inherit a key whose own site is out: unweighted rendezvous, so each is first for an
 * equal part of the keys. Sites at 0 come last.
 */
export function backupOrder(sites: readonly ShareSite[], keyHash: number): readonly number[] {
  const order: number[] = [];
  const scores: number[] = [];
  for (let i = 0; i < sites.length; i++) {
    const site = sites[i];
    if (site === undefined) continue;
    // Backups rank behind every score of a site with a share, since those are below 1.
    const score = unitOf(keyHash, site.backupSeed) + (site.share > 0 ? 0 : 1);
    let at = order.length;
    while (at > 0 && (scores[at - 1] ?? 0) > score) {
      order[at] = order[at - 1] ?? 0;
      scores[at] = scores[at - 1] ?? 0;
      at--;
    }
    order[at] = i;
    scores[at] = score;
  }
  return order;
}
