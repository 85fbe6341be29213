import { Admission, type Refusal, type Standing } from '../admission/admission';
import { askedFor } from '../dispatch/asked-for';
import { orderFor, type CarriedDecision, type OrderFacts, type OrderParts } from '../dispatch/order';
import type { Relays } from '../dispatch/relays';
import { logFields } from '../dispatch/request-line';
import { noteResult, type RequestRecord } from '../dispatch/request-record';
import type { Hooks } from '../hooks';
import type { HeaderLine, InboundRequest, ResponseSpec } from '../link/sip-link';
import type { Decision } from '../routing/decision';
import type { TalliedLines } from '../telemetry/tallied-lines';
import { Answered, newCall, type Call } from './call';
import { CallHooks } from './call-hooks';
import { Router, type RouterParts } from './router';
import type { Settings } from './settings';
import { UndecidedCalls } from './undecided-calls';

/** Counts and remembers; what it throws is logged and changes nothing. */
export interface PipelineObserver {
  requestEnded(record: Readonly<RequestRecord>): void;
}

export interface PipelineParts extends RouterParts {
  readonly settings: () => Settings;
  readonly admission: Admission;
  readonly hooks: Hooks;
  readonly linkOf: OrderParts['linkOf'];
  readonly relays: Relays;
  readonly observer: PipelineObserver;
  /** For the requests that are not let in. */
  readonly refusals: Pick<TalliedLines, 'note'>;
  readonly newId: () => string;
}

/** Seconds after which a refused caller may come again. */
const REFUSED_RETRY_AFTER_S = 5;

/** The life of one request, from the link to the log line. */
export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #hooks: CallHooks;
  readonly #router: Router;
  readonly #undecided: UndecidedCalls;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.#hooks = new CallHooks(parts.hooks);
    this.#router = new Router(parts, this.#hooks);
    this.#undecided = new UndecidedCalls(parts);
  }

  /** Takes one request of a link. Never rejects. */
  async handle(request: InboundRequest): Promise<void> {
    const { relays, admission, now } = this.#parts;
    if (relays.takesBack(request)) return;
    const start = now();
    const call = newCall(this.#parts.newId(), request, this.#parts.settings());
    const { record, source } = call;
    const refusal = admission.enter(request.source.address, source.role);
    if (refusal !== undefined) {
      await this.#refuse(call, refusal);
      return;
    }
    if (admission.mode === 'handing_over') this.#move(call, 'late');
    this.#undecided.add(call);
    try {
      await this.#live(call);
    } catch (error) {
      await this.#failed(call, error);
    } finally {
      this.#undecided.delete(call);
      admission.leave(request.source.address, call.standing);
      record.milliseconds = now() - start;
      this.#ended(call);
    }
  }

  /**
   * In a moment the addresses go: an INVITE that the server has said 100 to, and that is not on its way yet, would be sent again
   * by nobody. Its caller gets a 503 and tries anew.
   */
  refuseUndecided(): Promise<void> {
    return this.#undecided.refuse();
  }

  /** The way of a request that was let in. */
  async #live(call: Call): Promise<void> {
    const outcome = await this.#router.wayOf(call);
    if (call.refused) return;
    if (outcome instanceof Answered) {
      call.record.because = outcome.because ?? call.record.because;
      await this.#answer(call, outcome.response, outcome.decision);
      return;
    }
    if (outcome === 'drop') {
      call.record.ending = 'dropped';
      call.request.link.drop(call.request);
      return;
    }
    if (await this.#undecided.leaves(call, outcome.decision)) return;
    await this.#carry(call, outcome.decision, outcome.facts);
  }

  #move(call: Call, to: Standing): void {
    this.#parts.admission.move(call.standing, to);
    call.standing = to;
  }

  /** Lets a relay carry the request, attempt after attempt, and learns from what comes back. */
  async #carry(call: Call, decision: CarriedDecision, facts: OrderFacts): Promise<void> {
    const { request, record, settings } = call;
    const { relays, admission, linkOf, tokens, lessons, log } = this.#parts;
    // The caller hung up while we were asking; the server has answered it.
    if (request.cancelled) {
      record.ending = 'cancelled';
      return;
    }
    const parts = { config: settings.config, tokens: tokens(), linkOf };
    const { order, oversize } = orderFor(request, decision, facts, parts);
    if (oversize !== undefined) {
      record.oversize = oversize;
      const line = { id: record.id, callId: record.callId, ...oversize, mtu: settings.config.mtu };
      if (oversize.sentOver === 'udp') log.warn(line, 'too long for UDP');
      else log.info(line, 'sent over TCP, as it is too long for UDP');
    }
    this.#undecided.delete(call);
    if (order.relay === 'proxy') this.#move(call, 'handed_on');
    else if (order.relay === 'b2bua') this.#move(call, 'bridged');
    const result = await relays.carry(request, {
      ...order,
      maySend: () => admission.maySend,
      onAnswer: (answer) => lessons.learn(request, decision, answer, facts.behindNat),
      beforeAnswer: (answer, response) => this.#hooks.onResponse(call, decision, response, answer),
    });
    noteResult(record, result);
    if (result.kind === 'answered' && order.relay === 'proxy') {
      // The server has answered already; hooks may look on.
      await this.#hooks.onResponse(call, decision, { status: result.answer.status }, result.answer);
    }
  }

  /** An answer of our own. */
  async #answer(call: Call, response: ResponseSpec, decision?: Decision): Promise<void> {
    const { record, request } = call;
    const changed = await this.#hooks.onResponse(call, decision, response);
    if (call.refused) return;
    this.#undecided.delete(call);
    record.status = response.status;
    record.reason = response.reason;
    await this.#parts.relays.answer(request, changed);
  }

  /** Not let in: silence towards who is blocked or while another instance serves, else 503. */
  async #refuse(call: Call, refusal: Refusal): Promise<void> {
    const { request, record } = call;
    record.reason = refusal;
    if (Admission.isSilent(refusal)) {
      record.ending = 'dropped';
      request.link.drop(request, refusal === 'standby' ? 'take' : 'swallow');
    } else {
      record.status = 503;
      const headers: HeaderLine[] = [['Retry-After', String(REFUSED_RETRY_AFTER_S)]];
      try {
        await this.#parts.relays.answer(request, { status: 503, headers });
      } catch (error) {
        this.#parts.log.debug({ id: record.id, err: error }, 'refusal not delivered');
      }
    }
    this.#observe(record);
    this.#parts.log.debug(logFields(record), 'request refused');
    this.#tally(record, refusal);
  }

  /** What an instance that serves turns away is told of, in numbers; a standby hears what is another's to answer. */
  #tally({ source, server, role, sourceName, status, ending }: RequestRecord, reason: Refusal): void {
    if (reason === 'standby') return;
    const level = reason === 'draining' ? 'info' : 'warn';
    const fields = { reason, source, server, role, sourceName, status, ending };
    this.#parts.refusals.note(`${reason} ${source}`, fields, 'requests refused', level);
  }

  /** A fault of ours, or a hook whose policy is to fail: 500, if the caller has no answer yet. */
  async #failed(call: Call, error: unknown): Promise<void> {
    const { request, record } = call;
    const { log, relays } = this.#parts;
    record.reason = error instanceof Error ? error.message : String(error);
    log.error({ id: record.id, callId: record.callId, err: error }, 'request failed');
    await this.#hooks.onError(call, error);
    if (call.refused) return;
    if (request.settled || request.cancelled) {
      record.ending = request.cancelled ? 'cancelled' : 'lost';
      return;
    }
    record.status = 500;
    try {
      await relays.answer(request, { status: 500 });
    } catch (failure) {
      record.ending = 'lost';
      log.error({ id: record.id, err: failure }, '500 not delivered');
    }
  }

  #ended(call: Call): void {
    const { record, request } = call;
    const { admission, log } = this.#parts;
    if (record.status !== undefined) {
      const what = askedFor(request.message, record);
      if (admission.ended(request.source.address, record.role, record.status, what)) {
        log.warn({ source: record.source }, 'source blocked: all it sends fails');
      }
    }
    this.#observe(record);
    // Every second of an active instance's life is not worth a line.
    if (isOwnCheck(request)) log.debug(logFields(record), 'request');
    else log.info(logFields(record), 'request');
  }

  #observe(record: RequestRecord): void {
    try {
      this.#parts.observer.requestEnded(record);
    } catch (error) {
      this.#parts.log.error({ err: error }, 'an observer of requests failed');
    }
  }
}

/** The check whether the SIP server answers at the VIP (servers/vip-check.ts). */
const isOwnCheck = ({ message, source, receivedOn }: InboundRequest): boolean =>
  message.method === 'OPTIONS' && source.address === receivedOn.address;
