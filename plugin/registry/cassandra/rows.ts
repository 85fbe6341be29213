import type { types } from 'cassandra-driver';
import { plainEntry } from '../entry';
import type { Customer, KeyKind, RegistryEntry } from '../registry';

const text = (row: types.Row, column: string): string | undefined =>
  (row.get(column) as string | null) ?? undefined;

export function entryOf(row: types.Row): RegistryEntry {
  const optional = {
    account: text(row, 'account'),
    site: text(row, 'site'),
    customer: text(row, 'customer'),
  };
  return plainEntry({
    kind: row.get('kind') as KeyKind,
    value: row.get('value') as string,
    system: text(row, 'system') ?? '',
    ...(optional.account === undefined ? {} : { account: optional.account }),
    ...(optional.site === undefined ? {} : { site: optional.site }),
    ...(optional.customer === undefined ? {} : { customer: optional.customer }),
    blocked: row.get('blocked') === true,
  });
}

export const customerOf = (row: types.Row): Customer => ({
  id: row.get('id') as string,
  source: text(row, 'source') ?? '',
  target: text(row, 'target') ?? '',
  exported: row.get('exported') === true,
});
