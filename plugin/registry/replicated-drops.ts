import type { LookupCache } from './cache';
import type { RegistryChange } from './registry';
import { KEY_KINDS } from './registry';

export const DROPS_TOPIC = 'cache-drops';

/**
 * What the active's cache dropped, so that a standby's does so at once instead of with its next look at the registry. There is no
 * state to copy: a standby that missed some drops everything.
 */
export function replicatedDrops(cache: Pick<LookupCache, 'invalidate'>): {
  readonly name: string;
  snapshot(): Iterable<unknown>;
  apply(record: unknown): void;
  reset(): void;
} {
  return {
    name: DROPS_TOPIC,
    snapshot: () => [],
    reset: () => cache.invalidate({ type: 'all' }),
    apply: (record) => cache.invalidate(isChange(record) ? record : { type: 'all' }),
  };
}

/** The other side may be of another version: what is not understood drops everything. */
function isChange(value: unknown): value is RegistryChange {
  if (typeof value !== 'object' || value === null) return false;
  const { type, key, id } = value as { type?: unknown; key?: unknown; id?: unknown };
  if (type === 'all') return true;
  if (type === 'customer') return typeof id === 'string';
  if (type !== 'entry' || typeof key !== 'object' || key === null) return false;
  const { kind, value: text } = key as { kind?: unknown; value?: unknown };
  return (KEY_KINDS as readonly unknown[]).includes(kind) && typeof text === 'string';
}
