import type { OrderFacts, CarriedDecision } from '../dispatch/order';
import type { RequestRecord } from '../dispatch/request-record';
import type { HookAnswer, HookContextOf, HookName, HookPlan, HookResultOf, Hooks } from '../hooks';
import type { ResponseSpec } from '../link/sip-link';
import type { RelayedAnswer } from '../relay/relay';
import type { KeyAnswer } from '../routing/deciding';
import type { Decision, LookupKey } from '../routing/decision';
import type { Question } from '../routing/enquire';
import { KeyList } from '../routing/keys';
import { destinationOf, type Snapshot } from '../routing/snapshot';
import { Answered, type Call, type Way } from './call';
import { headerChange, relayWithout } from './hook-headers';

/** The hooks along the way of a request, and what they make of it. */
export class CallHooks {
  readonly #hooks: Hooks;

  constructor(hooks: Hooks) {
    this.#hooks = hooks;
  }

  async onRequest(call: Call): Promise<Answered | undefined> {
    if (!this.#hooks.has('onRequest')) return undefined;
    const said = await this.#ask(call, 'onRequest', call.context);
    return said === undefined ? undefined : hookAnswer(call, said);
  }

  async beforeLookup(call: Call, question: Question): Promise<Question | Answered> {
    if (!this.#hooks.has('beforeLookup')) return question;
    const keys = question.keys.all().map(({ key }) => key);
    const said = await this.#ask(call, 'beforeLookup', { ...call.context, keys });
    if (said === undefined) return question;
    if ('respond' in said) return hookAnswer(call, said);
    return { ...question, keys: KeyList.of(said.keys, 'a hook') };
  }

  async beforeRoute(
    call: Call,
    question: Question,
    answers: readonly KeyAnswer[],
  ): Promise<readonly KeyAnswer[] | Answered> {
    if (!this.#hooks.has('beforeRoute')) return answers;
    const place = answers.findIndex((one) => one !== null && one !== 'unavailable');
    const found = answers[place];
    const answer = found === null || found === 'unavailable' ? undefined : found;
    const key: LookupKey | undefined = question.keys.at(Math.max(0, place))?.key;
    const said = await this.#ask(call, 'beforeRoute', { ...call.context, key, answer });
    if (said === undefined) return answers;
    return 'respond' in said ? hookAnswer(call, said) : [said.answer];
  }

  async beforeRelay(call: Call, decision: CarriedDecision, behindNat: boolean): Promise<Way> {
    const facts: OrderFacts = { behindNat, add: [], remove: [] };
    if (!this.#hooks.has('beforeRelay')) return { decision, facts };
    const { snapshot } = call.settings;
    const said = await this.#ask(call, 'beforeRelay', { ...call.context, decision }, (result) =>
      'plan' in result ? foreignIn(result.plan ?? [], snapshot) : undefined,
    );
    if (said === undefined) return { decision, facts };
    if ('respond' in said) return hookAnswer(call, said);
    const { plan, add = [], remove = [] } = said;
    const changed =
      plan !== undefined && decision.kind === 'dispatch'
        ? { ...decision, plan: plan.flatMap((node) => destinationOf(snapshot, node) ?? []) }
        : decision;
    const carried = relayWithout(call.request, changed, remove);
    call.record.relay = carried.relay;
    return {
      decision: carried,
      facts: { behindNat, ...headerChange(call.request, carried, { add, remove }) },
    };
  }

  async onResponse(
    call: Call,
    decision: Decision | undefined,
    response: ResponseSpec,
    answer?: RelayedAnswer,
  ): Promise<ResponseSpec> {
    if (!this.#hooks.has('onResponse')) return response;
    const said = await this.#hooks.run('onResponse', {
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

  /** Never rejects. */
  async onError({ context }: Call, error: unknown): Promise<void> {
    try {
      if (this.#hooks.has('onError')) await this.#hooks.run('onError', { ...context, error });
    } catch {
      // The runner has logged it; nothing is left that could fail.
    }
  }

  /** Runs hooks that may change a request's way; the last that does so is in its record. */
  #ask<Name extends HookName>(
    { record }: Call,
    name: Name,
    context: Omit<HookContextOf<Name>, 'signal'>,
    check?: (result: HookResultOf<Name>) => string | undefined,
  ): Promise<HookResultOf<Name> | undefined> {
    return this.#hooks.run(name, context, check, (title) => {
      record.hook = name;
      record.hookName = title;
    });
  }
}

/** A hook sends requests to nodes of the configuration only. */
function foreignIn(plan: HookPlan, snapshot: Snapshot): string | undefined {
  const index = plan.findIndex((node) => destinationOf(snapshot, node) === undefined);
  const { system, site, node } = plan[index] ?? {};
  if (system === undefined) return undefined;
  return `plan[${index}]: expected a node of the configuration, found ${system}/${site}/${node}`;
}

export const hookWords = ({ hook = '', hookName = '' }: RequestRecord): string =>
  `hook ${hook} '${hookName}'`;

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
