import type { BindingRecord, BindingTable } from './bindings';

export const BINDINGS_TOPIC = 'bindings';

/**
 * The binding table as the group replicates it, so that a standby that takes over pings on. Nothing is cleared when a
 * snapshot comes: what it does not have ends with its registration.
 */
export function replicatedBindings(table: BindingTable): {
  readonly name: string;
  snapshot(): Iterable<unknown>;
  apply(record: unknown): void;
} {
  return {
    name: BINDINGS_TOPIC,
    snapshot: () => table.records(),
    apply: (record) => {
      if (isRecord(record)) table.apply(record);
    },
  };
}

/** The channel is authenticated, but the other side may be of another version. */
function isRecord(value: unknown): value is BindingRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { aor, device, contact, expiresIn, ping, flow } = value as Partial<
    Record<keyof BindingRecord, unknown>
  >;
  const texts = [aor, device, contact].every((text) => typeof text === 'string');
  return (
    texts &&
    typeof expiresIn === 'number' &&
    typeof ping === 'boolean' &&
    typeof flow === 'object' &&
    flow !== null &&
    ['entry', 'transport', 'remote'].every((part) => part in flow)
  );
}
