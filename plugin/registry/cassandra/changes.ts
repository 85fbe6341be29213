import { types } from 'cassandra-driver';
import type { Client } from 'cassandra-driver';
import { monotonicClock } from '../../telemetry/clock';
import type { MonotonicClock } from '../../telemetry/clock';
import { silentLogger } from '../../telemetry/logger';
import type { Logger } from '../../telemetry/logger';
import { KEY_KINDS } from '../registry';
import type { RegistryChange, RegistryKey } from '../registry';
import type { FilledOptions } from './options';
import type { CassandraSession } from './session';

/** Span of one partition of the table, in ms. */
const BUCKET_MS = 600_000;
/** Clocks of Cassandra's nodes, and writes that arrive late, may differ by so much, in ms: so much is read again. */
const OVERLAP_MS = 15_000;
/** Part of the time to live after which a gap counts as "perhaps something is gone". */
const SAFE_PART = 0.8;

/** What one write changed; the columns `what` hold it as JSON. */
export interface ChangeRecord {
  readonly entries?: readonly (readonly [kind: string, value: string])[];
  readonly customers?: readonly string[];
  readonly decisions?: true;
}

export interface Heard {
  readonly changes: readonly RegistryChange[];
  /** Operator states are among what changed. */
  readonly decisions: boolean;
}

const isKind = (kind: string): kind is RegistryKey['kind'] => (KEY_KINDS as readonly string[]).includes(kind);

/**
 * The table of changes: written after the change itself, polled by every instance. Rows get their time from Cassandra
 * and buckets follow Cassandra's clock, so that instances whose clocks differ miss nothing; each poll reads the last
 * seconds once more and knows what it has already told.
 */
export class CassandraChanges {
  readonly #session: CassandraSession;
  readonly #options: FilledOptions;
  readonly #log: Logger;
  readonly #tell: (heard: Heard) => void;
  readonly #now: MonotonicClock;
  /** Cassandra's clock minus the monotonic one, in ms. */
  #offset: number | undefined;
  /** Everything written before this (Cassandra's clock, ms) was read; undefined: nothing yet. */
  #readUpTo: number | undefined;
  /** Ids told of or written here, with their time, as far as they may be read again. */
  readonly #known = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #begun: Promise<void> | undefined;

  constructor(session: CassandraSession, options: FilledOptions, tell: (heard: Heard) => void) {
    this.#session = session;
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#now = options.clock ?? monotonicClock;
    this.#tell = tell;
  }

  /** Milliseconds of Cassandra's clock, by one question. */
  async #serverTime(client: Client): Promise<number> {
    const asked = this.#now();
    const result = await client.execute('SELECT toTimestamp(now()) AS time FROM system.local', [], {
      isIdempotent: true,
    });
    const time = (result.first().get('time') as Date).getTime();
    this.#offset = time - asked;
    return time;
  }

  /** Tells the other instances. To be called when the change itself is stored. */
  async append(record: ChangeRecord): Promise<void> {
    await this.#session.run(this.#options.writeDeadlineMs, async (client) => {
      const time = this.#offset === undefined ? await this.#serverTime(client) : this.#now() + this.#offset;
      // The id is made here only to recognise it; its time is Cassandra's.
      const id = types.TimeUuid.fromDate(new Date(time), Math.floor(Math.random() * 10_000));
      this.#known.set(id.toString(), time);
      await client.execute('INSERT INTO changes (bucket, id, what) VALUES (?, ?, ?)', [
        types.Long.fromNumber(Math.floor(time / BUCKET_MS)),
        id,
        JSON.stringify(record),
      ]);
    });
  }

  /** Begins to listen: what is written from now on will be told. Idempotent. */
  start(): void {
    this.#begun ??= this.#begin();
  }

  async #begin(): Promise<void> {
    try {
      this.#readUpTo ??= await this.#session.run(this.#options.writeDeadlineMs, (client) =>
        this.#serverTime(client),
      );
    } catch (error) {
      this.#log.debug({ err: error }, 'Cassandra could not be asked for its time');
    }
    this.#again();
  }

  /** Resolves when listening has begun, or could not begin yet. */
  async begun(): Promise<void> {
    this.start();
    await this.#begun;
  }

  #again(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      void this.poll().then(() => this.#again());
    }, this.#options.changesPollMs);
    this.#timer.unref();
  }

  /** Reads what is new and tells it. A failure is left to the next poll, which reads from where this one began. */
  async poll(): Promise<void> {
    try {
      const time = await this.#session.run(this.#options.writeDeadlineMs, (client) =>
        this.#serverTime(client),
      );
      // Away since before the first poll: what was cached meanwhile may be old.
      if (this.#readUpTo === undefined) this.#tell({ changes: [{ type: 'all' }], decisions: true });
      else if (time - this.#readUpTo > this.#options.changesTtlS * 1000 * SAFE_PART) {
        this.#tell({ changes: [{ type: 'all' }], decisions: true });
      } else await this.#readSince(this.#readUpTo - OVERLAP_MS, time);
      this.#readUpTo = time;
      for (const [id, at] of this.#known) if (at < time - 3 * OVERLAP_MS) this.#known.delete(id);
    } catch (error) {
      this.#log.debug({ err: error }, 'changes of other instances could not be read');
    }
  }

  async #readSince(from: number, time: number): Promise<void> {
    const last = Math.floor((time + OVERLAP_MS) / BUCKET_MS);
    for (let bucket = Math.floor(from / BUCKET_MS); bucket <= last; bucket += 1) {
      const rows = await this.#session.run(this.#options.writeDeadlineMs, async (client) => {
        const found: { id: types.TimeUuid; what: string }[] = [];
        const result = await client.execute(
          'SELECT id, what FROM changes WHERE bucket = ? AND id > maxTimeuuid(?)',
          [types.Long.fromNumber(bucket), new Date(from)],
          { isIdempotent: true, fetchSize: 500 },
        );
        for await (const row of result) {
          found.push({ id: row.get('id') as types.TimeUuid, what: row.get('what') as string });
        }
        return found;
      });
      for (const { id, what } of rows) {
        if (this.#known.has(id.toString())) continue;
        this.#tell(this.#heard(what));
        this.#known.set(id.toString(), id.getDate().getTime());
      }
    }
  }

  #heard(what: string): Heard {
    let record: ChangeRecord;
    try {
      record = JSON.parse(what) as ChangeRecord;
    } catch {
      // Of a version that writes something else: being careful costs a few queries.
      return { changes: [{ type: 'all' }], decisions: true };
    }
    const changes: RegistryChange[] = [];
    for (const [kind, value] of record.entries ?? []) {
      if (isKind(kind)) changes.push({ type: 'entry', key: { kind, value } });
    }
    for (const id of record.customers ?? []) changes.push({ type: 'customer', id });
    return { changes, decisions: record.decisions === true };
  }

  /** Ends listening. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
