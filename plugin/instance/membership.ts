import { join } from 'node:path';
import type { Config } from '../config/types';
import { createGroup, type Group } from '../ha/group';
import type { WitnessStore } from '../ha/ports';
import { Replication } from '../ha/replication/replication';
import type { ReplicatedTopic } from '../ha/replication/topic';
import { settingsOf } from '../ha/settings';
import { TransitionPrograms } from '../ha/transition-programs';
import { BINDINGS_TOPIC, replicatedBindings } from '../nat/replicated-bindings';
import type { BindingTable } from '../nat/bindings';
import type { NativeStatus } from '../native';
import type { LookupCache } from '../registry/cache';
import type { OperatorDecision, Registry, RegistryChange } from '../registry/registry';
import { DECISIONS_TOPIC, replicatedDecisions } from '../registry/replicated-decisions';
import { DROPS_TOPIC, replicatedDrops } from '../registry/replicated-drops';
import { VipCheck, type CheckedEntry } from '../servers/vip-check';
import type { Logger } from '../telemetry/logger';

/** What an instance brings to its group, and what the group tells it. */
export interface MembershipParts {
  readonly ha: NonNullable<Config['ha']>;
  /** The name of this instance. */
  readonly instance: string;
  readonly native: NativeStatus | undefined;
  readonly sipServers: Config['sip_servers'];
  /** The registry, which may hold the witness lease. */
  readonly registry: Registry;
  readonly cache: LookupCache;
  readonly bindings: BindingTable;
  /** What operators decided about sites; undefined: not known yet. */
  readonly decisions: () => readonly OperatorDecision[] | undefined;
  /** Takes decisions of the active into use. */
  readonly decide: (decisions: readonly OperatorDecision[]) => void;
  readonly log: Logger;
  /** Serves no new request and waits for those under way, at most `limitMs`. */
  readonly quiesce: (limitMs: number) => Promise<void>;
  /** Nothing comes in any more: waits until what has come is on its way, at most `limitMs`. */
  readonly settle: (limitMs: number) => Promise<void>;
  /** This instance has the addresses, or has them no longer. */
  readonly serve: (active: boolean) => void;
  /** The SIP servers answer at the VIP, or do not any more (`sipAnswers`). */
  readonly healthChanged: () => void;
  /** The group's worker can't go on. */
  readonly failed: (error: unknown) => void;
}

/**
 * The place of one instance in the group that shares the VIP: the group itself, what is copied to standbys, and whether
 * its SIP servers answer there.
 */
export class Membership {
  readonly group: Group;
  readonly #replication: Replication;

  readonly #check: VipCheck;

  private constructor(group: Group, replication: Replication, check: VipCheck) {
    this.group = group;
    this.#replication = replication;
    this.#check = check;
  }

  /** Wires the group; nothing is sent and no address taken before `start`. */
  static of(parts: MembershipParts): Membership {
    const { ha, log, registry, bindings, cache, decisions, decide } = parts;
    const driver = ha.vip_driver === 'auto' ? parts.native?.running : ha.vip_driver;
    const network = driver === 'native' ? 'native-network.js' : 'iproute2-network.js';
    const settings = settingsOf(ha, parts.instance);
    const group = createGroup({
      settings,
      networkModule: join(__dirname, '..', 'network', network),
      ...(hasLeases(registry) ? { witness: registry.leases } : {}),
      log,
      quiesce: parts.quiesce,
      // drachtio-server says 100 to an INVITE before we see it: its caller would not send it again.
      ...(parts.sipServers.some(({ server }) => server === 'drachtio') ? { settle: parts.settle } : {}),
    });
    group.on('active', () => parts.serve(true));
    group.on('standby', () => parts.serve(false));
    // A hand-over that came to nothing: service goes on.
    group.on('state', ({ to }) => {
      if (to === 'ACTIVE') parts.serve(true);
    });
    group.on('failed', (error) => parts.failed(error));
    const programs = new TransitionPrograms({ active: ha.on_active, standby: ha.on_standby }, log);
    group.on('active', () => programs.became('active'));
    group.on('standby', () => programs.became('standby'));
    const check = new VipCheck({
      entries: entriesOf(parts),
      everyMs: 2 * ha.heartbeat_ms,
      onChange: parts.healthChanged,
      // The kernel may have the address and not its route, so that nothing sent to it arrives.
      onSilence: () => group.refresh(),
      log,
    });
    const own = registry.driver === 'cassandra' ? {} : { own: registry };
    const copied: readonly ReplicatedTopic[] = [
      replicatedBindings(bindings),
      replicatedDrops(cache),
      replicatedDecisions({ current: decisions, decide, ...own, log }),
    ];
    const replication = new Replication(settings, copied, log);
    bindings.onRecord((record) => replication.publish(BINDINGS_TOPIC, record));
    group.on('leader', (instance) => {
      replication.setLeader(instance);
      check.leaderKnown(instance !== '');
    });
    return new Membership(group, replication, check);
  }

  async start(): Promise<void> {
    await this.#replication.start();
    await this.group.start();
  }

  /** False: a SIP server of this instance does not answer at the VIP. */
  get sipAnswers(): boolean {
    return this.#check.healthy;
  }

  /** This instance has the addresses, or has them no longer: the VIP is asked here, or not. */
  setServing(serving: boolean): void {
    this.#check.setActive(serving);
  }

  /** A SIP server was connected (anew). */
  connected(server: string): void {
    this.#check.reconnected(server);
  }

  /** Standbys shall drop from their caches what was dropped here. */
  dropped(change: RegistryChange): void {
    this.#replication.publish(DROPS_TOPIC, change);
  }

  /** Standbys shall follow what operators decided. */
  decided(decisions: readonly OperatorDecision[]): void {
    this.#replication.publish(DECISIONS_TOPIC, decisions);
  }

  async close(): Promise<void> {
    this.#check.close();
    await this.group.close();
    await this.#replication.close();
  }
}

/** The entry addresses that the group moves: what is asked there asks this instance while it is active. */
const entriesOf = ({ ha, sipServers }: MembershipParts): readonly CheckedEntry[] =>
  sipServers
    .filter(({ entry }) => ha.vips.some(({ address }) => address === entry.address))
    .map(({ name, entry: { address, port, transports } }) => ({ server: name, address, port, transports }));

const hasLeases = (registry: object): registry is { readonly leases: WitnessStore } => 'leases' in registry;
