import { DsbcError } from '../../errors';
import { silentLogger } from '../../telemetry/logger';
import type { Logger } from '../../telemetry/logger';
import { Provisioner, entityOf } from './apply';
import type { ProvisioningStore } from './apply';
import { readEvent } from './event';
import type { FieldProblem, ProvisioningEvent } from './event';
import { KeyedQueue } from './keyed-queue';

/** What an event came to; the handler counts each. */
export const EVENT_OUTCOMES = ['applied', 'duplicate', 'unknown', 'invalid', 'unavailable'] as const;
export type EventOutcome = (typeof EVENT_OUTCOMES)[number];

/** An HTTP answer, for whoever serves HTTP. */
export interface EventReply {
  readonly status: 200 | 202 | 400 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface EventHandlerOptions {
  readonly store: ProvisioningStore;
  /** Known systems; an event that names another one is not valid. */
  readonly systems?: readonly string[];
  readonly log?: Logger;
}

export interface EventHandler {
  /**
   * Handles the parsed body of one `POST /espf/events`. Answers 200 when what the event says is durable and this process
   * has dropped what it had cached of it; 202 for a type that means nothing here; 400 as problem JSON (RFC 9457) with
   * the fields; 503 with Retry-After when the registry can't take it now. Never rejects for those.
   * @param sender the system that sends, if `variables.system` doesn't say it
   */
  handle(body: unknown, sender?: string): Promise<EventReply>;
  statistics(): Readonly<Record<EventOutcome, number>>;
}

/** Seconds after which the sender may try again. */
const RETRY_AFTER_S = 5;
const JSON_TYPE = { 'content-type': 'application/json' };
const PROBLEM_TYPE = { 'content-type': 'application/problem+json' };

class Handler implements EventHandler {
  readonly #store: ProvisioningStore;
  readonly #systems: readonly string[] | undefined;
  readonly #log: Logger;
  readonly #provisioner: Provisioner;
  /** One event at a time for an entity: instances still may meet, and the store's compare-and-set settles that. */
  readonly #queue = new KeyedQueue();
  readonly #counts: Record<EventOutcome, number> = {
    applied: 0,
    duplicate: 0,
    unknown: 0,
    invalid: 0,
    unavailable: 0,
  };

  constructor({ store, systems, log = silentLogger }: EventHandlerOptions) {
    this.#store = store;
    this.#systems = systems;
    this.#log = log;
    this.#provisioner = new Provisioner(store);
  }

  statistics(): Readonly<Record<EventOutcome, number>> {
    return { ...this.#counts };
  }

  async handle(body: unknown, sender?: string): Promise<EventReply> {
    const read = readEvent(body, this.#systems, sender);
    if (read.kind === 'invalid') return this.#invalid(read.problems);
    if (read.kind === 'unknown') {
      this.#counts.unknown += 1;
      this.#log.info({ type: read.type }, 'provisioning event of a type that means nothing here');
      return { status: 202, headers: JSON_TYPE, body: { outcome: 'unknown', event_type: read.type } };
    }
    const { event } = read;
    const problem = await this.#incomplete(event).catch(() => undefined);
    if (problem !== undefined) return this.#invalid([problem]);
    try {
      const outcome = await this.#once(event);
      this.#counts[outcome] += 1;
      this.#log.info(
        { type: event.type, system: event.system, event: event.i_event, outcome },
        'provisioning event',
      );
      return { status: 200, headers: JSON_TYPE, body: { outcome } };
    } catch (error) {
      return this.#failed(event, error);
    }
  }

  async #once(event: ProvisioningEvent): Promise<'applied' | 'duplicate'> {
    const id = String(event.i_event);
    if (await this.#store.eventHandled(event.system, id)) return 'duplicate';
    const { kind, value } = entityOf(event);
    await this.#queue.run(`${kind}:${value}`, () => this.#provisioner.apply(event));
    await this.#store.markEventHandled(event.system, id);
    return 'applied';
  }

  /** A customer that the registry does not know can't be exported without saying between which systems. */
  async #incomplete(event: ProvisioningEvent): Promise<FieldProblem | undefined> {
    if (event.type !== 'Customer/Exported') return undefined;
    const { source, target, customer } = event;
    if (source !== undefined && source === target) {
      return {
        field: 'variables.target',
        expected: 'another system than source',
        found: JSON.stringify(target),
      };
    }
    if (source !== undefined && target !== undefined) return undefined;
    if ((await this.#store.getCustomer(customer)) !== null) return undefined;
    const field = source === undefined ? 'source' : 'target';
    return {
      field: `variables.${field}`,
      expected: 'a system, because the registry does not know this customer',
      found: 'nothing',
    };
  }

  #invalid(problems: readonly FieldProblem[]): EventReply {
    this.#counts.invalid += 1;
    // What stands there may be somebody's number: the sender hears it, the log does not.
    const fields = problems.map(({ field, expected }) => ({ field, expected }));
    this.#log.warn({ problems: fields }, 'provisioning event that is not valid');
    const errors = problems.map(({ field, expected, found }) => ({
      field,
      detail: `expected ${expected}; found ${found}`,
    }));
    const [first] = errors;
    return {
      status: 400,
      headers: PROBLEM_TYPE,
      body: {
        type: 'about:blank',
        title: 'Bad Request',
        status: 400,
        detail: [first?.field, first?.detail].filter(Boolean).join(': '),
        errors,
      },
    };
  }

  #failed(event: ProvisioningEvent, error: unknown): EventReply {
    if (error instanceof DsbcError && error.code === 'DSBC_REGISTRY_INVALID') {
      const { field, expected, found } = error.details;
      return this.#invalid([
        { field: `variables.${String(field)}`, expected: String(expected), found: String(found) },
      ]);
    }
    this.#counts.unavailable += 1;
    this.#log.warn(
      { err: error, type: event.type, event: event.i_event },
      'provisioning event could not be taken',
    );
    return {
      status: 503,
      headers: { ...PROBLEM_TYPE, 'retry-after': String(RETRY_AFTER_S) },
      body: {
        type: 'about:blank',
        title: 'Service Unavailable',
        status: 503,
        detail: 'the registry cannot take it now; send it again',
        ...(error instanceof DsbcError ? { code: error.code } : {}),
      },
    };
  }
}

export const createEventHandler = (options: EventHandlerOptions): EventHandler => new Handler(options);
