import { RuleLimits } from '../admission/rule-limits';
import { ask, type Registry } from '../dispatch/ask';
import { flowFact } from '../dispatch/flows';
import type { Lessons } from '../dispatch/lessons';
import { RegistryTrouble } from '../dispatch/registry-trouble';
import { noteDecision } from '../dispatch/request-record';
import type { InboundRequest, ResponseSpec } from '../link/sip-link';
import { checkRequest } from '../message/validate';
import { detectNat } from '../nat/detect';
import type { FlowTokens } from '../nat/flow-token';
import { isOurs } from '../routing/admit';
import type { Challenges } from '../routing/challenges';
import { decide } from '../routing/decide';
import type { World } from '../routing/deciding';
import type { Decision, RequestFacts } from '../routing/decision';
import { enquire } from '../routing/enquire';
import { readFacts } from '../routing/facts';
import type { NodeName } from '../routing/plan';
import type { RecentSites } from '../routing/recent-sites';
import type { NodeStates } from '../routing/states';
import type { MonotonicClock } from '../telemetry/clock';
import type { Logger } from '../telemetry/logger';
import { Answered, type Call, type Way } from './call';
import { hookWords, type CallHooks } from './call-hooks';
import type { Settings } from './settings';

export interface RouterParts {
  /** What operators and health say of each node, as this SIP server sees it. */
  readonly states: (server: string) => NodeStates;
  readonly registry: Registry;
  readonly challenges: Challenges;
  readonly recentSites: RecentSites;
  readonly lessons: Lessons;
  readonly tokens: () => FlowTokens;
  readonly log: Logger;
  readonly now: MonotonicClock;
}

/** For a destination that takes no more now. */
const TOO_MANY: ResponseSpec = {
  status: 503,
  reason: 'Destination Limit Reached',
  headers: [['Retry-After', '1']],
};

/** Finds the way of a request: what is to happen with it. */
export class Router {
  readonly #parts: RouterParts;
  readonly #hooks: CallHooks;
  readonly #turns = new Map<string, number>();
  readonly #rules: RuleLimits;
  readonly #trouble: RegistryTrouble;

  constructor(parts: RouterParts, hooks: CallHooks) {
    this.#parts = parts;
    this.#hooks = hooks;
    this.#trouble = new RegistryTrouble(parts.log, parts.now);
    this.#rules = new RuleLimits(parts.now);
  }

  /** From the message to what is to happen with it, hooks on the way. */
  async wayOf(call: Call): Promise<Way> {
    const { request, settings } = call;
    const { message } = request;

    const fault = checkRequest(message, request.source.transport === 'udp' ? 'datagram' : 'stream');
    if (fault !== undefined && !isOptionsAtEnd(request, fault.status)) {
      return message.method === 'ACK' ? 'drop' : new Answered(fault, undefined, 'the message is malformed');
    }

    const said = await this.#hooks.onRequest(call);
    if (said !== undefined) return said;

    const read = this.#facts(call);
    if (!read.ok) {
      const { status, reason } = read;
      return new Answered({ status, reason }, undefined, 'the Request-URI cannot be routed');
    }
    const enquiry = enquire(read.facts, settings.snapshot);
    if (enquiry.kind === 'decided') return this.#settled(call, enquiry.decision, read.facts);

    const question = await this.#hooks.beforeLookup(call, enquiry);
    if (question instanceof Answered) return question;
    const answers = await ask(this.#parts.registry, question.keys, (key, error) =>
      this.#trouble.note(call.record.id, key, error),
    );

    const known = await this.#hooks.beforeRoute(call, question, answers);
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
    if (decision.kind !== 'answer') return this.#hooks.beforeRelay(call, decision, facts.behindNat);
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
}

/** RFC 3261 §11: an OPTIONS that has used up its hops may be answered by us instead of refused. */
const isOptionsAtEnd = (request: InboundRequest, status: number): boolean =>
  status === 483 && request.message.method === 'OPTIONS';
