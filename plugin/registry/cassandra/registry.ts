import { types } from 'cassandra-driver';
import { silentLogger } from '../../telemetry/logger';
import type { Logger } from '../../telemetry/logger';
import { answerFor } from '../answer';
import { checkCustomer, checkDecision, checkEntry, isStorableKey, plainEntry } from '../entry';
import { Listeners } from '../listeners';
import type {
  Customer,
  OperatorDecision,
  ProvisionedEntity,
  Registry,
  RegistryAnswer,
  RegistryChange,
  RegistryEntry,
  RegistryKey,
  StoredRecord,
  WriteTime,
} from '../registry';
import { CassandraChanges } from './changes';
import type { Heard } from './changes';
import { fillOptions } from './options';
import type { CassandraOptions, FilledOptions } from './options';
import { CassandraRecords } from './records';
import { customerOf, entryOf } from './rows';
import { CassandraSession } from './session';
import { SiteStates } from './site-states';
import { CassandraLeases } from './witness';

/** In quotes: to CQL the bare word is a keyword. */
const ENTRIES = '"entries"';
const SELECT_ENTRY = `SELECT kind, value, system, account, site, customer, blocked FROM ${ENTRIES} WHERE kind = ? AND value = ?`;
const SELECT_CUSTOMER = 'SELECT id, source, target, exported FROM customers WHERE id = ?';
const INSERT_ENTRY = `INSERT INTO ${ENTRIES} (kind, value, system, account, site, customer, blocked) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const WHERE_ENTRY = 'WHERE kind = ? AND value = ?';
/** What a probe asks while Cassandra is away: a look-up, with its consistency. */
const PROBE = `SELECT system FROM ${ENTRIES} WHERE kind = 'account' AND value = 'probe'`;

const INSERT_CUSTOMER = 'INSERT INTO customers (id, source, target, exported) VALUES (?, ?, ?, ?)';

/** The clause, and its value, for a write that counts as made at a given moment. */
const using = (at: WriteTime | undefined): string => (at === undefined ? '' : ' USING TIMESTAMP ?');
const stamp = (at: WriteTime | undefined): readonly unknown[] =>
  at === undefined ? [] : [types.Long.fromString(String(at))];

/** Rows of a bulk write under way at once, and keys told of in one row of changes. */
const BULK = 64;
const KEYS_PER_CHANGE = 500;

/** A registry in Cassandra, with the leases for the group's witness beside it. */
export interface CassandraRegistry extends Registry {
  readonly leases: CassandraLeases;
  /** False while queries fail at once because Cassandra is away. */
  readonly available: boolean;
}

class Store implements CassandraRegistry {
  readonly driver = 'cassandra';
  readonly leases: CassandraLeases;
  readonly #session: CassandraSession;
  readonly #options: FilledOptions;
  readonly #changes: CassandraChanges;
  readonly #states: SiteStates;
  readonly #records: CassandraRecords;
  readonly #changed: Listeners<RegistryChange>;
  readonly #decided: Listeners<readonly OperatorDecision[]>;
  readonly #log: Logger;
  #retell: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(session: CassandraSession, options: FilledOptions) {
    this.#session = session;
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#changed = new Listeners(this.#log);
    this.#decided = new Listeners(this.#log);
    this.#changes = new CassandraChanges(session, options, (heard) => this.#hear(heard));
    this.#states = new SiteStates(session, options);
    this.#records = new CassandraRecords(session, options);
    this.leases = new CassandraLeases(session, options);
  }

  get available(): boolean {
    return this.#session.available;
  }

  get trouble(): string | undefined {
    return this.#session.trouble;
  }

  #readRow(query: string, params: readonly unknown[]): Promise<types.ResultSet> {
    return this.#session.run(this.#options.deadlineMs, (client) =>
      client.execute(query, [...params], { isIdempotent: true, readTimeout: this.#options.readTimeoutMs }),
    );
  }

  #write(query: string, params: readonly unknown[]): Promise<types.ResultSet> {
    return this.#session.run(this.#options.writeDeadlineMs, (client) => client.execute(query, [...params]));
  }

  async lookup(key: RegistryKey): Promise<RegistryAnswer | null> {
    const entry = await this.get(key);
    if (entry === null) return null;
    return answerFor(entry, entry.customer === undefined ? null : await this.getCustomer(entry.customer));
  }

  async get(key: RegistryKey): Promise<RegistryEntry | null> {
    if (!isStorableKey(key)) return null;
    const result = await this.#readRow(SELECT_ENTRY, [key.kind, key.value]);
    return result.rowLength === 0 ? null : entryOf(result.first());
  }

  put(entry: RegistryEntry, at?: WriteTime): Promise<void> {
    return this.#putAll([entry], at);
  }

  putAll(entries: readonly RegistryEntry[]): Promise<void> {
    return this.#putAll(entries);
  }

  async #putAll(entries: readonly RegistryEntry[], at?: WriteTime): Promise<void> {
    for (const entry of entries) checkEntry(entry);
    await this.#bulk(entries, (entry) => {
      const { kind, value, system, account, site, customer, blocked } = plainEntry(entry);
      const optional = [account ?? null, site ?? null, customer ?? null, blocked ?? null];
      return this.#write(INSERT_ENTRY + using(at), [kind, value, system, ...optional, ...stamp(at)]);
    });
  }

  async delete(key: RegistryKey, at?: WriteTime): Promise<boolean> {
    const known = (await this.get(key)) !== null;
    // With a moment also if there is none: an older write may still be on its way.
    if (known || at !== undefined) await this.#deleteAll([key], at);
    return known;
  }

  deleteAll(keys: readonly RegistryKey[]): Promise<void> {
    return this.#deleteAll(keys);
  }

  async #deleteAll(keys: readonly RegistryKey[], at?: WriteTime): Promise<void> {
    const query = `DELETE FROM ${ENTRIES}${using(at)} ${WHERE_ENTRY}`;
    await this.#bulk(keys.filter(isStorableKey), ({ kind, value }) =>
      this.#write(query, [...stamp(at), kind, value]),
    );
  }

  /** Writes each, a bounded number at once, and then tells of all: who hears of it finds it written. */
  async #bulk<T extends RegistryKey>(
    items: readonly T[],
    write: (item: T) => Promise<unknown>,
  ): Promise<void> {
    const keys = items.map(({ kind, value }) => ({ kind, value }));
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let item = items[next++]; item !== undefined; item = items[next++]) await write(item);
    };
    try {
      await Promise.all(Array.from({ length: Math.min(BULK, items.length) }, worker));
      for (let at = 0; at < keys.length; at += KEYS_PER_CHANGE) {
        const told = keys.slice(at, at + KEYS_PER_CHANGE).map(({ kind, value }) => [kind, value] as const);
        await this.#changes.append({ entries: told });
      }
    } finally {
      // Also after a failure: what of it was written is not known.
      for (const key of keys) this.#changed.emit({ type: 'entry', key });
    }
  }

  async *entries(): AsyncIterable<RegistryEntry> {
    const query = `SELECT kind, value, system, account, site, customer, blocked FROM ${ENTRIES}`;
    for await (const row of this.#scan(query)) yield entryOf(row);
  }

  async *customers(): AsyncIterable<Customer> {
    for await (const row of this.#scan('SELECT id, source, target, exported FROM customers'))
      yield customerOf(row);
  }

  /** Page by page, each with its own deadline. */
  async *#scan(query: string): AsyncIterable<types.Row> {
    let page = '';
    do {
      const state = page;
      const result = await this.#session.run(this.#options.writeDeadlineMs, (client) =>
        client.execute(query, [], {
          isIdempotent: true,
          fetchSize: 1000,
          readTimeout: this.#options.writeDeadlineMs,
          ...(state === '' ? {} : { pageState: state }),
        }),
      );
      yield* result.rows;
      page = result.pageState;
      // After the last page it is null, which the driver's types don't say.
    } while (page);
  }

  async getCustomer(id: string): Promise<Customer | null> {
    if (!isStorableKey({ kind: 'account', value: id })) return null;
    const result = await this.#readRow(SELECT_CUSTOMER, [id]);
    return result.rowLength === 0 ? null : customerOf(result.first());
  }

  async putCustomer(customer: Customer, at?: WriteTime): Promise<void> {
    checkCustomer(customer);
    const { id, source, target, exported } = customer;
    await this.#changeCustomer(id, () =>
      this.#write(INSERT_CUSTOMER + using(at), [id, source, target, exported, ...stamp(at)]),
    );
  }

  async deleteCustomer(id: string, at?: WriteTime): Promise<boolean> {
    const known = (await this.getCustomer(id)) !== null;
    const query = `DELETE FROM customers${using(at)} WHERE id = ?`;
    if (known || at !== undefined)
      await this.#changeCustomer(id, () => this.#write(query, [...stamp(at), id]));
    return known;
  }

  async #changeCustomer(id: string, write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
      await this.#changes.append({ customers: [id] });
    } finally {
      this.#changed.emit({ type: 'customer', id });
    }
  }

  onChange(listener: (change: RegistryChange) => void): () => void {
    this.#changes.start();
    return this.#changed.add(listener);
  }

  onDecision(listener: (decisions: readonly OperatorDecision[]) => void): () => void {
    this.#changes.start();
    return this.#decided.add(listener);
  }

  #hear({ changes, decisions }: Heard): void {
    for (const change of changes) this.#changed.emit(change);
    if (decisions) void this.#tellDecisions();
  }

  /** Never rejects: what could not be read is read again soon. */
  async #tellDecisions(): Promise<void> {
    clearTimeout(this.#retell);
    if (this.#closed) return;
    try {
      this.#decided.emit(await this.#states.list());
    } catch (error) {
      this.#log.warn({ err: error }, 'operator states could not be read; they stay as they were for now');
      this.#retell = setTimeout(() => void this.#tellDecisions(), this.#options.changesPollMs);
      this.#retell.unref();
    }
  }

  listDecisions(): Promise<readonly OperatorDecision[]> {
    return this.#states.list();
  }

  async putDecision(decision: OperatorDecision): Promise<void> {
    checkDecision(decision);
    await this.#states.put(decision);
    await this.#changes.append({ decisions: true });
    await this.#tellDecisions();
  }

  eventHandled(system: string, eventId: string): Promise<boolean> {
    return this.#records.eventHandled(system, eventId);
  }

  markEventHandled(system: string, eventId: string): Promise<void> {
    return this.#records.markEventHandled(system, eventId);
  }

  amendRecord(entity: ProvisionedEntity, change: (record: string | null) => string): Promise<string> {
    return this.#records.amendRecord(entity, change);
  }

  readRecord(entity: ProvisionedEntity): Promise<StoredRecord> {
    return this.#records.readRecord(entity);
  }

  /** Listening to other instances begins when somebody listens here; this waits until it has. */
  listening(): Promise<void> {
    return this.#changes.begun();
  }

  close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retell);
    this.#changes.stop();
    return this.#session.close();
  }
}

/**
 * Opens the registry in Cassandra. If it can't be reached now, this resolves all the same, look-ups reject with
 * DSBC_REGISTRY_UNAVAILABLE, and it is used as soon as it is back; with `mustConnect` (for commands) it rejects instead.
 */
export async function openCassandraRegistry(
  given: CassandraOptions,
  { mustConnect = false } = {},
): Promise<CassandraRegistry> {
  const options = fillOptions(given);
  const session = new CassandraSession(options, PROBE);
  const store = new Store(session, options);
  try {
    await session.connect();
    await store.listening();
  } catch (error) {
    if (mustConnect) {
      await store.close();
      throw error;
    }
    (options.log ?? silentLogger).warn({ err: error }, 'Cassandra cannot be reached yet');
  }
  return store;
}
