import { DsbcError } from '../errors';
import { silentLogger } from '../telemetry/logger';
import type { Logger } from '../telemetry/logger';
import { answerFor } from './answer';
import { checkCustomer, checkDecision, checkEntry, plainEntry } from './entry';
import { Listeners } from './listeners';
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
} from './registry';

const text = (key: { readonly kind: string; readonly value: string }): string => `${key.kind}:${key.value}`;

/** A registry that lives and dies with the process: for tests and trials. */
class MemoryRegistry implements Registry {
  readonly driver = 'memory';
  readonly #entries = new Map<string, RegistryEntry>();
  readonly #customers = new Map<string, Customer>();
  readonly #decisions = new Map<string, OperatorDecision>();
  readonly #records = new Map<string, string>();
  readonly #events = new Set<string>();
  readonly #changed: Listeners<RegistryChange>;
  readonly #decided: Listeners<readonly OperatorDecision[]>;
  #closed = false;

  constructor(log: Logger) {
    this.#changed = new Listeners(log);
    this.#decided = new Listeners(log);
  }

  /** Faults reject instead of being thrown, as they do with drivers that do I/O. */
  #run<T>(work: () => T): Promise<T> {
    return new Promise((resolve) => {
      if (this.#closed) throw new DsbcError('DSBC_REGISTRY_UNAVAILABLE', 'the registry is closed');
      resolve(work());
    });
  }

  lookup(key: RegistryKey): Promise<RegistryAnswer | null> {
    return this.#run(() => {
      const entry = this.#entries.get(text(key));
      if (entry === undefined) return null;
      const customer = entry.customer === undefined ? null : (this.#customers.get(entry.customer) ?? null);
      return answerFor(entry, customer);
    });
  }

  get(key: RegistryKey): Promise<RegistryEntry | null> {
    return this.#run(() => this.#entries.get(text(key)) ?? null);
  }

  put(entry: RegistryEntry): Promise<void> {
    return this.putAll([entry]);
  }

  putAll(entries: readonly RegistryEntry[]): Promise<void> {
    return this.#run(() => {
      for (const entry of entries) checkEntry(entry);
      for (const entry of entries) {
        this.#entries.set(text(entry), plainEntry(entry));
        this.#changed.emit({ type: 'entry', key: { kind: entry.kind, value: entry.value } });
      }
    });
  }

  delete(key: RegistryKey): Promise<boolean> {
    return this.#run(() => this.#remove(key));
  }

  deleteAll(keys: readonly RegistryKey[]): Promise<void> {
    return this.#run(() => {
      for (const key of keys) this.#remove(key);
    });
  }

  #remove(key: RegistryKey): boolean {
    const existed = this.#entries.delete(text(key));
    if (existed) this.#changed.emit({ type: 'entry', key: { kind: key.kind, value: key.value } });
    return existed;
  }

  async *entries(): AsyncIterable<RegistryEntry> {
    await this.#run(() => undefined);
    yield* this.#entries.values();
  }

  getCustomer(id: string): Promise<Customer | null> {
    return this.#run(() => this.#customers.get(id) ?? null);
  }

  putCustomer(customer: Customer): Promise<void> {
    return this.#run(() => {
      checkCustomer(customer);
      const { id, source, target, exported } = customer;
      this.#customers.set(id, Object.freeze({ id, source, target, exported }));
      this.#changed.emit({ type: 'customer', id });
    });
  }

  deleteCustomer(id: string): Promise<boolean> {
    return this.#run(() => {
      const existed = this.#customers.delete(id);
      if (existed) this.#changed.emit({ type: 'customer', id });
      return existed;
    });
  }

  async *customers(): AsyncIterable<Customer> {
    await this.#run(() => undefined);
    yield* this.#customers.values();
  }

  onChange(listener: (change: RegistryChange) => void): () => void {
    return this.#changed.add(listener);
  }

  listDecisions(): Promise<readonly OperatorDecision[]> {
    return this.#run(() => [...this.#decisions.values()]);
  }

  putDecision(decision: OperatorDecision): Promise<void> {
    return this.#run(() => {
      checkDecision(decision);
      const { system, site, node } = decision;
      this.#decisions.set(JSON.stringify([system, site, node ?? null]), Object.freeze({ ...decision }));
      this.#decided.emit([...this.#decisions.values()]);
    });
  }

  onDecision(listener: (decisions: readonly OperatorDecision[]) => void): () => void {
    return this.#decided.add(listener);
  }

  eventHandled(system: string, eventId: string): Promise<boolean> {
    return this.#run(() => this.#events.has(JSON.stringify([system, eventId])));
  }

  markEventHandled(system: string, eventId: string): Promise<void> {
    return this.#run(() => {
      this.#events.add(JSON.stringify([system, eventId]));
    });
  }

  amendRecord(entity: ProvisionedEntity, change: (record: string | null) => string): Promise<string> {
    return this.#run(() => {
      const record = change(this.#records.get(text(entity)) ?? null);
      this.#records.set(text(entity), record);
      return record;
    });
  }

  readRecord(entity: ProvisionedEntity): Promise<StoredRecord> {
    return this.#run(() => ({ record: this.#records.get(text(entity)) ?? null }));
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }
}

/** An empty registry in memory. */
export function createMemoryRegistry(options: { log?: Logger } = {}): Registry {
  return new MemoryRegistry(options.log ?? silentLogger);
}
