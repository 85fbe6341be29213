/** The two kinds of key. */
export const KEY_KINDS = ['account', 'did'] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

export interface RegistryKey {
  readonly kind: KeyKind;
  /** Normalised by routing before it comes here; compared byte by byte, never by prefix. */
  readonly value: string;
}

/** What the forwarding registry says of a key. */
export interface RegistryAnswer {
  readonly kind: KeyKind;
  /** The system that serves it now, a customer's exported status already taken into account. */
  readonly system: string;
  /** For a DID: the account it rings, which is then the affinity key. */
  readonly account?: string;
  /** A site this key is pinned to. */
  readonly site?: string;
  readonly customer?: string;
  readonly blocked?: boolean;
}

/** What is stored for a key. `system` is where it lives unless its customer's state says otherwise. */
export interface RegistryEntry {
  readonly kind: KeyKind;
  readonly value: string;
  readonly system: string;
  readonly account?: string;
  readonly site?: string;
  readonly customer?: string;
  readonly blocked?: boolean;
}

/** A customer that exists in two systems; `exported` says where it is active. */
export interface Customer {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly exported: boolean;
}

/** The narrow look-up the call path uses. `null`: the registry knows that there is none. Rejects with DSBC_REGISTRY_UNAVAILABLE. */
export interface RegistryLookup {
  lookup(key: RegistryKey): Promise<RegistryAnswer | null>;
}

/** One change, as other instances and the cache hear of it. */
export type RegistryChange =
  | { readonly type: 'entry'; readonly key: RegistryKey }
  | { readonly type: 'customer'; readonly id: string }
  | { readonly type: 'all' };

/**
 * Writing and walking; used by the CLI, provisioning and import. Writes reject with DSBC_REGISTRY_INVALID (bad entry)
 * or DSBC_REGISTRY_UNAVAILABLE (outcome unknown: repeat it); once one has resolved it is durable and this process's
 * listeners have been told.
 */
export interface RegistryStore extends RegistryLookup {
  readonly driver: 'memory' | 'lmdb' | 'cassandra';
  /** Why it can't be asked now, known before a question fails; stores that are away now and then have it. */
  readonly trouble?: string | undefined;
  get(key: RegistryKey): Promise<RegistryEntry | null>;
  /** `at`: the moment it counts as written, so that an older write that is carried out later does not win; default: now. */
  put(entry: RegistryEntry, at?: WriteTime): Promise<void>;
  /** Resolves to whether there was one. */
  delete(key: RegistryKey, at?: WriteTime): Promise<boolean>;
  /** Many entries, cheaper than one by one; not atomic: after a rejection some may be stored, and a repeat is harmless. */
  putAll(entries: readonly RegistryEntry[]): Promise<void>;
  /** Removes many; keys that don't exist are ignored. */
  deleteAll(keys: readonly RegistryKey[]): Promise<void>;
  /** Walks all entries, in no promised order; what is written meanwhile may or may not be seen. */
  entries(): AsyncIterable<RegistryEntry>;
  getCustomer(id: string): Promise<Customer | null>;
  putCustomer(customer: Customer, at?: WriteTime): Promise<void>;
  deleteCustomer(id: string, at?: WriteTime): Promise<boolean>;
  customers(): AsyncIterable<Customer>;
  /** Calls back for changes made by any process; returns a function that ends it. */
  onChange(listener: (change: RegistryChange) => void): () => void;
  close(): Promise<void>;
}

/** An operator's decision about a site or one of its nodes. */
export const OPERATOR_STATES = ['active', 'maintenance', 'drain'] as const;
export type OperatorState = (typeof OPERATOR_STATES)[number];

export interface OperatorDecision {
  readonly system: string;
  readonly site: string;
  /** Absent: the whole site. */
  readonly node?: string;
  readonly state: OperatorState;
  readonly by: string;
  /** ISO 8601, for people only. */
  readonly at: string;
  readonly why: string;
}

/** Operator states live beside the registry, so that every instance follows and a restart keeps them. */
export interface OperatorStates {
  listDecisions(): Promise<readonly OperatorDecision[]>;
  putDecision(decision: OperatorDecision): Promise<void>;
  onDecision(listener: (decisions: readonly OperatorDecision[]) => void): () => void;
}

/** What provisioning handlers keep records about. */
export type ProvisionedKind = KeyKind | 'customer';
export interface ProvisionedEntity {
  readonly kind: ProvisionedKind;
  readonly value: string;
}

/** Microseconds since 1970, as the store counts them. */
export type WriteTime = bigint;

export interface StoredRecord {
  /** null: none. */
  readonly record: string | null;
  /** When it was written, in stores that may carry out a write after they have given it up. */
  readonly at?: WriteTime;
}

/** Records of provisioning: which events were handled, and what each system said of each entity. */
export interface ProvisioningRecords {
  /** Whether this event of that system was handled before. Forgotten after days. */
  eventHandled(system: string, eventId: string): Promise<boolean>;
  markEventHandled(system: string, eventId: string): Promise<void>;
  /**
   * Changes an entity's record with compare-and-set: `change` gets the record now stored (null: none) and returns
   * the new one, and is called again when somebody else was quicker. Resolves to the record as stored.
   */
  amendRecord(entity: ProvisionedEntity, change: (record: string | null) => string): Promise<string>;
  readRecord(entity: ProvisionedEntity): Promise<StoredRecord>;
}

/** Everything one driver serves; those who use it take the narrow interface they need. */
export interface Registry extends RegistryStore, OperatorStates, ProvisioningRecords {}
