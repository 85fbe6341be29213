import type { GroupMessage } from '../group/message';
import type { Rejection } from './wire';
import { REJECTIONS } from './wire';

/** The networks heartbeats take: two links of their own and, as a fallback, the service network. */
export const HEARTBEAT_LINKS = ['m1', 'm2', 'service'] as const;
export type HeartbeatLink = (typeof HEARTBEAT_LINKS)[number];

/** How the messages of one peer come in over one link. */
export interface PathStatistics {
  readonly received: number;
  /** Missing in the order of what came, over this link only. */
  readonly lost: number;
  /** Came after a later one. */
  readonly reordered: number;
  /** Boot-clock milliseconds of the last; -Infinity: none. */
  readonly lastAt: number;
}

interface Path {
  received: number;
  lost: number;
  reordered: number;
  lastAt: number;
  incarnation: number;
  seq: number;
}

/** A gap this long is an absence, not loss. */
const LONGEST_GAP = 64;

/** Counts what comes in, per peer and link, and what was refused. */
export class HeartbeatStatistics {
  private readonly paths = new Map<string, Path>();
  private readonly forgedAt = new Map<string, number>();
  private readonly rejections = new Map<Rejection, number>(REJECTIONS.map((why) => [why, 0]));

  constructor(
    private readonly peers: readonly string[],
    private readonly links: readonly HeartbeatLink[],
  ) {}

  count(link: HeartbeatLink, message: GroupMessage, now: number): void {
    const path = this.path(message.from, link);
    path.received += 1;
    path.lastAt = now;
    if (message.incarnation !== path.incarnation) {
      path.incarnation = message.incarnation;
      path.seq = message.seq;
      return;
    }
    const gap = message.seq - path.seq - 1;
    if (gap < 0) {
      path.reordered += 1;
      // It was counted as lost when the later one came.
      path.lost = Math.max(0, path.lost - 1);
      return;
    }
    if (gap <= LONGEST_GAP) path.lost += gap;
    path.seq = message.seq;
  }

  reject(why: Rejection): void {
    this.rejections.set(why, (this.rejections.get(why) ?? 0) + 1);
  }

  /** From an address of this peer came what our key did not make. */
  countForged(peer: string, now: number): void {
    this.forgedAt.set(peer, now);
  }

  /** Peers not heard for `heardMs`, from whose addresses came, within `forgedMs`, what our key did not make. */
  wrongKeys(now: number, heardMs: number, forgedMs: number): readonly string[] {
    return this.peers.filter((peer) => {
      const heardAt = Math.max(...this.links.map((link) => this.path(peer, link).lastAt));
      return now - (this.forgedAt.get(peer) ?? -Infinity) < forgedMs && now - heardAt > heardMs;
    });
  }

  /** Paths that are silent although the peer is heard over another: `link peer`. */
  silentPaths(now: number, limitMs: number): readonly string[] {
    const silent: string[] = [];
    for (const peer of this.peers) {
      const ages = this.links.map((link) => ({ link, age: now - this.path(peer, link).lastAt }));
      if (!ages.some(({ age }) => age < limitMs)) continue;
      for (const { link, age } of ages) if (age >= limitMs) silent.push(`${link} ${peer}`);
    }
    return silent;
  }

  rejected(): Readonly<Record<Rejection, number>> {
    return Object.fromEntries(this.rejections) as Record<Rejection, number>;
  }

  of(peer: string): Readonly<Partial<Record<HeartbeatLink, PathStatistics>>> {
    return Object.fromEntries(
      this.links.map((link) => {
        const { received, lost, reordered, lastAt } = this.path(peer, link);
        return [link, { received, lost, reordered, lastAt }];
      }),
    );
  }

  private path(peer: string, link: HeartbeatLink): Path {
    const key = `${link} ${peer}`;
    let path = this.paths.get(key);
    if (path === undefined) {
      path = { received: 0, lost: 0, reordered: 0, lastAt: -Infinity, incarnation: -1, seq: 0 };
      this.paths.set(key, path);
    }
    return path;
  }
}
