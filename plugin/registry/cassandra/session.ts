import {
  BulkheadRejectedError,
  CircuitState,
  ConsecutiveBreaker,
  bulkhead,
  circuitBreaker,
  handleWhen,
} from 'cockatiel';
import type { Client } from 'cassandra-driver';
import { DsbcError } from '../../errors';
import { monotonicClock } from '../../telemetry/clock';
import type { MonotonicClock } from '../../telemetry/clock';
import { silentLogger } from '../../telemetry/logger';
import type { Logger } from '../../telemetry/logger';
import { withDeadline } from './deadline';
import { closeDriver, connectDriver, createDriver } from './driver';
import { isOutage, unavailable } from './faults';
import type { FilledOptions } from './options';

/** With no connected node for so long, a new driver is made, which resolves and tries the contact points afresh. */
const RENEW_AFTER_MS = 1500;
/** Reasons for having no connection that are told of in a row. */
const MOST_REASONS = 10;
/** Longest wait for a new driver to connect, in ms, beyond the time-out of one connection. */
const CONNECT_GRACE_MS = 9000;

/**
 * Queries to Cassandra with a bound on everything: how many at once, how long each, and how long a dead cluster is
 * asked. While the breaker is open queries fail at once, and a probe of its own finds out when to close it, so that no
 * caller waits for that.
 */
export class CassandraSession {
  readonly #options: FilledOptions;
  readonly #log: Logger;
  readonly #now: MonotonicClock;
  readonly #bulkhead;
  readonly #breaker;
  readonly #probeQuery: string;
  #client: Client;
  #connecting: Promise<void> | undefined;
  #connected = false;
  #unreachableSince: number | undefined;
  #probe: NodeJS.Timeout | undefined;
  #reportedAway = false;
  /** Why no connection can be made now, and which reasons were told of since there was one. */
  #failure: DsbcError | undefined;
  readonly #told = new Set<string>();
  #closing: Promise<void> | undefined;

  constructor(options: FilledOptions, probeQuery: string) {
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#now = options.clock ?? monotonicClock;
    this.#probeQuery = probeQuery;
    this.#client = createDriver(options, { keyspace: options.keyspace });
    this.#bulkhead = bulkhead(options.maxConcurrent, options.maxConcurrent * 4);
    this.#breaker = circuitBreaker(handleWhen(isOutage), {
      halfOpenAfter: options.probeMs,
      breaker: new ConsecutiveBreaker(options.breakerThreshold),
    });
    this.#breaker.onBreak(() => {
      // A probe that fails opens it again: that is no news.
      if (!this.#reportedAway) {
        this.#log.warn(
          { contactPoints: options.contactPoints },
          'Cassandra is away: queries fail at once until it is back',
        );
      }
      this.#reportedAway = true;
      this.#probeSoon();
    });
    this.#breaker.onReset(() => {
      this.#reportedAway = false;
      this.#failure = undefined;
      this.#told.clear();
      this.#log.info({}, 'Cassandra is back');
    });
  }

  /** Whether queries are sent at all now. */
  get available(): boolean {
    return this.#closing === undefined && this.#breaker.state === CircuitState.Closed;
  }

  /** Why no query could be answered now; undefined while some node is connected and answers. */
  get trouble(): string | undefined {
    if (this.#closing !== undefined) return 'the registry is closed';
    if (!this.#connected || !this.available) return this.#away().message;
    if (this.#client.getState().getConnectedHosts().length > 0) return undefined;
    return this.#failure?.message ?? 'no node of Cassandra is connected';
  }

  /** Makes the first connection. If it fails, the session goes on trying; the error says why it failed. */
  async connect(): Promise<void> {
    this.#connecting ??= this.#open(this.#client);
    const first = this.#connecting;
    try {
      await first;
    } catch (error) {
      this.#connected = false;
      this.#unreachableSince ??= this.#now();
      this.#probeSoon();
      this.#failure = unavailable(error, this.#options);
      this.#told.add(this.#failure.message);
      throw this.#failure;
    } finally {
      this.#connecting = undefined;
    }
  }

  async #open(client: Client): Promise<void> {
    await connectDriver(client, this.#options.connectTimeoutMs + CONNECT_GRACE_MS);
    this.#connected = true;
    this.#failure = undefined;
    this.#told.clear();
  }

  /**
   * Runs `work` on the driver. Rejects with DSBC_REGISTRY_UNAVAILABLE: no answer within `deadlineMs`, too many under way,
   * or the breaker is open.
   * @param options.queues false: it goes beside all that wait, and counts among none. For the few on which the group lives:
   *   behind a storm of look-ups the witness would be lost, the virtual IP move, and the storm with it.
   */
  async run<T>(
    deadlineMs: number,
    work: (client: Client) => Promise<T>,
    { queues = true }: { readonly queues?: boolean } = {},
  ): Promise<T> {
    if (this.#closing !== undefined)
      throw new DsbcError('DSBC_REGISTRY_UNAVAILABLE', 'the registry is closed');
    if (!this.available) throw this.#away();
    const begun = this.#now();
    const attempt = async (): Promise<T> => {
      const left = deadlineMs - (this.#now() - begun);
      // Waited in the queue too long; the breaker may also have opened meanwhile.
      if (left <= 0 || !this.available) throw this.#away();
      if (this.#connecting !== undefined) await withDeadline(this.#connecting, left);
      if (!this.#connected) throw this.#away();
      return this.#breaker.execute(() => withDeadline(work(this.#client), left));
    };
    try {
      return await (queues ? this.#bulkhead.execute(attempt) : attempt());
    } catch (error) {
      if (error instanceof BulkheadRejectedError) {
        throw new DsbcError('DSBC_REGISTRY_UNAVAILABLE', 'too many queries to Cassandra are under way', {
          cause: error,
        });
      }
      throw unavailable(error, this.#options);
    }
  }

  #away(): DsbcError {
    return (
      this.#failure ??
      new DsbcError('DSBC_REGISTRY_UNAVAILABLE', 'Cassandra does not answer; it is probed until it does')
    );
  }

  /** Each reason is told once: that nodes refuse connections, that a password is wrong, that tables are missing. */
  #cannotConnect(error: unknown): void {
    const failure = unavailable(error, this.#options);
    this.#failure = failure;
    if (this.#told.has(failure.message) || this.#told.size >= MOST_REASONS) return;
    this.#told.add(failure.message);
    this.#log.warn({ err: failure }, 'no connection to Cassandra can be made; it is tried until it can');
  }

  #probeSoon(): void {
    if (this.#probe !== undefined || this.#closing !== undefined) return;
    this.#probe = setTimeout(() => {
      void this.#probeOnce().finally(() => {
        this.#probe = undefined;
        if (!this.available || !this.#connected) this.#probeSoon();
      });
    }, this.#options.probeMs);
    this.#probe.unref();
  }

  /** Never rejects. */
  async #probeOnce(): Promise<void> {
    await this.#renewIfUnreachable();
    if (!this.#connected) return;
    try {
      await this.#breaker.execute(() =>
        withDeadline(
          this.#client.execute(this.#probeQuery, [], {
            isIdempotent: true,
            readTimeout: this.#options.readTimeoutMs,
          }),
          this.#options.deadlineMs,
        ),
      );
    } catch (error) {
      this.#log.debug({ err: error }, 'Cassandra probe failed');
    }
  }

  async #renewIfUnreachable(): Promise<void> {
    const reachable = this.#connected && this.#client.getState().getConnectedHosts().length > 0;
    if (reachable) this.#unreachableSince = undefined;
    else this.#unreachableSince ??= this.#now();
    if (this.#unreachableSince === undefined) return;
    if (this.#connected && this.#now() - this.#unreachableSince < RENEW_AFTER_MS) return;
    const fresh = createDriver(this.#options, { keyspace: this.#options.keyspace });
    try {
      await this.#open(fresh);
    } catch (error) {
      this.#cannotConnect(error);
      void closeDriver(fresh).catch(() => undefined);
      return;
    }
    const old = this.#client;
    this.#client = fresh;
    this.#unreachableSince = undefined;
    void closeDriver(old).catch(() => undefined);
    if (this.#closing !== undefined) await closeDriver(fresh);
  }

  /** Idempotent. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      clearTimeout(this.#probe);
      // The driver waits for nodes that may never answer, and closes nothing while it connects.
      const closed = Promise.resolve(this.#connecting)
        .catch(() => undefined)
        .then(() => closeDriver(this.#client));
      await withDeadline(closed, this.#options.connectTimeoutMs).catch(() => undefined);
    })();
    return this.#closing;
  }
}
