import type { FilledOptions } from './options';

/** One step of the schema. A step that was released is never changed: the next one changes what it made. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: (options: FilledOptions) => readonly string[];
}

/** Days that a handled event is remembered. */
const EVENTS_TTL_S = 14 * 86_400;

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'entries, customers, changes, site states, events, provisioning records, leases',
    statements: ({ changesTtlS }) => [
      `CREATE TABLE IF NOT EXISTS "entries" (kind text, value text, system text, account text, site text, customer text,
         blocked boolean, PRIMARY KEY ((kind, value)))`,
      `CREATE TABLE IF NOT EXISTS customers (id text PRIMARY KEY, source text, target text, exported boolean)`,
      // Rows are read once by every instance and then expire: whole files of one time window go at once.
      `CREATE TABLE IF NOT EXISTS changes (bucket bigint, id timeuuid, what text, PRIMARY KEY (bucket, id))
         WITH default_time_to_live = ${changesTtlS} AND gc_grace_seconds = 3600 AND compaction =
         {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS', 'compaction_window_size': 1}`,
      `CREATE TABLE IF NOT EXISTS site_states (scope text, system text, site text, node text, state text,
         decided_by text, decided_at text, why text, PRIMARY KEY (scope, system, site, node))`,
      `CREATE TABLE IF NOT EXISTS events (system text, event_id text, handled_at timestamp,
         PRIMARY KEY ((system, event_id))) WITH default_time_to_live = ${EVENTS_TTL_S}`,
      // Changed by lightweight transactions only, hence apart from entries.
      `CREATE TABLE IF NOT EXISTS provisioned (kind text, value text, record text, revision int,
         PRIMARY KEY ((kind, value)))`,
      `CREATE TABLE IF NOT EXISTS leases (name text PRIMARY KEY, owner text, term bigint, seq bigint)`,
    ],
  },
];

export const SCHEMA_VERSION = MIGRATIONS.at(-1)?.version ?? 0;

/** A name in quotes: keyspaces keep their case. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
