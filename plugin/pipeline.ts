import { Admission, type Refusal, type Standing } from './admission/admission';
import { RuleLimits } from './admission/rule-limits';
import type { Config } from './config/types';
import { ask, type Registry } from './dispatch/ask';
import { askedFor } from './dispatch/asked-for';
import { flowFact } from './dispatch/flows';
import type { Lessons } from './dispatch/lessons';
import { orderFor, type CarriedDecision, type OrderFacts, type OrderParts } from './dispatch/order';
import { RegistryTrouble } from './dispatch/registry-trouble';
import type { Relays } from './dispatch/relays';
import { logFields } from './dispatch/request-line';
import { newRecord, noteDecision, type RequestRecord } from './dispatch/request-record';
import type {
  HookAnswer,
  HookContext,
  HookContextOf,
  HookName,
  HookPlan,
  HookResultOf,
  Hooks,
} from './hooks';
import type { HeaderLine, InboundRequest, ResponseSpec } from './link/sip-link';
import { checkRequest } from './message/validate';
import { detectNat } from './nat/detect';
import type { FlowTokens } from './nat/flow-token';
import type { RelayedAnswer, RelayResult } from './relay/relay';
import { isOurs } from './routing/admit';
import type { Challenges } from './routing/challenges';
import { decide } from './routing/decide';
import type { KeyAnswer, World } from './routing/deciding';
import type { Decision, LookupKey, RequestFacts } from './routing/decision';
import { enquire, type Question } from './routing/enquire';
import { readFacts } from './routing/facts';
import { KeyList } from './routing/keys';
import type { NodeName } from './routing/plan';
import type { RecentSites } from './routing/recent-sites';
import { destinationOf, sourceOf, type Snapshot, type Source } from './routing/snapshot';
import type { NodeStates } from './routing/states';
import type { MonotonicClock } from './telemetry/clock';
import type { Logger } from './telemetry/logger';
import type { TalliedLines } from './telemetry/tallied-lines';

/** What a reload swaps: one request sees one of these from beginning to end. */
export interface Settings {
  readonly config: Config;
  readonly snapshot: Snapshot;
}

/** Counts and remembers; what it throws is logged and changes nothing. */
export interface PipelineObserver {
  requestEnded(record: Readonly<RequestRecord>): void;
}

export interface PipelineParts {
  readonly settings: () => Settings;
  /** What operators and health say of each node, as this SIP server sees it. */
  readonly states: (server: string) => NodeStates;
  readonly registry: Registry;
  readonly admission: Admission;
  readonly hooks: Hooks;
  readonly challenges: Challenges;
  readonly recentSites: RecentSites;
  readonly lessons: Lessons;
  readonly tokens: () => FlowTokens;
  readonly linkOf: OrderParts['linkOf'];
  readonly relays: Relays;
  readonly observer: PipelineObserver;
  /** For the requests that are not let in. */
  readonly refusals: Pick<TalliedLines, 'note'>;
  readonly log: Logger;
  readonly now: MonotonicClock;
  readonly newId: () => string;
}

/** Seconds after which a refused caller may come again. */
const REFUSED_RETRY_AFTER_S = 5;
/** The same where another instance is about to serve. */
const HANDED_OVER_RETRY_AFTER_S = 1;

/** One request on its way. */
interface Call {
  readonly request: InboundRequest;
  readonly record: RequestRecord;
  readonly settings: Settings;
  readonly source: Source;
  readonly context: Omit<HookContext, 'signal'>;
  standing: Standing;
  /** It was answered while something of ours (the registry, a hook) held it; what comes of that is for nobody. */
  refused: boolean;
}

/** Ends a request's way early, with an answer. */
class Answered {
  constructor(
    readonly response: ResponseSpec,
    readonly decision?: Decision,
    /** Why, where no decision says it. */
    readonly because?: string,
  ) {}
}

/** For a destination that takes no more now. */
const TOO_MANY: ResponseSpec = {
  status: 503,
  reason: 'Destination Limit Reached',
  headers: [['Retry-After', '1']],
};

/** What is to happen with a request. */
type Way = Answered | 'drop' | { readonly decision: CarriedDecision; readonly facts: OrderFacts };

/** The life of one request, from the link to the log line. */
export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #turns = new Map<string, number>();
  readonly #rules: RuleLimits;
  /** Let in, and neither on their way nor answered. */
  readonly #undecided = new Set<Call>();
  readonly #trouble: RegistryTrouble;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.#trouble = new RegistryTrouble(parts.log, parts.now);
    this.#rules = new RuleLimits(parts.now);
  }

  /** Takes one request of a link. Never rejects. */
  async handle(request: InboundRequest): Promise<void> {
    const { relays, admission, now } = this.#parts;
    if (relays.takesBack(request)) return;
    const start = now();
    const call = this.#begin(request);
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
      admission.leave(call.standing);
      record.milliseconds = now() - start;
      this.#ended(call);
    }
  }

  /**
   * In a moment the addresses go: an INVITE that the server has said 100 to, and that is not on its way yet, would be sent again
   * by nobody. Its caller gets a 503 and tries anew.
   */
  async refuseUndecided(): Promise<void> {
    const held = [...this.#undecided].filter(({ request }) => wasSaid100(request));
    await Promise.all(
      held.map(async (call) => {
        try {
          await this.#sendElsewhere(call);
        } catch (error) {
          this.#parts.log.debug({ id: call.record.id, err: error }, 'refusal not delivered');
        }
      }),
    );
  }

  #begin(request: InboundRequest): Call {
    const settings = this.#parts.settings();
    const record = newRecord(this.#parts.newId(), request);
    const source = sourceOf(settings.snapshot, request.source.address);
    record.role = source.role;
    record.sourceName =
      source.role === 'site'
        ? `${source.system}/${source.site}`
        : source.role === 'peer'
          ? source.peer.name
          : undefined;
    const { id, role, sourceName } = record;
    const context = {
      id,
      message: request.message,
      source: request.source,
      role,
      sourceName,
      server: request.link.name,
      notes: new Map<string, unknown>(),
    };
    return { request, record, settings, source, context, standing: 'ours', refused: false };
  }

  /** The way of a request that was let in. */
  async #live(call: Call): Promise<void> {
    const outcome = await this.#decided(call);
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
    if (await this.#isLeft(call, outcome.decision)) return;
    await this.#carry(call, outcome.decision, outcome.facts);
  }

  /** From the message to what is to happen with it, hooks on the way. */
  async #decided(call: Call): Promise<Way> {
    const { request, settings } = call;
    const { hooks, registry } = this.#parts;
    const { message } = request;

    const fault = checkRequest(message, request.source.transport === 'udp' ? 'datagram' : 'stream');
    if (fault !== undefined && !isOptionsAtEnd(request, fault.status)) {
      return message.method === 'ACK' ? 'drop' : new Answered(fault, undefined, 'the message is malformed');
    }

    if (hooks.has('onRequest')) {
      const said = await this.#askHooks(call, 'onRequest', call.context);
      if (said !== undefined) return hookAnswer(call, said);
    }

    const read = this.#facts(call);
    if (!read.ok) {
      const { status, reason } = read;
      return new Answered({ status, reason }, undefined, 'the Request-URI cannot be routed');
    }
    const enquiry = enquire(read.facts, settings.snapshot);
    if (enquiry.kind === 'decided') return this.#settled(call, enquiry.decision, read.facts);

    const question = await this.#beforeLookup(call, enquiry);
    if (question instanceof Answered) return question;
    const answers = await ask(registry, question.keys, (key, error) =>
      this.#trouble.note(call.record.id, key, error),
    );

    const known = await this.#beforeRoute(call, question, answers);
    if (known instanceof Answered) return known;
    const answeredBy = known === answers ? undefined : hookWords(call.record);
    const world = { ...this.#world(call, read.facts), answeredBy };
    const decision = decide(question, known, settings.snapshot, world);
    if (decision.kind === 'dispatch') this.#takeTurn(settings, decision.system);
    return this.#settled(call, decision, read.facts);
  }

  /** A decision: ours to answer, to be left alone, or to be carried, in which case hooks may still change how. */
  async #settled(call: Call, decision: Decision, facts: RequestFacts): Promise<Way> {
    noteDecision(call.record, decision);
    if (decision.kind === 'drop') return 'drop';
    if (decision.kind === 'outbound' && decision.maxPerSecond !== undefined) {
      const { rule, maxPerSecond } = decision;
      if (!this.#rules.take(rule, maxPerSecond))
        return new Answered(TOO_MANY, decision, `${rule} takes no more than ${maxPerSecond} a second`);
    }
    if (decision.kind !== 'answer') return this.#beforeRelay(call, decision, facts.behindNat);
    const { status, reason, headers } = decision;
    return new Answered(
      { status, ...(reason === undefined ? {} : { reason }), ...(headers === undefined ? {} : { headers }) },
      decision,
    );
  }

  #facts(call: Call): ReturnType<typeof readFacts> {
    const { request, settings } = call;
    const { snapshot, config } = settings;
    const { message, source, receivedOn, link } = request;
    const isOwn = (host: string, port?: number): boolean => isOurs(snapshot, { receivedOn }, host, port);
    return readFacts({
      message,
      source,
      receivedOn,
      server: link.capabilities,
      behindNat: call.source.role !== 'site' && detectNat(message, source) !== undefined,
      flow: flowFact(request, this.#parts.tokens(), isOwn),
      registeredAs: () => this.#parts.lessons.registeredOver(request),
      reservedHeaders: [config.nat.header.toLowerCase()],
    });
  }

  async #beforeLookup(call: Call, question: Question): Promise<Question | Answered> {
    const { hooks } = this.#parts;
    if (!hooks.has('beforeLookup')) return question;
    const keys = question.keys.all().map(({ key }) => key);
    const said = await this.#askHooks(call, 'beforeLookup', { ...call.context, keys });
    if (said === undefined) return question;
    if ('respond' in said) return hookAnswer(call, said);
    return { ...question, keys: KeyList.of(said.keys, 'a hook') };
  }

  async #beforeRoute(
    call: Call,
    question: Question,
    answers: readonly KeyAnswer[],
  ): Promise<readonly KeyAnswer[] | Answered> {
    const { hooks } = this.#parts;
    if (!hooks.has('beforeRoute')) return answers;
    const place = answers.findIndex((one) => one !== null && one !== 'unavailable');
    const found = answers[place];
    const answer = found === null || found === 'unavailable' ? undefined : found;
    const key: LookupKey | undefined = question.keys.at(Math.max(0, place))?.key;
    const said = await this.#askHooks(call, 'beforeRoute', { ...call.context, key, answer });
    if (said === undefined) return answers;
    return 'respond' in said ? hookAnswer(call, said) : [said.answer];
  }

  async #beforeRelay(call: Call, decision: CarriedDecision, behindNat: boolean): Promise<Way> {
    const { hooks } = this.#parts;
    const facts: OrderFacts = { behindNat, add: [], remove: [] };
    if (!hooks.has('beforeRelay')) return { decision, facts };
    const { snapshot } = call.settings;
    const said = await this.#askHooks(call, 'beforeRelay', { ...call.context, decision }, (result) =>
      'plan' in result ? foreignIn(result.plan ?? [], snapshot) : undefined,
    );
    if (said === undefined) return { decision, facts };
    if ('respond' in said) return hookAnswer(call, said);
    const { plan, add = [], remove = [] } = said;
    const changed =
      plan !== undefined && decision.kind === 'dispatch'
        ? { ...decision, plan: plan.flatMap((node) => destinationOf(snapshot, node) ?? []) }
        : decision;
    return { decision: changed, facts: { behindNat, add, remove } };
  }

  /** Runs hooks that may change a request's way; the last that does so is in its record. */
  #askHooks<Name extends HookName>(
    { record }: Call,
    name: Name,
    context: Omit<HookContextOf<Name>, 'signal'>,
    check?: (result: HookResultOf<Name>) => string | undefined,
  ): Promise<HookResultOf<Name> | undefined> {
    return this.#parts.hooks.run(name, context, check, (title) => {
      record.hook = name;
      record.hookName = title;
    });
  }

  #world(call: Call, facts: RequestFacts): World {
    const { challenges, recentSites, states } = this.#parts;
    let challenger: NodeName | undefined;
    let isRetry = false;
    for (const { nonce } of facts.credentials) {
      if (nonce === undefined || challenger !== undefined) continue;
      challenger = challenges.challengerOf(nonce);
      isRetry = challenges.firstAnswer(nonce);
    }
    return {
      states: states(call.request.link.name),
      turnOf: (system) => this.#turns.get(system) ?? 0,
      seenAt: (system, account) => recentSites.siteOf(system, account),
      challenger,
      isRetry,
    };
  }

  #takeTurn({ snapshot }: Settings, system: string): void {
    if (snapshot.systems.get(system)?.affinity === 'none')
      this.#turns.set(system, (this.#turns.get(system) ?? 0) + 1);
  }

  #move(call: Call, to: Standing): void {
    this.#parts.admission.move(call.standing, to);
    call.standing = to;
  }

  /**
   * Whether the request is left to the instance that has the addresses, or will have them in a moment. Until they are gone a
   * proxied request is carried: its answers find their way through any instance. The others would end with ours: in silence,
   * so that they are sent again; where the SIP server has said 100 to an INVITE, with a 503.
   */
  async #isLeft(call: Call, decision: CarriedDecision): Promise<boolean> {
    const { request, record, standing } = call;
    const { admission } = this.#parts;
    const cameLate = standing === 'late' && decision.relay !== 'proxy';
    if (admission.maySend && !cameLate) return false;
    if (admission.maySend && wasSaid100(request)) {
      await this.#sendElsewhere(call);
    } else {
      record.reason = 'standby';
      record.ending = 'dropped';
      request.link.drop(request, 'take');
    }
    return true;
  }

  /** Answers 503: the caller shall come again, to the instance that has the addresses then. */
  async #sendElsewhere(call: Call): Promise<void> {
    this.#undecided.delete(call);
    call.refused = true;
    call.record.reason = 'standby';
    call.record.status = 503;
    const headers: HeaderLine[] = [['Retry-After', String(HANDED_OVER_RETRY_AFTER_S)]];
    await this.#parts.relays.answer(call.request, { status: 503, headers });
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
      beforeAnswer: (answer, response) => this.#onResponse(call, decision, response, answer),
    });
    this.#noteResult(record, result);
    if (result.kind === 'answered' && order.relay === 'proxy') {
      // The server has answered already; hooks may look on.
      await this.#onResponse(call, decision, { status: result.answer.status }, result.answer);
    }
  }

  #noteResult(record: RequestRecord, result: RelayResult): void {
    record.ending = result.kind;
    record.attempts = result.attempts;
    const last = result.attempts.at(-1)?.target;
    const target = result.kind === 'answered' ? (result.answer.target ?? last) : last;
    record.site = target?.site;
    record.node = target?.node ?? target?.uri;
    if (result.kind === 'answered') record.status = result.answer.status;
    if (result.kind === 'lost') {
      record.reason = result.reason;
      record.cause = result.cause;
    }
  }

  async #onResponse(
    call: Call,
    decision: Decision | undefined,
    response: ResponseSpec,
    answer?: RelayedAnswer,
  ): Promise<ResponseSpec> {
    const { hooks } = this.#parts;
    if (!hooks.has('onResponse')) return response;
    const said = await hooks.run('onResponse', {
      ...call.context,
      decision,
      status: response.status,
      answer: answer?.message,
      site: answer?.target?.site,
    });
    return said === undefined
      ? response
      : { ...response, headers: [...(response.headers ?? []), ...said.add] };
  }

  /** An answer of our own. */
  async #answer(call: Call, response: ResponseSpec, decision?: Decision): Promise<void> {
    const { record, request } = call;
    const changed = await this.#onResponse(call, decision, response);
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
    const { request, record, context } = call;
    const { hooks, log, relays } = this.#parts;
    record.reason = error instanceof Error ? error.message : String(error);
    log.error({ id: record.id, callId: record.callId, err: error }, 'request failed');
    try {
      if (hooks.has('onError')) await hooks.run('onError', { ...context, error });
    } catch {
      // The runner has logged it; nothing is left that could fail.
    }
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

/** Whether the SIP server has said 100 by itself to what has no other answer yet: it is not sent again. */
const wasSaid100 = ({ message, link, settled, cancelled }: InboundRequest): boolean =>
  message.method === 'INVITE' && !link.capabilities.dropRequests && !settled && !cancelled;

/** RFC 3261 §11: an OPTIONS that has used up its hops may be answered by us instead of refused. */
const isOptionsAtEnd = (request: InboundRequest, status: number): boolean =>
  status === 483 && request.message.method === 'OPTIONS';

/** A hook sends requests to nodes of the configuration only. */
function foreignIn(plan: HookPlan, snapshot: Snapshot): string | undefined {
  const index = plan.findIndex((node) => destinationOf(snapshot, node) === undefined);
  const { system, site, node } = plan[index] ?? {};
  if (system === undefined) return undefined;
  return `plan[${index}]: expected a node of the configuration, found ${system}/${site}/${node}`;
}

const hookWords = ({ hook = '', hookName = '' }: RequestRecord): string => `hook ${hook} '${hookName}'`;

const hookAnswer = ({ record }: Call, { respond: { status, reason, headers } }: HookAnswer): Answered =>
  new Answered(
    {
      status,
      ...(reason === undefined ? {} : { reason }),
      ...(headers === undefined ? {} : { headers }),
    },
    undefined,
    `${hookWords(record)} answered it`,
  );
