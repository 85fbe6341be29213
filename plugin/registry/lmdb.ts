import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { open } from 'lmdb';
import type { Database, RootDatabase } from 'lmdb';
import { DsbcError } from '../errors';
import { silentLogger } from '../telemetry/logger';
import type { Logger } from '../telemetry/logger';
import { answerFor } from './answer';
import { checkCustomer, checkDecision, checkEntry, isStorableKey } from './entry';
import { Listeners } from './listeners';
import { LmdbChanges } from './lmdb-changes';
import type { ChangeRecord } from './lmdb-changes';
import { checkLmdbPath } from './lmdb-path';
import { probeLmdbFile } from './lmdb-probe';
import { decodeEntry, encodeEntry } from './lmdb-value';
import type {
  Customer,
  KeyKind,
  OperatorDecision,
  ProvisionedEntity,
  Registry,
  RegistryAnswer,
  RegistryChange,
  RegistryEntry,
  RegistryKey,
  StoredRecord,
} from './registry';

export interface LmdbOptions {
  /** The file; made if there is none. A second file, with `-lock` added to the name, lies beside it. */
  readonly path: string;
  readonly log?: Logger;
  /** Largest size of the file in MiB: address space, not disk. Default 16 384. */
  readonly mapSizeMb?: number;
  /** How often to look for changes that other processes made, in milliseconds. Default 250. */
  readonly pollMs?: number;
  /** How long a child process may read the file before it is opened, in milliseconds. Default 10 000. */
  readonly probeLimitMs?: number;
}

/** Entries read per step of a walk, so that a slow reader doesn't pin old pages of the file. */
const PAGE = 1000;

const decisionKey = ({ system, site, node }: OperatorDecision): string =>
  JSON.stringify([system, site, node ?? null]);

/** An error of lmdb whose `commitError` is a second promise, which rejects too and has to be consumed. */
function consumeCommitError(error: unknown): void {
  if (typeof error !== 'object' || error === null || !('commitError' in error)) return;
  Promise.resolve(error.commitError).catch(() => undefined);
}

class LmdbRegistry implements Registry {
  readonly driver = 'lmdb';
  readonly #path: string;
  readonly #root: RootDatabase;
  readonly #entries: Readonly<Record<KeyKind, Database<string, string>>>;
  readonly #customers: Database<Customer, string>;
  readonly #decisions: Database<OperatorDecision, string>;
  readonly #records: Database<string, string>;
  readonly #events: Database<number, string>;
  readonly #changes: LmdbChanges;
  readonly #changed: Listeners<RegistryChange>;
  readonly #decided: Listeners<readonly OperatorDecision[]>;
  readonly #pollMs: number;
  readonly #log: Logger;
  #poll: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(root: RootDatabase, options: LmdbOptions) {
    this.#root = root;
    this.#path = options.path;
    this.#log = options.log ?? silentLogger;
    this.#pollMs = options.pollMs ?? 250;
    const json = <V>(name: string): Database<V, string> => root.openDB<V, string>({ name, encoding: 'json' });
    this.#entries = {
      account: root.openDB<string, string>({ name: 'accounts', encoding: 'string' }),
      did: root.openDB<string, string>({ name: 'dids', encoding: 'string' }),
    };
    this.#customers = json('customers');
    this.#decisions = json('site_states');
    this.#records = root.openDB<string, string>({ name: 'provisioned', encoding: 'string' });
    this.#events = json('events');
    this.#changes = new LmdbChanges(
      root.openDB<ChangeRecord, number>({ name: 'changes', encoding: 'json' }),
      json('meta'),
      randomUUID(),
    );
    this.#changed = new Listeners(this.#log);
    this.#decided = new Listeners(this.#log);
  }

  #unavailable(cause: unknown): DsbcError {
    if (cause instanceof DsbcError) return cause;
    consumeCommitError(cause);
    return new DsbcError('DSBC_REGISTRY_UNAVAILABLE', `the registry file ${this.#path} cannot be used now`, {
      cause,
      details: { path: this.#path },
    });
  }

  /** Reads are synchronous in LMDB; faults reject. */
  #read<T>(work: () => T): Promise<T> {
    try {
      if (this.#closing !== undefined) {
        throw new DsbcError('DSBC_REGISTRY_UNAVAILABLE', 'the registry is closed');
      }
      return Promise.resolve(work());
    } catch (error) {
      return Promise.reject(this.#unavailable(error));
    }
  }

  /** Runs `work` in one write transaction; resolves when it is on disk. */
  async #write<T>(work: () => T): Promise<T> {
    if (this.#closing !== undefined) {
      throw new DsbcError('DSBC_REGISTRY_UNAVAILABLE', 'the registry is closed');
    }
    try {
      const result = await this.#root.transaction(work);
      await this.#root.flushed;
      return result;
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  lookup(key: RegistryKey): Promise<RegistryAnswer | null> {
    return this.#read(() => {
      const entry = this.#entry(key);
      if (entry === null) return null;
      const { customer } = entry;
      return answerFor(entry, customer === undefined ? null : (this.#customers.get(customer) ?? null));
    });
  }

  #entry(key: RegistryKey): RegistryEntry | null {
    if (!isStorableKey(key)) return null;
    const value = this.#entries[key.kind].get(key.value);
    return value === undefined ? null : decodeEntry(key, value);
  }

  get(key: RegistryKey): Promise<RegistryEntry | null> {
    return this.#read(() => this.#entry(key));
  }

  put(entry: RegistryEntry): Promise<void> {
    return this.putAll([entry]);
  }

  async putAll(entries: readonly RegistryEntry[]): Promise<void> {
    if (entries.length === 0) return;
    for (const entry of entries) checkEntry(entry);
    const keys = entries.map(({ kind, value }) => ({ kind, value }));
    await this.#write(() => {
      for (const entry of entries) this.#entries[entry.kind].putSync(entry.value, encodeEntry(entry));
      this.#changes.append({ entries: keys });
    });
    for (const key of keys) this.#changed.emit({ type: 'entry', key });
  }

  async delete(key: RegistryKey): Promise<boolean> {
    return (await this.#remove([key])) === 1;
  }

  async deleteAll(keys: readonly RegistryKey[]): Promise<void> {
    await this.#remove(keys);
  }

  async #remove(keys: readonly RegistryKey[]): Promise<number> {
    const storable = keys.filter(isStorableKey);
    const removed = await this.#write(() => {
      const gone = storable.filter((key) => this.#entries[key.kind].removeSync(key.value));
      if (gone.length > 0)
        this.#changes.append({ entries: gone.map(({ kind, value }) => ({ kind, value })) });
      return gone;
    });
    for (const { kind, value } of removed) this.#changed.emit({ type: 'entry', key: { kind, value } });
    return removed.length;
  }

  async *entries(): AsyncIterable<RegistryEntry> {
    for (const kind of ['account', 'did'] as const) {
      for await (const [value, stored] of this.#walk(this.#entries[kind])) {
        yield decodeEntry({ kind, value }, stored);
      }
    }
  }

  /** Walks a table page by page; each page is its own snapshot. */
  async *#walk<V>(table: Database<V, string>): AsyncIterable<[string, V]> {
    let after: string | undefined;
    for (;;) {
      const from = after;
      const page = await this.#read(() =>
        [...table.getRange({ ...(from === undefined ? {} : { start: from }), limit: PAGE + 1 })].filter(
          ({ key }) => key !== from,
        ),
      );
      for (const { key, value } of page) yield [key, value];
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      after = last.key;
    }
  }

  getCustomer(id: string): Promise<Customer | null> {
    return this.#read(() => this.#customers.get(id) ?? null);
  }

  async putCustomer(customer: Customer): Promise<void> {
    checkCustomer(customer);
    const { id, source, target, exported } = customer;
    await this.#write(() => {
      this.#customers.putSync(id, { id, source, target, exported });
      this.#changes.append({ customers: [id] });
    });
    this.#changed.emit({ type: 'customer', id });
  }

  async deleteCustomer(id: string): Promise<boolean> {
    const existed = await this.#write(() => {
      const removed = this.#customers.removeSync(id);
      if (removed) this.#changes.append({ customers: [id] });
      return removed;
    });
    if (existed) this.#changed.emit({ type: 'customer', id });
    return existed;
  }

  async *customers(): AsyncIterable<Customer> {
    for await (const [, customer] of this.#walk(this.#customers)) yield customer;
  }

  onChange(listener: (change: RegistryChange) => void): () => void {
    this.#follow();
    return this.#changed.add(listener);
  }

  onDecision(listener: (decisions: readonly OperatorDecision[]) => void): () => void {
    this.#follow();
    return this.#decided.add(listener);
  }

  /** Looks for changes of other processes from now on; the timer never keeps the process alive. */
  #follow(): void {
    if (this.#poll !== undefined || this.#closing !== undefined) return;
    this.#poll = setInterval(() => this.#hear(), this.#pollMs);
    this.#poll.unref();
  }

  #hear(): void {
    try {
      const { changes, decisions } = this.#changes.poll();
      for (const change of changes) this.#changed.emit(change);
      if (decisions) this.#decided.emit(this.#allDecisions());
    } catch (error) {
      this.#log.warn({ err: error, path: this.#path }, 'changes of other processes could not be read');
    }
  }

  #allDecisions(): readonly OperatorDecision[] {
    return [...this.#decisions.getRange()].map(({ value }) => value);
  }

  listDecisions(): Promise<readonly OperatorDecision[]> {
    return this.#read(() => this.#allDecisions());
  }

  async putDecision(decision: OperatorDecision): Promise<void> {
    checkDecision(decision);
    await this.#write(() => {
      this.#decisions.putSync(decisionKey(decision), { ...decision });
      this.#changes.append({ decisions: true });
    });
    this.#decided.emit(this.#allDecisions());
  }

  eventHandled(system: string, eventId: string): Promise<boolean> {
    return this.#read(() => this.#events.doesExist(JSON.stringify([system, eventId])));
  }

  async markEventHandled(system: string, eventId: string): Promise<void> {
    await this.#write(() => this.#events.putSync(JSON.stringify([system, eventId]), Date.now()));
  }

  amendRecord(entity: ProvisionedEntity, change: (record: string | null) => string): Promise<string> {
    const key = `${entity.kind}:${entity.value}`;
    return this.#write(() => {
      const record = change(this.#records.get(key) ?? null);
      this.#records.putSync(key, record);
      return record;
    });
  }

  readRecord(entity: ProvisionedEntity): Promise<StoredRecord> {
    return this.#read(() => ({ record: this.#records.get(`${entity.kind}:${entity.value}`) ?? null }));
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      clearInterval(this.#poll);
      await this.#root.close();
    })();
    return this.#closing;
  }
}

/**
 * Opens the registry file of one machine. A damaged file can end a process that reads it, so a child process reads
 * it first. Rejects with DSBC_REGISTRY_DAMAGED, or with DSBC_REGISTRY_UNAVAILABLE if it can't be opened.
 */
export async function openLmdbRegistry(options: LmdbOptions): Promise<Registry> {
  const { path, probeLimitMs } = options;
  checkLmdbPath(path);
  if (existsSync(path) && statSync(path).size > 0) {
    await probeLmdbFile(path, probeLimitMs === undefined ? {} : { limitMs: probeLimitMs });
  }
  try {
    const root = open({
      path,
      noSubdir: true,
      maxDbs: 16,
      mapSize: (options.mapSizeMb ?? 16_384) * 1_048_576,
      // With it, a commit that fails (disk full) leaves a rejection inside lmdb that nobody can handle.
      eventTurnBatching: false,
    });
    return new LmdbRegistry(root, options);
  } catch (error) {
    throw new DsbcError('DSBC_REGISTRY_UNAVAILABLE', `the registry file ${path} cannot be opened`, {
      cause: error,
      details: { path },
    });
  }
}
