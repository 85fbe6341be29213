import { randomUUID } from 'node:crypto';
import type { Admission } from '../admission/admission';
import type { Config } from '../config/types';
import { countAttempt, countRequest } from '../dispatch/count';
import { Lessons } from '../dispatch/lessons';
import { ping, presence, type OwnRequestsParts } from '../dispatch/own-requests';
import type { Hooks } from '../hooks';
import { cachedLookups } from '../instance/cached-lookups';
import { remindToConnect } from '../instance/connect-reminder';
import { HandOver } from '../instance/hand-over';
import { LinkWatch } from '../instance/link-watch';
import { Membership } from '../instance/membership';
import type { SiteWatch } from '../instance/site-watch';
import type { SharedLink } from '../link/create-link';
import type { SipLink } from '../link/sip-link';
import { startNative, type NativeStatus } from '../native';
import type { BindingTable } from '../nat/bindings';
import type { FlowTokens } from '../nat/flow-token';
import { Keepalive } from '../nat/keepalive';
import { Pipeline } from '../pipeline/pipeline';
import type { Settings } from '../pipeline/settings';
import type { LookupCache } from '../registry/cache';
import { openRegistry } from '../registry/open';
import type { OperatorDecision, Registry } from '../registry/registry';
import { Carrier } from '../relay/carrier';
import { ChallengeMemory } from '../routing/challenges';
import { RecentSites } from '../routing/recent-sites';
import type { SipServers } from '../servers/sip-servers';
import type { MonotonicClock } from '../telemetry/clock';
import type { Logger } from '../telemetry/logger';
import type { MetricsRegistry } from '../telemetry/metrics';
import type { TalliedLines } from '../telemetry/tallied-lines';

export interface ServiceParts {
  readonly settings: () => Settings;
  readonly tokens: () => FlowTokens;
  /** A registry that is open already, and is not closed here. */
  readonly registry: Registry | undefined;
  /** The link over an application's own connection. */
  readonly shared: SharedLink | undefined;
  /** The application routes verbs on its own: none is subscribed to. */
  readonly routesItself: () => boolean;
  readonly isRunning: () => boolean;
  readonly hooks: Hooks;
  readonly admission: Admission;
  readonly bindings: BindingTable;
  readonly servers: SipServers;
  readonly sites: SiteWatch;
  readonly ownRequests: OwnRequestsParts;
  readonly metrics: MetricsRegistry;
  readonly tallies: TalliedLines;
  /** The group says that this instance has the addresses, or has them no longer. */
  readonly serve: (active: boolean) => void;
  /** This instance can't go on. */
  readonly failed: (error: unknown) => void;
  readonly now: MonotonicClock;
  readonly log: Logger;
}

/** What runs between the start and the stop of an instance: opened and closed in their order. */
export class Service {
  readonly #parts: ServiceParts;
  readonly #links: LinkWatch;
  readonly #endings: (() => void)[] = [];
  #native: NativeStatus | undefined;
  #registry: Registry | undefined;
  #cache: LookupCache | undefined;
  #carrier: Carrier | undefined;
  #keepalive: Keepalive | undefined;
  #membership: Membership | undefined;
  /** What operators decided about sites; undefined: the registry has not told yet. */
  #decisions: readonly OperatorDecision[] | undefined;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    this.#links = new LinkWatch({ ...parts, membership: () => this.#membership });
  }

  get native(): NativeStatus | undefined {
    return this.#native;
  }

  get registry(): Registry | undefined {
    return this.#registry;
  }

  get cache(): LookupCache | undefined {
    return this.#cache;
  }

  get keepalive(): Keepalive | undefined {
    return this.#keepalive;
  }

  get membership(): Membership | undefined {
    return this.#membership;
  }

  /** Says once that it serves, or that it does not. */
  saySo(): void {
    this.#links.saySo();
  }

  /** What it opened is closed by `close`, also when it fails. */
  async open(): Promise<void> {
    const { log, now, metrics, bindings, servers, sites, shared, ownRequests } = this.#parts;
    const { config } = this.#parts.settings();
    this.#native = startNative(config.native, log);
    const registry = this.#parts.registry ?? (await openRegistry(config.registry, { log }));
    this.#registry = registry;
    const cache = cachedLookups(registry, { config, metrics, now });
    this.#cache = cache;
    this.#endings.push(
      registry.onChange((change) => {
        cache.invalidate(change);
        this.#membership?.dropped(change);
      }),
      registry.onDecision((decisions) => {
        this.#decide(decisions);
        this.#membership?.decided(decisions);
      }),
    );
    try {
      this.#decide(await registry.listDecisions());
    } catch (error) {
      // Cassandra is away: calls are served as the configuration says, and the decisions are told when it is back.
      log.warn({ err: error }, 'operator states cannot be read yet');
    }

    this.#carrier = await Carrier.open({
      log,
      now,
      observer: {
        attemptEnded: (attempt) => {
          countAttempt(metrics, attempt);
          sites.attempted(attempt);
        },
      },
      ask: (server, uri, timeoutMs) => presence(ownRequests, server, uri, timeoutMs),
    });
    const pipeline = this.#pipeline(cache, this.#carrier);
    const prepare = (link: SipLink): void => {
      link.onRequest((request) => pipeline.handle(request));
      this.#links.watch(link);
    };
    if (shared === undefined) {
      await servers.start(prepare);
    } else {
      servers.adopt(shared.link);
      prepare(shared.link);
      if (this.#parts.routesItself()) shared.askForVerbs();
      else shared.subscribe();
      const isConnecting = (): boolean => shared.isConnecting();
      if (isConnecting()) await servers.reach(shared.link);
      else this.#endings.push(remindToConnect(isConnecting, () => this.saySo()));
    }
    this.#keepalive = new Keepalive({
      table: bindings,
      config: config.nat.keepalive,
      send: (target) =>
        ping(ownRequests, target, this.#parts.settings().config.nat.keepalive.timeout_s * 1000),
      now,
      log,
    });
    this.#keepalive.start();
    sites.watch(config, this.#parts.settings().snapshot);
    if (config.ha !== undefined) await this.#join(config.ha, { registry, cache, pipeline });
  }

  /** Joins the group that shares the VIP: from now on it says when this instance serves. */
  async #join(
    ha: NonNullable<Config['ha']>,
    { registry, cache, pipeline }: { registry: Registry; cache: LookupCache; pipeline: Pipeline },
  ): Promise<void> {
    const { admission, bindings, metrics, log, serve, failed } = this.#parts;
    const { config } = this.#parts.settings();
    const handOver = new HandOver({
      admission,
      hurry: () => this.#carrier?.hurry(true),
      refuseUndecided: () => pipeline.refuseUndecided(),
    });
    const membership = Membership.of({
      ha,
      instance: config.instance,
      native: this.#native,
      sipServers: config.sip_servers,
      registry,
      cache,
      bindings,
      decisions: () => this.#decisions,
      decide: (decisions) => this.#decide(decisions),
      log,
      quiesce: (limitMs) => handOver.quiesce(limitMs),
      settle: (limitMs) => handOver.settle(limitMs),
      serve,
      healthChanged: () => this.#links.tellGroup(),
      failed,
    });
    this.#membership = membership;
    membership.group.on('state', ({ to }) => metrics.add('dsbc_group_transitions_total', { to }));
    membership.group.on('alarm', ({ name, on }) => {
      if (on) metrics.add('dsbc_group_alarms_total', { alarm: name });
    });
    admission.setMode('standby');
    await membership.start();
    this.#links.tellGroup();
  }

  #decide(decisions: readonly OperatorDecision[]): void {
    this.#decisions = decisions;
    this.#parts.sites.states.decide(decisions);
  }

  /** Takes up service, or lays it down. */
  setActive(active: boolean): void {
    const { admission, sites } = this.#parts;
    admission.setMode(active ? 'serving' : 'standby');
    this.#carrier?.hurry(false);
    sites.health.setActive(active);
    this.#membership?.setServing(active);
    this.#keepalive?.setActive(active);
  }

  /** Takes what a reload changes of what runs here. */
  configure(config: Config): void {
    this.#keepalive?.configure(config.nat.keepalive);
  }

  async close(): Promise<void> {
    this.#parts.sites.health.stop();
    this.#keepalive?.stop();
    await this.#membership?.close();
    this.#membership = undefined;
    for (const end of this.#endings.splice(0)) end();
    await this.#parts.servers.stop();
    this.#parts.tallies.close();
    await this.#carrier?.close();
    this.#carrier = undefined;
    if (this.#parts.registry === undefined) await this.#registry?.close();
    this.#registry = undefined;
  }

  #pipeline(registry: LookupCache, relays: Carrier): Pipeline {
    const { settings, tokens, admission, hooks, bindings, servers, sites, tallies, metrics, log, now } =
      this.#parts;
    const challenges = new ChallengeMemory(now);
    const recentSites = new RecentSites(now);
    return new Pipeline({
      settings,
      states: (server) => sites.states.of(server),
      registry,
      admission,
      hooks,
      challenges,
      recentSites,
      lessons: new Lessons({ challenges, recentSites, bindings, log }),
      tokens,
      linkOf: (entry) => servers.linkOf(entry),
      relays,
      refusals: tallies,
      observer: { requestEnded: (record) => countRequest(metrics, record) },
      log,
      now,
      newId: randomUUID,
    });
  }
}
