import { randomUUID } from 'node:crypto';
import { Admission } from './admission/admission';
import { parseConfig } from './config/config';
import type { Config, ConfigInput } from './config/types';
import { countAttempt, countRequest } from './dispatch/count';
import { Lessons } from './dispatch/lessons';
import { ping, presence, type OwnRequestsParts } from './dispatch/own-requests';
import { DsbcError } from './errors';
import type { Group } from './ha/group';
import { Hooks, type Hook, type HookName, type HookOptions, type HookSet } from './hooks';
import { remindToConnect } from './instance/connect-reminder';
import { HandOver } from './instance/hand-over';
import { Membership } from './instance/membership';
import { keysDiffer, reloaded, type ReloadResult } from './instance/reload';
import { SiteWatch } from './instance/site-watch';
import { wrapSrf, type SharedLink } from './link/create-link';
import type { SipLink } from './link/sip-link';
import { startNative, udpErrorQueues, type NativeStatus } from './native';
import { BindingTable } from './nat/bindings';
import { FlowTokens } from './nat/flow-token';
import { Keepalive } from './nat/keepalive';
import { Pipeline } from './pipeline/pipeline';
import type { Settings } from './pipeline/settings';
import { createLookupCache, type LookupCache } from './registry/cache';
import { openRegistry } from './registry/open';
import type { OperatorDecision, Registry, RegistryLookup } from './registry/registry';
import { Carrier } from './relay/carrier';
import { ChallengeMemory } from './routing/challenges';
import type { Health } from './routing/health';
import { RecentSites } from './routing/recent-sites';
import type { SiteStates } from './routing/site-states';
import { makeSnapshot } from './routing/snapshot';
import { SipServers } from './servers/sip-servers';
import { monotonicClock } from './telemetry/clock';
import { createLog, type Log } from './telemetry/log';
import type { Logger } from './telemetry/logger';
import { MetricsRegistry } from './telemetry/metrics';
import { TalliedLines } from './telemetry/tallied-lines';

export type { ReloadResult } from './instance/reload';

export interface DsbcOptions {
  /** A configuration as a value (not a file); checked and filled with defaults. `loadConfig` reads a file. */
  readonly config: ConfigInput | Config;
  /** The application's own drachtio-srf instance: its connection is shared, beside its own routes. */
  readonly srf?: unknown;
  readonly hooks?: HookSet;
  /** Default: JSON lines on stdout, and to the LogServer if the configuration names one. */
  readonly logger?: Logger;
  /** A registry that is open already; it is not closed by `stop`. Default: the one of the configuration. */
  readonly registry?: Registry;
}

/**
 * A request of drachtio-srf goes through this; what is not ours goes on to `next`. Request and response are drachtio-srf's
 * own, whatever its release types them as.
 */
export type Middleware = (request: object, response: object, next?: object) => void;

export type DsbcState = 'new' | 'starting' | 'running' | 'stopping' | 'stopped';

/**
 * Makes a dispatching SBC; nothing is opened before `start`.
 * @throws DsbcError DSBC_CONFIG_INVALID, DSBC_HOOK_UNKNOWN
 */
export const createDsbc = (options: DsbcOptions): Dsbc => new Dsbc(options);

/** One instance: wires the rooms, starts and ends them. */
export class Dsbc {
  readonly hooks: Hooks;
  readonly metrics = new MetricsRegistry({ process: true });
  readonly admission: Admission;
  readonly bindings: BindingTable;
  readonly servers: SipServers;
  readonly log: Logger;
  readonly #options: DsbcOptions;
  readonly #ownLog: Log | undefined;
  readonly #shared: SharedLink | undefined;
  readonly #sites: SiteWatch;
  readonly #now = monotonicClock;
  /** What strangers may cause as often as they like: refusals, malformed messages. */
  readonly #tallies: TalliedLines;
  readonly #endings: (() => void)[] = [];
  readonly #fatalListeners: ((error: unknown) => void)[] = [];
  readonly #stopListeners: (() => Promise<void>)[] = [];
  #settings: Settings;
  #tokens: FlowTokens;
  #keepalive: Keepalive | undefined;
  #registry: Registry | undefined;
  #cache: LookupCache | undefined;
  #carrier: Carrier | undefined;
  #membership: Membership | undefined;
  /** What operators decided about sites; undefined: the registry has not told yet. */
  #decisions: readonly OperatorDecision[] | undefined;
  #native: NativeStatus | undefined;
  #state: DsbcState = 'new';
  #routesItself = false;
  #saidServing = false;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: DsbcOptions) {
    const config = parseConfig(options.config);
    this.#options = options;
    this.#settings = { config, snapshot: makeSnapshot(config) };
    this.#ownLog =
      options.logger === undefined ? createLog(config.log, { instance: config.instance }) : undefined;
    this.log = options.logger ?? this.#ownLog?.logger ?? failNoLogger();
    this.#tallies = new TalliedLines({ log: this.log, now: this.#now });
    this.#tokens = this.#makeTokens(config);
    this.hooks = new Hooks(hookDefaults(config), this.log, ({ hook, error }) => {
      this.metrics.add('dsbc_hook_failures_total', { hook, reason: hookFailureReason(error) });
    });
    this.hooks.addAll(options.hooks ?? {});
    this.admission = new Admission(config.limits, this.#now, () =>
      this.group === undefined ? undefined : this.group.servingTerm() !== 0,
    );
    this.bindings = new BindingTable({ maxBindings: config.nat.max_bindings, now: this.#now });
    this.servers = new SipServers({
      config,
      tokens: () => this.#tokens,
      log: this.log,
      tallies: this.#tallies,
      errorQueue: udpErrorQueues(config.native),
    });
    this.#sites = new SiteWatch({
      ...this.#settings,
      ownRequests: this.#ownRequests(),
      servers: (each) =>
        this.#shared === undefined ? each.sip_servers.map(({ name }) => name) : [this.#shared.link.name],
      metrics: this.metrics,
      now: this.#now,
      log: this.log,
    });
    this.#shared = options.srf === undefined ? undefined : this.#share(options.srf);
  }

  get state(): DsbcState {
    return this.#state;
  }

  /** What probes and traffic say of every node. */
  get health(): Health {
    return this.#sites.health;
  }

  /** What is decided of every site, by operators and by health. */
  get states(): SiteStates {
    return this.#sites.states;
  }

  get config(): Config {
    return this.#settings.config;
  }

  /** The routing tables made of the configuration in use. */
  get snapshot(): Settings['snapshot'] {
    return this.#settings.snapshot;
  }

  /** Open between `start` and `stop`. */
  get registry(): Registry | undefined {
    return this.#registry;
  }

  get cache(): LookupCache | undefined {
    return this.#cache;
  }

  get keepalive(): Keepalive | undefined {
    return this.#keepalive;
  }

  /** The group that shares the VIP, if the configuration has one. */
  get group(): Group | undefined {
    return this.#membership?.group;
  }

  /** Log lines that the LogServer never got, or that nobody took from the standard output. */
  get logLinesDropped(): number {
    return this.#ownLog?.dropped() ?? 0;
  }

  /** True when requests can be served: started, and at least one SIP server connected. */
  get isReady(): boolean {
    return (
      this.#state === 'running' && [...this.servers.links.values()].some((link) => link.state === 'connected')
    );
  }

  /** Adds a hook behind those of the same name. Throws DsbcError DSBC_HOOK_UNKNOWN. */
  addHook<Name extends HookName>(name: Name, hook: Hook<Name>, options: HookOptions = {}): void {
    this.hooks.add(name, hook, options);
  }

  /**
   * For applications that route verbs on their own: `srf.invite(dsbc.middleware())` for one verb, or
   * `srf.use(dsbc.middleware())` for all that the DSBC dispatches. Once called, `start` subscribes to no verb by
   * itself, but for `srf.use` it asks the server for the verbs. What is not the DSBC's goes on to `next`.
   * @throws DsbcError DSBC_CONFIG_INVALID if no `srf` was given
   */
  middleware(): Middleware {
    if (this.#shared === undefined) {
      throw new DsbcError('DSBC_CONFIG_INVALID', 'middleware() needs createDsbc({ srf })', {
        details: { path: 'srf', expected: 'an instance of drachtio-srf', found: 'nothing' },
      });
    }
    this.#routesItself = true;
    return this.#shared.middleware as Middleware;
  }

  /**
   * Opens the registry, starts embedded servers, connects to the others, and serves. Idempotent. What it opened is
   * closed again when it fails.
   * @throws DsbcError DSBC_PORT_TAKEN, DSBC_REGISTRY_DAMAGED, DSBC_REGISTRY_UNAVAILABLE
   */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** Which implementation of the native parts runs, and why; undefined before the start. */
  get native(): NativeStatus | undefined {
    return this.#native;
  }

  async #start(): Promise<void> {
    this.#state = 'starting';
    try {
      await this.#open();
    } catch (error) {
      this.log.error({ err: error }, 'start failed');
      await this.#close();
      this.#state = 'stopped';
      throw error;
    }
    this.#state = 'running';
    // In a group the one that has the addresses serves, and says so.
    if (this.#membership === undefined) this.setActive(true);
    this.#saySo();
  }

  /** Says once that it serves, with the servers that are still missing; without any it says that it does not. */
  #saySo(): void {
    if (this.#state !== 'running' || this.#saidServing) return;
    const { servers, missing } = this.servers.standing();
    this.#saidServing = servers.length > 0;
    if (this.#saidServing) this.log.info({ servers, ...(missing.length > 0 ? { missing } : {}) }, 'serving');
    else if (this.#shared?.isConnecting() === false)
      this.log.warn({ missing }, 'not serving: srf.connect has not been called');
    else this.log.warn({ missing }, 'not serving: no SIP server is connected; trying on');
  }

  async #open(): Promise<void> {
    const { config } = this.#settings;
    this.#native = startNative(config.native, this.log);
    const registry = this.#options.registry ?? (await openRegistry(config.registry, { log: this.log }));
    this.#registry = registry;
    const cache = createLookupCache({
      load: this.#timed(registry),
      clock: this.#now,
      options: cacheOptions(config),
    });
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
      this.log.warn({ err: error }, 'operator states cannot be read yet');
    }

    this.#carrier = await Carrier.open({
      log: this.log,
      now: this.#now,
      observer: {
        attemptEnded: (attempt) => {
          countAttempt(this.metrics, attempt);
          this.#sites.attempted(attempt);
        },
      },
      ask: (server, uri, timeoutMs) => presence(this.#ownRequests(), server, uri, timeoutMs),
    });
    const pipeline = this.#pipeline(cache, this.#carrier);
    const prepare = (link: SipLink): void => {
      link.onRequest((request) => pipeline.handle(request));
      link.onState((state) => this.#linkChanged(link, state));
      link.onFlowClosed(({ transport, address, port }) => {
        const entry = link.addresses.find((one) => one.transport === transport) ?? link.addresses[0];
        if (entry !== undefined) this.bindings.dropFlow({ entry, transport, remote: { address, port } });
      });
    };
    if (this.#shared === undefined) {
      await this.servers.start(prepare);
    } else {
      this.servers.adopt(this.#shared.link);
      prepare(this.#shared.link);
      if (this.#routesItself) this.#shared.askForVerbs();
      else this.#shared.subscribe();
      const isConnecting = (): boolean => this.#shared?.isConnecting() === true;
      if (isConnecting()) await this.servers.reach(this.#shared.link);
      else this.#endings.push(remindToConnect(isConnecting, () => this.#saySo()));
    }
    this.#keepalive = new Keepalive({
      table: this.bindings,
      config: config.nat.keepalive,
      send: (target) => ping(this.#ownRequests(), target, config.nat.keepalive.timeout_s * 1000),
      now: this.#now,
      log: this.log,
    });
    this.#keepalive.start();
    this.#sites.watch(config, this.#settings.snapshot);
    if (config.ha !== undefined) await this.#join(config.ha, { registry, cache, pipeline });
  }

  /** Joins the group that shares the VIP: from now on it says when this instance serves. */
  async #join(
    ha: NonNullable<Config['ha']>,
    { registry, cache, pipeline }: { registry: Registry; cache: LookupCache; pipeline: Pipeline },
  ): Promise<void> {
    const handOver = new HandOver({
      admission: this.admission,
      hurry: () => this.#carrier?.hurry(true),
      refuseUndecided: () => pipeline.refuseUndecided(),
    });
    const membership = Membership.of({
      ha,
      instance: this.#settings.config.instance,
      native: this.#native,
      sipServers: this.#settings.config.sip_servers,
      registry,
      cache,
      bindings: this.bindings,
      decisions: () => this.#decisions,
      decide: (decisions) => this.#decide(decisions),
      log: this.log,
      quiesce: (limitMs) => handOver.quiesce(limitMs),
      settle: (limitMs) => handOver.settle(limitMs),
      serve: (active) => this.setActive(active),
      healthChanged: () => this.#tellGroup(),
      failed: (error) => this.#fatal(error),
    });
    this.#membership = membership;
    membership.group.on('state', ({ to }) => this.metrics.add('dsbc_group_transitions_total', { to }));
    this.admission.setMode('standby');
    await membership.start();
    this.#tellGroup();
  }

  #decide(decisions: readonly OperatorDecision[]): void {
    this.#decisions = decisions;
    this.states.decide(decisions);
  }

  /** Tells the group whether calls can be served here at all. */
  #tellGroup(): void {
    const links = [...this.servers.links.values()];
    const connected = links.length > 0 && links.every((link) => link.state === 'connected');
    this.group?.setSipHealthy(connected && this.#membership?.sipAnswers !== false);
  }

  /** For what lives as long as this instance: called, and waited for, when `stop` has closed everything else. */
  onStopped(listener: () => Promise<void>): void {
    this.#stopListeners.push(listener);
  }

  /** Calls back when the program can't go on and must end, so that a supervisor starts it anew. */
  onFatal(listener: (error: unknown) => void): void {
    this.#fatalListeners.push(listener);
  }

  #fatal(error: unknown): void {
    this.log.error({ err: error }, 'this instance cannot go on');
    for (const listener of this.#fatalListeners) listener(error);
  }

  /**
   * Takes up service, or lays it down: only the active instance of a group answers, probes and pings. Without a group
   * `start` calls it.
   */
  setActive(active: boolean): void {
    if (this.#state !== 'running' && this.#state !== 'starting') return;
    this.admission.setMode(active ? 'serving' : 'standby');
    this.#carrier?.hurry(false);
    this.health.setActive(active);
    this.#membership?.setServing(active);
    this.#keepalive?.setActive(active && this.#settings.config.nat.keepalive.enabled);
  }

  /** Takes nothing new and waits until what is under way has ended; true if all of it has. */
  drain(timeoutMs: number = this.#settings.config.drain_ms): Promise<boolean> {
    if (this.admission.mode !== 'standby') this.admission.setMode('draining');
    return this.admission.idle(timeoutMs);
  }

  /** Drains, then closes everything that `start` opened. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    // A start under way ends first, whatever it ends with: what it opened is known then.
    await this.#starting?.catch(() => undefined);
    if (this.#state === 'running') {
      // While another instance can take over, it does so before anything is refused here.
      await this.group
        ?.leave()
        .catch((error: unknown) => this.log.warn({ err: error }, 'left the group without a hand-over'));
      this.#state = 'stopping';
      if (!(await this.drain())) this.log.warn({ inFlight: this.admission.inFlight }, 'drain time is over');
    }
    await this.#close();
    this.#state = 'stopped';
    this.log.info({}, 'stopped');
    for (const listener of this.#stopListeners.splice(0)) {
      await listener().catch((error: unknown) =>
        this.log.error({ err: error }, 'a listener for the end failed'),
      );
    }
    await this.#ownLog?.close();
  }

  async #close(): Promise<void> {
    this.health.stop();
    this.#keepalive?.stop();
    await this.#membership?.close();
    this.#membership = undefined;
    for (const end of this.#endings.splice(0)) end();
    await this.servers.stop();
    this.#tallies.close();
    await this.#carrier?.close();
    this.#carrier = undefined;
    if (this.#options.registry === undefined) await this.#registry?.close();
    this.#registry = undefined;
  }

  /**
   * Takes a new configuration. It is checked first: a bad one changes nothing. Requests under way end under the old
   * one; health and operators' decisions are kept.
   * @returns the sections that differ but take a restart
   * @throws DsbcError DSBC_CONFIG_INVALID
   */
  reload(input: ConfigInput | Config): ReloadResult {
    let next: Config;
    try {
      next = parseConfig(input);
    } catch (error) {
      this.metrics.add('dsbc_config_reloads_total', { outcome: 'rejected' });
      throw error;
    }
    const before = this.#settings.config;
    const { needsRestart, config } = reloaded(before, next);
    const snapshot = makeSnapshot(config);
    this.#settings = { config, snapshot };
    // Without keys in the configuration the token key is random: a new one would end every path we gave out.
    if (keysDiffer(before, config)) this.#tokens = this.#makeTokens(config);
    this.hooks.configure(hookDefaults(config));
    this.admission.configure(config.limits);
    this.#sites.watch(config, snapshot);
    this.states.configure(snapshot);
    this.metrics.add('dsbc_config_reloads_total', { outcome: 'applied' });
    this.log.info({ needsRestart }, 'configuration reloaded');
    return { needsRestart };
  }

  #pipeline(registry: LookupCache, relays: Carrier): Pipeline {
    const { log } = this;
    const now = this.#now;
    const challenges = new ChallengeMemory(now);
    const recentSites = new RecentSites(now);
    return new Pipeline({
      settings: () => this.#settings,
      states: (server) => this.states.of(server),
      registry,
      admission: this.admission,
      hooks: this.hooks,
      challenges,
      recentSites,
      lessons: new Lessons({ challenges, recentSites, bindings: this.bindings, log }),
      tokens: () => this.#tokens,
      linkOf: (entry) => this.servers.linkOf(entry),
      relays,
      refusals: this.#tallies,
      observer: { requestEnded: (record) => countRequest(this.metrics, record) },
      log,
      now,
      newId: randomUUID,
    });
  }

  #share(srf: unknown): SharedLink {
    const [server, second] = this.#settings.config.sip_servers;
    if (second !== undefined || server?.server === 'embedded') {
      const found = second === undefined ? "server: embedded, which `srf` can't be connected to" : 'several';
      throw new DsbcError(
        'DSBC_CONFIG_INVALID',
        `sip_servers: with \`srf\` expected one drachtio-server; found ${found}`,
        {
          details: { path: 'sip_servers', expected: 'one entry of server: drachtio', found },
        },
      );
    }
    const name = server?.name ?? 'srf';
    return wrapSrf(srf, { name, log: this.log });
  }

  #linkChanged(link: SipLink, state: SipLink['state']): void {
    this.metrics.set('dsbc_sip_server_up', { server: link.name }, state === 'connected' ? 1 : 0);
    if (state === 'lost') this.metrics.add('dsbc_sip_server_losses_total', { server: link.name });
    const line = { server: link.name, state };
    if (state === 'connected') this.#membership?.connected(link.name);
    this.#tellGroup();
    if (state === 'lost') this.log.error(line, 'SIP server lost');
    else this.log.info(line, 'SIP server');
    if (state !== 'connected') return;
    const misplaced = this.servers.entryTrouble(link.name);
    if (misplaced !== undefined) this.log.warn({ server: link.name }, misplaced);
    this.#saySo();
  }

  #ownRequests(): OwnRequestsParts {
    return {
      link: (server) => this.servers.links.get(server),
      linkOf: (entry) => this.servers.linkOf(entry),
      now: this.#now,
      newId: randomUUID,
    };
  }

  #makeTokens(config: Config): FlowTokens {
    return new FlowTokens(config.nat.keys, (reason) =>
      this.metrics.add('dsbc_tokens_rejected_total', { reason }),
    );
  }

  /** The registry behind the cache, each question timed. */
  #timed(registry: Registry): RegistryLookup {
    return {
      lookup: async (key) => {
        const start = this.#now();
        try {
          return await registry.lookup(key);
        } finally {
          this.metrics.observe('dsbc_registry_lookup_seconds', {}, (this.#now() - start) / 1000);
        }
      },
    };
  }
}

const hookDefaults = ({ hooks }: Config): { timeoutMs: number; onError: 'skip' | 'fail' } => ({
  timeoutMs: hooks.timeout_ms,
  onError: hooks.on_error,
});

const hookFailureReason = (error: Error): string => {
  const code = error instanceof DsbcError ? error.code : undefined;
  if (code === 'DSBC_HOOK_TIMEOUT') return 'timeout';
  return code === 'DSBC_HOOK_RESULT' ? 'result' : 'error';
};

const cacheOptions = ({ cache, registry }: Config): object => ({
  maxEntries: cache.max_entries,
  ttlMs: cache.ttl_s * 1000,
  negativeTtlMs: cache.negative_ttl_s * 1000,
  staleWhileRevalidateMs: cache.stale_while_revalidate_s * 1000,
  staleIfErrorMs: cache.stale_if_error_s * 1000,
  retryAfterErrorMs: cache.retry_after_error_ms,
  // A replica may be read that has not heard of the change yet.
  settleMs: registry.driver === 'cassandra' ? 2000 : 0,
});

function failNoLogger(): never {
  throw new TypeError('no logger');
}
