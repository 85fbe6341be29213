import { randomUUID } from 'node:crypto';
import { Admission } from '../admission/admission';
import { parseConfig } from '../config/config';
import { readTlsFiles } from '../config/tls-files';
import type { Config, ConfigInput } from '../config/types';
import { NameFaults } from '../dispatch/name-faults';
import type { OwnRequestsParts } from '../dispatch/own-requests';
import { DsbcError } from '../errors';
import type { Group } from '../ha/group';
import type { Hook, HookName, HookOptions, Hooks } from '../hooks';
import { keysDiffer, reloaded, type ReloadResult } from '../instance/reload';
import { SiteWatch } from '../instance/site-watch';
import type { SharedLink } from '../link/create-link';
import { udpErrorQueues, type NativeStatus } from '../native';
import { BindingTable } from '../nat/bindings';
import { FlowTokens } from '../nat/flow-token';
import type { Keepalive } from '../nat/keepalive';
import type { Settings } from '../pipeline/settings';
import type { LookupCache } from '../registry/cache';
import type { Registry } from '../registry/registry';
import type { Health } from '../routing/health';
import type { SiteStates } from '../routing/site-states';
import { makeSnapshot } from '../routing/snapshot';
import { shareSrf } from '../servers/shared-srf';
import { SipServers } from '../servers/sip-servers';
import { monotonicClock } from '../telemetry/clock';
import { createLog, type Log } from '../telemetry/log';
import type { Logger } from '../telemetry/logger';
import { MetricsRegistry } from '../telemetry/metrics';
import { TalliedLines } from '../telemetry/tallied-lines';
import { checkOptions } from './check-options';
import { configuredHooks, hookDefaults } from './configured-hooks';
import type { DsbcOptions, DsbcState, Middleware } from './dsbc-options';
import { Service } from './service';

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
  readonly #ownLog: Log | undefined;
  readonly #shared: SharedLink | undefined;
  readonly #sites: SiteWatch;
  readonly #now = monotonicClock;
  /** What strangers may cause as often as they like: refusals, malformed messages. */
  readonly #tallies: TalliedLines;
  readonly #service: Service;
  readonly #fatalListeners: ((error: unknown) => void)[] = [];
  readonly #stopListeners: (() => Promise<void>)[] = [];
  #settings: Settings;
  #tokens: FlowTokens;
  #state: DsbcState = 'new';
  #routesItself = false;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: DsbcOptions) {
    checkOptions(options);
    const config = parseConfig(options.config);
    this.#settings = { config, snapshot: makeSnapshot(config) };
    if (options.logger === undefined && config.log.syslog !== undefined)
      readTlsFiles(['log', 'syslog'], config.log.syslog);
    this.#ownLog =
      options.logger === undefined ? createLog(config.log, { instance: config.instance }) : undefined;
    this.log = options.logger ?? this.#ownLog?.logger ?? failNoLogger();
    this.#tallies = new TalliedLines({ log: this.log, now: this.#now });
    this.#tokens = this.#makeTokens(config);
    this.hooks = configuredHooks(config, options.hooks ?? {}, { log: this.log, metrics: this.metrics });
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
    const ownRequests = this.#ownRequests();
    this.#sites = new SiteWatch({
      ...this.#settings,
      ownRequests,
      servers: (each) =>
        this.#shared === undefined ? each.sip_servers.map(({ name }) => name) : [this.#shared.link.name],
      metrics: this.metrics,
      now: this.#now,
      log: this.log,
    });
    this.#shared = options.srf === undefined ? undefined : shareSrf(options.srf, config, this.log);
    this.#service = new Service({
      settings: () => this.#settings,
      tokens: () => this.#tokens,
      registry: options.registry,
      shared: this.#shared,
      routesItself: () => this.#routesItself,
      isRunning: () => this.#state === 'running',
      hooks: this.hooks,
      admission: this.admission,
      bindings: this.bindings,
      servers: this.servers,
      sites: this.#sites,
      ownRequests,
      metrics: this.metrics,
      tallies: this.#tallies,
      serve: (active) => this.setActive(active),
      failed: (error) => this.#fatal(error),
      now: this.#now,
      log: this.log,
    });
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
    return this.#service.registry;
  }

  get cache(): LookupCache | undefined {
    return this.#service.cache;
  }

  get keepalive(): Keepalive | undefined {
    return this.#service.keepalive;
  }

  /** The group that shares the VIP, if the configuration has one. */
  get group(): Group | undefined {
    return this.#service.membership?.group;
  }

  /** Log lines that the LogServer never got, or that nobody took from the standard output. */
  get logLinesDropped(): number {
    return this.#ownLog?.dropped() ?? 0;
  }

  /** Why the LogServer is not reached: empty if nothing is known against it; undefined if there is none. */
  get logServerTrouble(): string | undefined {
    return this.#ownLog?.logServerTrouble();
  }

  /** True when requests can be served: started, and at least one SIP server connected. */
  get isReady(): boolean {
    return (
      this.#state === 'running' && [...this.servers.links.values()].some((link) => link.state === 'connected')
    );
  }

  /**
   * Adds a hook behind those of the same name.
   * @throws DsbcError DSBC_HOOK_UNKNOWN; DSBC_CONFIG_INVALID for what is no function, and for wrong options
   */
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
   * @throws DsbcError DSBC_PORT_TAKEN, DSBC_REGISTRY_DAMAGED, DSBC_REGISTRY_UNAVAILABLE; DSBC_STOPPED once `stop` was called
   */
  start(): Promise<void> {
    if (this.#stopping !== undefined)
      return Promise.reject(
        new DsbcError('DSBC_STOPPED', 'this instance has been stopped; createDsbc makes another one'),
      );
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /** Which implementation of the native parts runs, and why; undefined before the start. */
  get native(): NativeStatus | undefined {
    return this.#service.native;
  }

  async #start(): Promise<void> {
    this.#state = 'starting';
    try {
      await this.#service.open();
    } catch (error) {
      this.log.error({ err: error }, 'start failed');
      await this.#service.close();
      this.#state = 'stopped';
      throw error;
    }
    this.#state = 'running';
    // In a group the one that has the addresses serves, and says so.
    if (this.#service.membership === undefined) this.setActive(true);
    this.#service.saySo();
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
    this.#service.setActive(active);
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
    await this.#service.close();
    this.#state = 'stopped';
    this.log.info({}, 'stopped');
    for (const listener of this.#stopListeners.splice(0)) {
      await listener().catch((error: unknown) =>
        this.log.error({ err: error }, 'a listener for the end failed'),
      );
    }
    await this.#ownLog?.close();
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
    this.bindings.configure({ maxBindings: config.nat.max_bindings });
    this.#service.configure(config);
    this.#sites.watch(config, snapshot);
    this.states.configure(snapshot);
    this.metrics.add('dsbc_config_reloads_total', { outcome: 'applied' });
    this.log.info({ needsRestart }, 'configuration reloaded');
    return { needsRestart };
  }

  #ownRequests(): OwnRequestsParts {
    return {
      link: (server) => this.servers.links.get(server),
      linkOf: (entry) => this.servers.linkOf(entry),
      now: this.#now,
      newId: randomUUID,
      names: new NameFaults(),
    };
  }

  #makeTokens(config: Config): FlowTokens {
    return new FlowTokens(config.nat.keys, (reason) =>
      this.metrics.add('dsbc_tokens_rejected_total', { reason }),
    );
  }
}

function failNoLogger(): never {
  throw new TypeError('no logger');
}
