import { OPERATOR_STATES } from '../registry';
import type { OperatorDecision, OperatorState } from '../registry';
import type { FilledOptions } from './options';
import type { CassandraSession } from './session';

/** All rows are one partition: there are few, and they are read together. */
const SCOPE = 'all';

const isState = (state: unknown): state is OperatorState =>
  (OPERATOR_STATES as readonly unknown[]).includes(state);

/** Operators' decisions about sites, as rows. */
export class SiteStates {
  readonly #session: CassandraSession;
  readonly #options: FilledOptions;

  constructor(session: CassandraSession, options: FilledOptions) {
    this.#session = session;
    this.#options = options;
  }

  async list(): Promise<readonly OperatorDecision[]> {
    const result = await this.#session.run(this.#options.writeDeadlineMs, (client) =>
      client.execute(
        'SELECT system, site, node, state, decided_by, decided_at, why FROM site_states WHERE scope = ?',
        [SCOPE],
        { isIdempotent: true },
      ),
    );
    const decisions: OperatorDecision[] = [];
    for (const row of result.rows) {
      const state: unknown = row.get('state');
      const text = (column: string): string => (row.get(column) as string | null) ?? '';
      // A state of a later version: not known here, so not acted upon.
      if (!isState(state)) continue;
      const node = text('node');
      decisions.push({
        system: text('system'),
        site: text('site'),
        ...(node === '' ? {} : { node }),
        state,
        by: text('decided_by'),
        at: text('decided_at'),
        why: text('why'),
      });
    }
    return decisions;
  }

  async put({ system, site, node, state, by, at, why }: OperatorDecision): Promise<void> {
    await this.#session.run(this.#options.writeDeadlineMs, (client) =>
      client.execute(
        `INSERT INTO site_states (scope, system, site, node, state, decided_by, decided_at, why)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        [SCOPE, system, site, node ?? '', state, by, at, why],
      ),
    );
  }
}
