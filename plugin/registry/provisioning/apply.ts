import { activeSystem } from '../answer';
import { plainEntry } from '../entry';
import type {
  Customer,
  ProvisionedEntity,
  ProvisioningRecords,
  RegistryEntry,
  RegistryStore,
  WriteTime,
} from '../registry';
import { attributesBefore, claimFields, claimRename, customersOf, readRecord, renamesAfter } from './claims';
import type { ActiveAt, ClaimRecord, ClaimValues, Stamp } from './claims';
import type { ProvisioningEvent } from './event';
import { customerFrom, entryFrom } from './outcome';

export type ProvisioningStore = ProvisioningRecords &
  Pick<RegistryStore, 'get' | 'put' | 'delete' | 'getCustomer' | 'putCustomer' | 'deleteCustomer'>;

/** How many ids of one account are followed: more than anybody gives it, and an end for a circle. */
const MAX_RENAMES = 64;
/** How often an entry is written anew because another writer changed its record meanwhile. */
const MAX_REWRITES = 20;

type Change = (record: ClaimRecord) => void;

const BEFORE_ALL_EVENTS: Stamp = { event: 0 };

/** What an entry says, as one system's claims. */
const whole = ({ account, site, customer, blocked }: RegistryEntry): ClaimValues => ({
  present: true,
  account: account ?? null,
  site: site ?? null,
  customer: customer ?? null,
  blocked: blocked ?? false,
});

/**
 * A customer that moves has its accounts and DIDs in both systems. When the first event after the move comes, what was there
 * counts as said by the system in which the customer is active now, too, before all events of that system: what the
 * other one says of it afterwards is its own affair. A site of the other means nothing there.
 */
function carryOver(
  { kind, value }: ProvisionedEntity,
  record: ClaimRecord,
  active: ActiveAt | undefined,
  isFirst: boolean,
): void {
  if (kind === 'customer' || active === undefined || active.system === null) return;
  const { customer, system } = record.active ?? {
    customer: isFirst ? active.customer : undefined,
    system: null,
  };
  if (customer !== active.customer || system === active.system) return;
  const had = entryFrom({ kind, value }, record);
  if (had === null || had.system === active.system || had.customer !== active.customer) return;
  claimFields(record, active.system, { ...whole(had), site: null }, BEFORE_ALL_EVENTS);
}

/** What the events say, in the fields of a claim. */
function valuesOf(event: ProvisioningEvent): ClaimValues {
  switch (event.type) {
    case 'Account/New':
    case 'DID/Provisioned': {
      const account = event.type === 'DID/Provisioned' ? (event.account ?? null) : null;
      const { customer = null, site = null, blocked = false } = event;
      return { present: true, customer, site, account, blocked, moved_to: null };
    }
    case 'Account/Updated':
    case 'Account/ID/Changed':
      return { present: true, ...given(event) };
    case 'Account/Deleted':
    case 'DID/Released':
      return { present: false, moved_to: null };
    case 'Account/Blocked':
      return { blocked: true };
    case 'Account/Unblocked':
      return { blocked: false };
    case 'DID/Moved':
      return { present: false, moved_to: event.to_system, ...given(event) };
    case 'Customer/Exported':
    case 'Customer/RolledBack':
      return { present: true, exported: event.type === 'Customer/Exported', ...between(event) };
    case 'Customer/Deleted':
      return { present: false };
  }
}

interface Attributes {
  readonly account?: string | null | undefined;
  readonly customer?: string | null | undefined;
  readonly site?: string | null | undefined;
  readonly blocked?: boolean | undefined;
}

/** Attributes that the event names. An account event's own `account` is its key, not an attribute. */
function given(event: Attributes & { readonly type: string }): ClaimValues {
  const { customer, site, blocked } = event;
  const account = event.type.startsWith('DID/') ? event.account : undefined;
  return {
    ...(customer === undefined ? {} : { customer }),
    ...(site === undefined ? {} : { site }),
    ...(blocked === undefined ? {} : { blocked }),
    ...(account === undefined ? {} : { account }),
  };
}

function between(event: { source?: string | undefined; target?: string | undefined }): ClaimValues {
  const { source, target } = event;
  return { ...(source === undefined ? {} : { source }), ...(target === undefined ? {} : { target }) };
}

/** What an event is about, under the id it had then. */
export function entityOf(event: ProvisioningEvent): ProvisionedEntity {
  switch (event.type) {
    case 'DID/Provisioned':
    case 'DID/Released':
    case 'DID/Moved':
      return { kind: 'did', value: event.did };
    case 'Customer/Exported':
    case 'Customer/RolledBack':
    case 'Customer/Deleted':
      return { kind: 'customer', value: event.customer };
    default:
      return { kind: 'account', value: event.account };
  }
}

/**
 * Applies events to the registry. An event is safe to apply again, at any time: it changes only what nobody said later,
 * and what follows from all that was said is written once more.
 */
export class Provisioner {
  readonly #store: ProvisioningStore;

  constructor(store: ProvisioningStore) {
    this.#store = store;
  }

  async apply(event: ProvisioningEvent): Promise<void> {
    const stamp: Stamp = { event: event.i_event, timeMs: event.event_time };
    const entity = entityOf(event);
    if (event.type === 'Account/ID/Changed') {
      await this.#rename(entity, event.new_account, event.system, valuesOf(event), stamp);
      return;
    }
    const touched = await this.#claim(entity, event.system, valuesOf(event), stamp);
    for (const each of touched.reverse()) await this.#write(each);
  }

  /** Notes what was said of an entity, and of the ids it has had since. Resolves to the entities it touched. */
  async #claim(
    entity: ProvisionedEntity,
    system: string,
    values: ClaimValues,
    stamp: Stamp,
  ): Promise<ProvisionedEntity[]> {
    const touched: ProvisionedEntity[] = [];
    const due: { entity: ProvisionedEntity; said: ClaimValues }[] = [{ entity, said: values }];
    for (let next = due.shift(); next !== undefined && touched.length < MAX_RENAMES; next = due.shift()) {
      const { entity: each, said } = next;
      // Who says that a DID moved says itself where it is now.
      const isCarried = typeof said.moved_to !== 'string';
      const record = await this.#amend(each, (claims) => claimFields(claims, system, said, stamp), isCarried);
      touched.push(each);
      // Whether the old id is in use says nothing of the new one.
      const { present: _, moved_to: __, ...attributes } = said;
      if (each.kind !== 'account' || Object.keys(attributes).length === 0) continue;
      for (const to of renamesAfter(record, system, stamp.event)) {
        due.push({ entity: { kind: 'account', value: to }, said: attributes });
      }
    }
    return touched;
  }

  async #rename(
    old: ProvisionedEntity,
    to: string,
    system: string,
    values: ClaimValues,
    stamp: Stamp,
  ): Promise<void> {
    const renamed: ProvisionedEntity = { kind: 'account', value: to };
    const record = await this.#amend(old, (claims) => {
      claimFields(claims, system, { present: false }, stamp);
      claimRename(claims, system, to, stamp.event);
    });
    const touched: ProvisionedEntity[] = [old];
    for (const [attribute, since] of attributesBefore(record, system, stamp.event)) {
      touched.push(...(await this.#claim(renamed, system, attribute, since)));
    }
    touched.push(...(await this.#claim(renamed, system, values, stamp)));
    // The new id first, so that there is no moment without the account.
    for (const each of touched.reverse()) await this.#write(each);
  }

  async #amend(entity: ProvisionedEntity, change: Change, isCarried = true): Promise<ClaimRecord> {
    const baseline = await this.#baseline(entity);
    const active = await this.#activeOf(entity, baseline, change);
    // The last call of the change is the one that was stored.
    let amended = readRecord(null);
    await this.#store.amendRecord(entity, (before) => {
      amended = readRecord(before);
      if (before === null) baseline?.(amended);
      if (isCarried) carryOver(entity, amended, active, before === null);
      change(amended);
      if (active === undefined) delete amended.active;
      else amended.active = active;
      return JSON.stringify(amended);
    });
    return amended;
  }

  /** Where the customer that an account or DID has after the change is active now. */
  async #activeOf(
    entity: ProvisionedEntity,
    baseline: Change | undefined,
    change: Change,
  ): Promise<ActiveAt | undefined> {
    if (entity.kind === 'customer') return undefined;
    const { record } = await this.#store.readRecord(entity);
    const changed = readRecord(record);
    if (record === null) baseline?.(changed);
    change(changed);
    const [first, ...others] = customersOf(changed);
    if (first === undefined) return undefined;
    for (const customer of [first, ...others]) {
      const known = await this.#store.getCustomer(customer);
      if (known !== null) return { customer, system: activeSystem(known) };
    }
    return { customer: first, system: null };
  }

  /** What was imported or put by hand before the first event counts as said by its system, before all events. */
  async #baseline({ kind, value }: ProvisionedEntity): Promise<Change | undefined> {
    if (kind === 'customer') {
      const known = await this.#store.getCustomer(value);
      if (known === null) return undefined;
      const { source, target, exported } = known;
      return (claims) =>
        claimFields(claims, source, { present: true, source, target, exported }, BEFORE_ALL_EVENTS);
    }
    const known = await this.#store.get({ kind, value });
    if (known === null) return undefined;
    return (claims) => claimFields(claims, known.system, whole(known), BEFORE_ALL_EVENTS);
  }

  /**
   * Writes what follows from the record, and looks whether the record is still the same: of two writers at once, the one
   * that was slow would else leave what it had read before.
   */
  async #write(entity: ProvisionedEntity): Promise<void> {
    let written: string | null | undefined;
    for (let n = 0; n < MAX_REWRITES; n += 1) {
      const { record, at } = await this.#store.readRecord(entity);
      if (record === written) return;
      await this.#follow(entity, readRecord(record), at);
      written = record;
    }
  }

  /**
   * Writes as of the moment the record was written. Where a store knows that moment it may also carry out a write it has
   * given up, so that what it tells now may not be what stays: then everything is written, even if it is there already.
   */
  async #follow(
    { kind, value }: ProvisionedEntity,
    record: ClaimRecord,
    at: WriteTime | undefined,
  ): Promise<void> {
    const isSettled = at === undefined;
    if (kind === 'customer') {
      const customer = customerFrom(value, record);
      if (customer === undefined) return;
      if (customer === null) await this.#store.deleteCustomer(value, at);
      else if (!(isSettled && sameCustomer(await this.#store.getCustomer(value), customer)))
        await this.#store.putCustomer(customer, at);
      return;
    }
    const entry = entryFrom({ kind, value }, record);
    if (entry === null) await this.#store.delete({ kind, value }, at);
    else if (!(isSettled && sameEntry(await this.#store.get({ kind, value }), entry)))
      await this.#store.put(entry, at);
  }
}

const sameEntry = (a: RegistryEntry | null, b: RegistryEntry): boolean =>
  a !== null && JSON.stringify(plainEntry(a)) === JSON.stringify(plainEntry(b));

const sameCustomer = (a: Customer | null, b: Customer): boolean =>
  a !== null && a.source === b.source && a.target === b.target && a.exported === b.exported;
