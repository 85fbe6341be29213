import type { RegistryKey, RegistryStore } from '../registry';
import { seenKey } from './import-writer';
import type { SeenKeys } from './seen-keys';

export interface ReplaceOptions {
  readonly seen: SeenKeys;
  /** Kinds of the file; entries of other kinds stay. */
  readonly kinds: readonly string[];
  readonly confirm: (count: number) => Promise<boolean>;
  readonly dryRun: boolean;
}

/** Keys removed with one call. */
const BATCH = 500;

type Store = Pick<RegistryStore, 'entries' | 'customers' | 'deleteAll' | 'deleteCustomer'>;

/** Deletes what was not seen; resolves to how many, or to undefined if that was not confirmed. */
export async function deleteUnseen(store: Store, options: ReplaceOptions): Promise<number | undefined> {
  let count = 0;
  for await (const _ of unseen(store, options)) count += 1;
  if (count === 0 || options.dryRun) return count;
  if (!(await options.confirm(count))) return undefined;
  let batch: RegistryKey[] = [];
  for await (const { kind, value } of unseen(store, options)) {
    if (kind === 'customer') await store.deleteCustomer(value);
    else batch.push({ kind, value });
    if (batch.length < BATCH) continue;
    await store.deleteAll(batch);
    batch = [];
  }
  await store.deleteAll(batch);
  return count;
}

async function* unseen(
  store: Store,
  { seen, kinds }: ReplaceOptions,
): AsyncIterable<{ kind: RegistryKey['kind'] | 'customer'; value: string }> {
  if (kinds.includes('account') || kinds.includes('did')) {
    for await (const { kind, value } of store.entries()) {
      if (kinds.includes(kind) && !seen.has(seenKey(kind, value))) yield { kind, value };
    }
  }
  if (!kinds.includes('customer')) return;
  for await (const { id } of store.customers()) {
    if (!seen.has(seenKey('customer', id))) yield { kind: 'customer', value: id };
  }
}
