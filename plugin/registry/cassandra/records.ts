import { types } from 'cassandra-driver';
import { DsbcError } from '../../errors';
import type { ProvisionedEntity, ProvisioningRecords, StoredRecord } from '../registry';
import type { FilledOptions } from './options';
import type { CassandraSession } from './session';

/** Writers of one record that get in each other's way try again after a random pause of up to this, in ms. */
const CONTENTION_MS = 60;

const SELECT_RECORD =
  'SELECT record, revision, WRITETIME(record) AS at FROM provisioned WHERE kind = ? AND value = ?';

interface Found extends StoredRecord {
  readonly revision: number | null;
}

/** Events that were handled, and records that are changed by compare-and-set. */
export class CassandraRecords implements ProvisioningRecords {
  readonly #session: CassandraSession;
  readonly #options: FilledOptions;

  constructor(session: CassandraSession, options: FilledOptions) {
    this.#session = session;
    this.#options = options;
  }

  async eventHandled(system: string, eventId: string): Promise<boolean> {
    const result = await this.#session.run(this.#options.deadlineMs, (client) =>
      client.execute('SELECT event_id FROM events WHERE system = ? AND event_id = ?', [system, eventId], {
        isIdempotent: true,
      }),
    );
    return result.rowLength > 0;
  }

  async markEventHandled(system: string, eventId: string): Promise<void> {
    await this.#session.run(this.#options.writeDeadlineMs, (client) =>
      client.execute('INSERT INTO events (system, event_id, handled_at) VALUES (?, ?, toTimestamp(now()))', [
        system,
        eventId,
      ]),
    );
  }

  readRecord(entity: ProvisionedEntity): Promise<StoredRecord> {
    return this.#read(entity);
  }

  /** A serial read also finishes a compare-and-set whose answer was lost. */
  async #read({ kind, value }: ProvisionedEntity): Promise<Found> {
    const result = await this.#session.run(this.#options.writeDeadlineMs, (client) =>
      client.execute(SELECT_RECORD, [kind, value], {
        consistency: types.consistencies.serial,
        isIdempotent: true,
      }),
    );
    const row = result.rowLength > 0 ? result.first() : null;
    const at = row?.get('at') as types.Long | null | undefined;
    return {
      ...(at === undefined || at === null ? {} : { at: BigInt(at.toString()) }),
      record: (row?.get('record') ?? null) as string | null,
      revision: (row?.get('revision') ?? null) as number | null,
    };
  }

  async amendRecord(entity: ProvisionedEntity, change: (record: string | null) => string): Promise<string> {
    const deadline = performance.now() + this.#options.writeDeadlineMs;
    for (;;) {
      const { record, revision } = await this.#read(entity);
      const next = change(record);
      if (next === record) return next;
      if (await this.#replace(entity, revision, next)) return next;
      if (performance.now() > deadline) {
        throw new DsbcError('DSBC_REGISTRY_UNAVAILABLE', 'too many writers change one provisioning record');
      }
      await new Promise((resolve) => setTimeout(resolve, Math.random() * CONTENTION_MS));
    }
  }

  async #replace(
    { kind, value }: ProvisionedEntity,
    revision: number | null,
    record: string,
  ): Promise<boolean> {
    const serial = { serialConsistency: types.consistencies.serial };
    const result = await this.#session.run(this.#options.writeDeadlineMs, (client) =>
      revision === null
        ? client.execute(
            'INSERT INTO provisioned (kind, value, record, revision) VALUES (?, ?, ?, 1) IF NOT EXISTS',
            [kind, value, record],
            serial,
          )
        : client.execute(
            'UPDATE provisioned SET record = ?, revision = ? WHERE kind = ? AND value = ? IF revision = ?',
            [record, revision + 1, kind, value, revision],
            serial,
          ),
    );
    return result.wasApplied();
  }
}
