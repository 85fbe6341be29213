import { Client, auth, policies, types } from 'cassandra-driver';
import { withDeadline } from './deadline';
import type { FilledOptions } from './options';

/**
 * The server gives writes their time, not this machine: an instance whose clock is ahead would otherwise hide what
 * others write after it. So a repeated write is a later one, and writes are never repeated behind our back.
 * (`null` means that to the driver; its types don't know.)
 */
const serverTimestamps = Object.assign(new policies.timestampGeneration.MonotonicTimestampGenerator(0, 0), {
  next: () => null,
});

/** Longest wait in ms for a node's answer to anything but a look-up. */
const PATIENT_READ_MS = 2000;

/** The driver with time-outs for calls instead of its own, which are for batch jobs. */
export function createDriver(options: FilledOptions, more: { keyspace?: string } = {}): Client {
  const client = newClient(options, more);
  client.on('hostRemove', abandon);
  return client;
}

/** For so long after its end a client may still get through somewhere, in ms. */
const SWEEP_MS = 60_000;

/**
 * Ends the pool of a node. A node that is found again by its contact point gets a new Host in the driver (4.10), and the
 * old one is forgotten with its pool, which goes on connecting for ever, past the end of the client. `shutdown` is not
 * in the driver's types.
 */
function abandon(host: unknown): void {
  (host as { shutdown(drain: boolean): Promise<void> }).shutdown(false).catch(() => undefined);
}

/**
 * Makes the first connection of a client. Rejects with DeadlineExceeded after `ms`; a client that gets through later is
 * closed then, since the driver's `shutdown` does nothing for one that is still connecting.
 */
export async function connectDriver(client: Client, ms: number): Promise<void> {
  const connecting = client.connect();
  try {
    await withDeadline(connecting, ms);
  } catch (error) {
    void connecting.then(() => closeDriver(client)).catch(() => undefined);
    throw error;
  }
}

/**
 * Ends a client. One whose control connection was being made anew finishes that in spite of `shutdown` and opens pools
 * again: those are looked for for a while.
 */
export async function closeDriver(client: Client): Promise<void> {
  const until = performance.now() + SWEEP_MS;
  const sweep = setInterval(() => {
    // Missing in a client that never connected, whatever the types say.
    const hosts = client.hosts as Client['hosts'] | undefined;
    for (const host of hosts?.values() ?? []) abandon(host);
    if (performance.now() > until) clearInterval(sweep);
  }, 1000);
  sweep.unref();
  await client.shutdown();
}

function newClient(options: FilledOptions, more: { keyspace?: string }): Client {
  const { contactPoints, localDatacenter, username, password, tls } = options;
  const { ConstantSpeculativeExecutionPolicy } = policies.speculativeExecution;
  return new Client({
    contactPoints: [...contactPoints],
    localDataCenter: localDatacenter,
    ...(more.keyspace === undefined ? {} : { keyspace: more.keyspace }),
    ...(username === undefined
      ? {}
      : { authProvider: new auth.PlainTextAuthProvider(username, password ?? '') }),
    ...(tls === undefined ? {} : { sslOptions: tls }),
    policies: {
      loadBalancing: new policies.loadBalancing.DefaultLoadBalancingPolicy({ localDc: localDatacenter }),
      reconnection: new policies.reconnection.ExponentialReconnectionPolicy(
        250,
        options.reconnectMaxMs,
        false,
      ),
      speculativeExecution: new ConstantSpeculativeExecutionPolicy(options.speculativeDelayMs, 1),
      timestampGeneration: serverTimestamps,
    },
    pooling: {
      coreConnectionsPerHost: { [types.distance.local]: 1, [types.distance.remote]: 0 },
      // Idle connections notice a dead node by this.
      heartBeatInterval: 1000,
    },
    socketOptions: {
      connectTimeout: options.connectTimeoutMs,
      // For what the driver asks by itself, of a node that has just started too; look-ups say theirs.
      readTimeout: Math.max(options.readTimeoutMs, PATIENT_READ_MS),
      // Time-outs in a row after which a connection is given up (default 64).
      defunctReadTimeoutThreshold: 8,
    },
    queryOptions: {
      consistency: types.consistencies[consistencyName(options.consistency)],
      prepare: true,
      isIdempotent: false,
    },
    isMetadataSyncEnabled: false,
    // A restarted node has forgotten statements; the driver prepares them again when one is used.
    rePrepareOnUp: true,
  });
}

type DriverConsistency = keyof typeof types.consistencies;

function consistencyName(name: FilledOptions['consistency']): DriverConsistency {
  return name
    .toLowerCase()
    .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as DriverConsistency;
}
