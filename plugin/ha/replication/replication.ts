import type { Logger } from '../../telemetry/logger';
import { silentLogger } from '../../telemetry/logger';
import type { Endpoint } from '../heartbeat/sockets';
import type { GroupSettings } from '../settings';
import { ReplicationFollower } from './follower';
import { ReplicationSource } from './source';
import type { ReplicatedTopic } from './topic';

/**
 * What standbys need, over TCP on the heartbeat links, at the port of the heartbeats: every instance can be followed,
 * and follows whoever is active. Runs in the main thread, beside the data.
 */
export class Replication {
  private readonly source: ReplicationSource;
  private readonly follower: ReplicationFollower;
  private leader = '';

  constructor(
    private readonly settings: GroupSettings,
    topics: readonly ReplicatedTopic[],
    log: Logger = silentLogger,
  ) {
    const { group, key, instance } = settings;
    const byName = new Map(topics.map((topic) => [topic.name, topic]));
    this.source = new ReplicationSource({
      group,
      key,
      listen: endpoints(settings.listen),
      topics: byName,
      log,
    });
    this.follower = new ReplicationFollower({ group, key, instance, topics: byName, log });
  }

  async start(): Promise<void> {
    await this.source.open();
  }

  /** A change made here. Only the active's changes reach anybody. */
  publish(topic: string, record: unknown): void {
    this.source.publish(topic, record);
  }

  /** Who is active now (`Group`'s event `leader`); empty: nobody known, the last one is followed on. */
  setLeader(instance: string): void {
    if (instance === '' || instance === this.leader) return;
    this.leader = instance;
    const peer = this.settings.peers.find(({ id }) => id === instance);
    this.follower.follow(peer === undefined ? undefined : { id: peer.id, links: endpoints(peer.links) });
  }

  /** For `status` and metrics. */
  get state(): { readonly followers: number; readonly following: string; readonly complete: boolean } {
    const following = this.leader === this.settings.instance ? '' : this.leader;
    return { followers: this.source.followerCount, following, complete: this.follower.complete };
  }

  async close(): Promise<void> {
    this.follower.close();
    await this.source.close();
  }
}

const endpoints = ({ m1, m2, service }: GroupSettings['listen']): readonly Endpoint[] =>
  [m1, m2, service].filter((endpoint) => endpoint !== undefined);
