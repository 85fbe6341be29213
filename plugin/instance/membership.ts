import { join } from 'node:path';
import type { Config } from '../config/types';
import { createGroup, type Group } from '../ha/group';
import type { WitnessStore } from '../ha/ports';
import { Replication } from '../ha/replication/replication';
import type { ReplicatedTopic } from '../ha/replication/topic';
import { settingsOf } from '../ha/settings';
import { BINDINGS_TOPIC, replicatedBindings } from '../nat/replicated-bindings';
import type { BindingTable } from '../nat/bindings';
import type { NativeStatus } from '../native';
import type { Logger } from '../telemetry/logger';

/** What an instance brings to its group, and what the group tells it. */
export interface MembershipParts {
  readonly ha: NonNullable<Config['ha']>;
  /** The name of this instance. */
  readonly instance: string;
  readonly native: NativeStatus | undefined;
  /** The registry that may hold the witness lease. */
  readonly registry: object;
  readonly bindings: BindingTable;
  readonly log: Logger;
  /** Serves no new request and waits for those under way, at most `limitMs`. */
  readonly quiesce: (limitMs: number) => Promise<void>;
  /** This instance has the addresses, or has them no longer. */
  readonly serve: (active: boolean) => void;
  /** The group's worker can't go on. */
  readonly failed: (error: unknown) => void;
}

/** The place of one instance in the group that shares the VIP: the group itself, and what is copied to standbys. */
export class Membership {
  readonly group: Group;
  readonly #replication: Replication;

  private constructor(group: Group, replication: Replication) {
    this.group = group;
    this.#replication = replication;
  }

  /** Wires the group; nothing is sent and no address taken before `start`. */
  static of(parts: MembershipParts): Membership {
    const { ha, log, registry, bindings } = parts;
    const driver = ha.vip_driver === 'auto' ? parts.native?.running : ha.vip_driver;
    const network = driver === 'native' ? 'native-network.js' : 'iproute2-network.js';
    const settings = settingsOf(ha, parts.instance);
    const group = createGroup({
      settings,
      networkModule: join(__dirname, '..', 'network', network),
      ...(hasLeases(registry) ? { witness: registry.leases } : {}),
      log,
      quiesce: parts.quiesce,
    });
    group.on('active', () => parts.serve(true));
    group.on('standby', () => parts.serve(false));
    // A hand-over that came to nothing: service goes on.
    group.on('state', ({ to }) => {
      if (to === 'ACTIVE') parts.serve(true);
    });
    group.on('failed', (error) => parts.failed(error));
    const copied: readonly ReplicatedTopic[] = [replicatedBindings(bindings)];
    const replication = new Replication(settings, copied, log);
    bindings.onRecord((record) => replication.publish(BINDINGS_TOPIC, record));
    group.on('leader', (instance) => replication.setLeader(instance));
    return new Membership(group, replication);
  }

  async start(): Promise<void> {
    await this.#replication.start();
    await this.group.start();
  }

  async close(): Promise<void> {
    await this.group.close();
    await this.#replication.close();
  }
}

const hasLeases = (registry: object): registry is { readonly leases: WitnessStore } => 'leases' in registry;
