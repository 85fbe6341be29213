import type { Decision, LookupKey, RequestFacts, Step } from './decision';
import { answeredBy, refuse, unavailable, type Deciding, type KeyAnswer, type World } from './deciding';
import { enquire, type Question } from './enquire';
import { fromSite } from './from-site';
import { nodeKey, type Snapshot } from './snapshot';
import { toSystem } from './to-system';

/**
 * The second half of a decision: from what the registry said to what happens. Pure.
 * @param answers one for each key asked, in the order of `question.keys`; it may end at the first that is known
 * @param steps collects the reasons; absent: none are made
 */
export function decide(
  question: Question,
  answers: readonly KeyAnswer[],
  snapshot: Snapshot,
  world: World,
  steps?: Step[],
): Decision {
  const at = answers.findIndex((one) => one !== null && one !== 'unavailable');
  const found = answers[at];
  const known = found === null || found === 'unavailable' ? undefined : found;
  if (steps !== undefined) registrySteps(question, answers, at, steps);
  const deciding: Deciding = {
    question,
    snapshot,
    world,
    steps,
    key: question.keys.at(Math.max(0, at))?.key,
    known,
    isDark: known === undefined && answers.includes('unavailable'),
  };
  if (known?.blocked === true)
    return refuse(deciding, 403, 'Forbidden', `${answeredBy(deciding)} says that it is blocked`);
  if (question.direction === 'from_site' && question.source.role === 'site') {
    return fromSite(deciding, question.source.system);
  }
  const challenged = challengedBy(deciding);
  if (challenged !== undefined) return toSystem(deciding, challenged);
  return known === undefined ? unknown(deciding) : toSystem(deciding, known.system);
}

/**
 * The system whose node challenged the request's first try, if that is not the one the registry names now: a customer
 * moved between a challenge and its retry, which nobody else could understand. Not where that node is down.
 */
function challengedBy({ world, snapshot, known, steps }: Deciding): string | undefined {
  const { challenger, isRetry, states } = world;
  if (isRetry !== true || challenger === undefined || challenger.system === known?.system) return undefined;
  const { system, site, node } = challenger;
  const key = nodeKey(system, site, node);
  const isThere = snapshot.systems
    .get(system)
    ?.sites.some(({ nodes }) => nodes.some((one) => one.key === key));
  if (isThere !== true || states.get(key) === 'down') return undefined;
  steps?.push({ step: 'system', because: `${system}: it sent the challenge this answers` });
  return system;
}

function registrySteps(question: Question, answers: readonly KeyAnswer[], at: number, steps: Step[]): void {
  answers.forEach((one, i) => {
    const candidate = question.keys.at(i);
    if (candidate === undefined || (at >= 0 && i > at)) return;
    const { key, part } = candidate;
    const said =
      one === null
        ? 'not in the registry'
        : one === 'unavailable'
          ? 'the registry cannot be asked now'
          : `in system ${one.system}${one.account === undefined ? '' : `, rings account ${one.account}`}`;
    steps.push({ step: 'registry', because: `${key.kind} ${key.value} (${part}): ${said}` });
  });
}

/** Nobody in the registry: the default system if there is one, else 404; nothing at all for hosts that are not ours. */
function unknown(deciding: Deciding): Decision {
  const { question, snapshot, steps, key, isDark } = deciding;
  if (!question.ours) {
    return refuse(deciding, 404, 'Not Found', `${question.facts.target.host} is not a domain of ours`);
  }
  const fallback = snapshot.defaultSystem;
  if (isDark && (snapshot.rejectOnRegistryError || fallback === undefined)) {
    return unavailable(deciding, 'the registry cannot be asked now');
  }
  if (fallback === undefined || key === undefined) {
    return refuse(deciding, 404, 'Not Found', `${answeredBy(deciding)} knows none of them`);
  }
  steps?.push({ step: 'system', because: `${fallback}, the default system` });
  return toSystem(deciding, fallback);
}

/**
 * Both halves at once, for a registry that answers at once: `dsbc explain`, table tests and the bench. Keys are
 * looked up in order until one is known, as the call path does.
 */
export function route(
  facts: RequestFacts,
  snapshot: Snapshot,
  lookup: (key: LookupKey) => KeyAnswer,
  world: World,
  steps?: Step[],
): Decision {
  const enquiry = enquire(facts, snapshot, steps);
  if (enquiry.kind === 'decided') return enquiry.decision;
  const answers: KeyAnswer[] = [];
  for (let place = 0; ; place++) {
    const candidate = enquiry.keys.at(place);
    if (candidate === undefined) break;
    const found = lookup(candidate.key);
    answers.push(found);
    if (found !== null && found !== 'unavailable') break;
  }
  return decide(enquiry, answers, snapshot, world, steps);
}
