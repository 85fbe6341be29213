import type { Client } from 'cassandra-driver';
import { types } from 'cassandra-driver';
import type { FilledOptions } from './options';
import type { CassandraSession } from './session';

/** The one row of a group's witness. `owner` is empty after a release. */
export interface LeaseRow {
  readonly owner: string;
  readonly term: number;
  readonly seq: number;
}

/**
 * Rows under linearisable compare-and-set, for the group's witness. Never retries; a rejection means that the outcome
 * is not known.
 */
export class CassandraLeases {
  readonly #session: CassandraSession;
  readonly #options: FilledOptions;

  constructor(session: CassandraSession, options: FilledOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Linearisable read. `null`: there is no row yet. */
  async read(group: string): Promise<LeaseRow | null> {
    const result = await this.#run((client) =>
      client.execute('SELECT owner, term, seq FROM leases WHERE name = ?', [group], {
        consistency: types.consistencies.serial,
        isIdempotent: true,
      }),
    );
    return result.rowLength === 0 ? null : rowOf(result.first());
  }

  /** Writes `next` if the row still has this (term, seq), or with `null` if there is no row. */
  async compareAndSet(
    group: string,
    expected: Pick<LeaseRow, 'term' | 'seq'> | null,
    next: LeaseRow,
  ): Promise<{ readonly applied: boolean; readonly current: LeaseRow | null }> {
    const { owner, term, seq } = next;
    const serial = { serialConsistency: types.consistencies.serial };
    const result = await this.#run((client) =>
      expected === null
        ? client.execute(
            'INSERT INTO leases (name, owner, term, seq) VALUES (?, ?, ?, ?) IF NOT EXISTS',
            [group, owner, long(term), long(seq)],
            serial,
          )
        : client.execute(
            'UPDATE leases SET owner = ?, term = ?, seq = ? WHERE name = ? IF term = ? AND seq = ?',
            [owner, long(term), long(seq), group, long(expected.term), long(expected.seq)],
            serial,
          ),
    );
    if (result.wasApplied()) return { applied: true, current: next };
    return { applied: false, current: await this.#found(group, result) };
  }

  /** Not behind look-ups that wait. */
  #run<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return this.#session.run(this.#options.deadlineMs, work, { queues: false });
  }

  /** A refused UPDATE gives back only the columns of its condition, so the owner is read. */
  async #found(group: string, result: types.ResultSet): Promise<LeaseRow | null> {
    const row = result.first();
    const hasOwner = row.keys().includes('owner');
    return hasOwner ? rowOf(row) : this.read(group);
  }
}

const long = (value: number) => types.Long.fromNumber(value);

function rowOf(row: types.Row): LeaseRow {
  const number = (column: string): number => (row.get(column) as types.Long).toNumber();
  return { owner: row.get('owner') as string, term: number('term'), seq: number('seq') };
}
