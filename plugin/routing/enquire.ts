import { canonicalHost } from './address';
import {
  answer,
  foreignRoutes,
  isForUs,
  isOurs,
  optionsAnswer,
  ownRoutesLeft,
  refusal,
  ROUTE,
} from './admit';
import type { Decision, FlowFact, RequestFacts, RouteFact, Step } from './decision';
import { callerKeys, calledKeys, keyUser, peerNumber, registeredKeys, type KeyList } from './keys';
import { normaliseUser } from './number';
import { chooseRelay, farFlow } from './relay-choice';
import { sourceOf, type Snapshot, type Source } from './snapshot';

/** What the registry is to be asked before the decision, the first key it knows deciding. */
export interface Question {
  readonly kind: 'ask';
  readonly facts: RequestFacts;
  readonly source: Source;
  /** What the decision is about: the caller's or called party's system, or a way out of our systems. */
  readonly direction: 'to_system' | 'from_site';
  readonly keys: KeyList;
  /** The Request-URI's host is ours (or a node of ours). */
  readonly ours: boolean;
  /** The called user in our own form, if a peer's number format changed it. */
  readonly calledUser: string | undefined;
  readonly routes: readonly RouteFact[];
  /** Headers the source's role may not say. */
  readonly strip: readonly string[];
  /** The source may assert identities. */
  readonly believed: boolean;
}

export type Enquiry =
  { readonly kind: 'decided'; readonly decision: Decision; readonly source: Source } | Question;

const NOTHING: readonly string[] = Object.freeze([]);

/**
 * The first half of a decision: who is asking, what can be settled without the registry, and the keys to ask it for.
 * Pure: the same facts and snapshot give the same enquiry.
 * @param steps collects the reasons, for `dsbc explain`; absent: none are made
 */
export function enquire(facts: RequestFacts, snapshot: Snapshot, steps?: Step[]): Enquiry {
  const source = sourceOf(snapshot, facts.source.address);
  steps?.push({ step: 'source', because: `${facts.source.address} is ${sourceWords(source)}` });
  const refused = refusal(facts, source, snapshot, steps);
  if (refused !== undefined) return { kind: 'decided', decision: refused, source };
  const routes = facts.routes.length === 0 ? facts.routes : foreignRoutes(facts, snapshot);
  if (steps !== undefined && routes.length < facts.routes.length) {
    steps.push({ step: 'route', because: 'the Route that names us is taken off' });
  }
  const decided =
    facts.flow === undefined || isNoToken(facts.flow, source)
      ? badRoute(facts, source, snapshot, routes, steps)
      : toFlow(facts, source, snapshot, routes, steps);
  if (decided !== undefined) return { kind: 'decided', decision: decided, source };
  if (isForUs(snapshot, facts)) return { kind: 'decided', decision: optionsAnswer(steps), source };
  return question(facts, source, snapshot, routes, steps);
}

function sourceWords(source: Source): string {
  if (source.role === 'site') return `site ${source.site} of system ${source.system}`;
  return source.role === 'peer' ? `peer ${source.peer.name}` : 'an endpoint';
}

/** Nobody but a site chooses where a request goes next: a Route to anywhere but our own nodes is refused. */
function badRoute(
  facts: RequestFacts,
  source: Source,
  snapshot: Snapshot,
  routes: readonly RouteFact[],
  steps: Step[] | undefined,
): Decision | undefined {
  if (routes.length === 0) return undefined;
  if (routes.some((route) => route.host === ''))
    return answer(steps, 400, 'Bad Route', 'a Route value is malformed');
  if (source.role === 'site') return undefined;
  const foreign = routes.find(
    ({ host, port }) => !snapshot.nodeHosts.has(canonicalHost(host)) && !isOurs(snapshot, facts, host, port),
  );
  if (foreign === undefined) return undefined;
  return answer(steps, 403, 'Route Not Allowed', `its Route names ${foreign.host}, which is not ours`);
}

/** Only sites have tokens to send: another's user part in a Route that names us is any name (RFC 3261 §16.4: taken off with it). */
const isNoToken = (flow: FlowFact, source: Source): boolean =>
  flow.state === 'forged' && source.role !== 'site';

/** A site's request along our flow token: to the endpoint that registered over that flow. */
function toFlow(
  facts: RequestFacts,
  source: Source,
  snapshot: Snapshot,
  routes: readonly RouteFact[],
  steps: Step[] | undefined,
): Decision {
  const { flow } = facts;
  if (flow === undefined || flow.state === 'forged') {
    return answer(steps, 403, 'Forbidden', 'the flow token in its Route is not one of ours');
  }
  if (source.role !== 'site') return answer(steps, 403, 'Forbidden', 'only sites may use flow tokens');
  if (flow.state === 'gone')
    return answer(steps, 430, 'Flow Failed', 'the connection of that flow is closed');
  steps?.push({ step: 'route', because: 'our flow token names the endpoint: the packet goes to its flow' });
  const site = snapshot.systems.get(source.system)?.sites.find((one) => one.name === source.site);
  const choice = chooseRelay(
    facts,
    {
      dialogs: snapshot.dialogs.endpoint,
      natDialogs: site?.natDialogs ?? 'on_path',
      far: farFlow(facts),
      strip: ownRoutesLeft(facts, routes),
    },
    steps,
  );
  return {
    kind: 'to_flow',
    ...choice,
    distrusted: 'callee',
    requestUri: facts.targetText,
    flow: flow.token,
    routes: routes.map((route) => route.text),
    steps: steps ?? [],
  };
}

function question(
  facts: RequestFacts,
  source: Source,
  snapshot: Snapshot,
  routes: readonly RouteFact[],
  steps: Step[] | undefined,
): Enquiry {
  const { target, method } = facts;
  const ours =
    target.host === '' ||
    isOurs(snapshot, facts, target.host, target.port) ||
    snapshot.nodeHosts.has(canonicalHost(target.host));
  const calledUser = dialledUser(facts, source);
  const strip = stripped(facts, source, routes);
  if (steps !== undefined) sayChanges(steps, facts, calledUser, strip);
  const ask = (direction: Question['direction'], keys: KeyList): Question => ({
    kind: 'ask',
    facts,
    source,
    direction,
    keys,
    ours,
    calledUser,
    routes,
    strip,
    believed: mayName(source),
  });
  const refuse = (because: string): Enquiry => decided(source, answer(steps, 404, 'Not Found', because));
  const isRegister = method === 'REGISTER';
  const isUrn = target.scheme === 'urn';
  if (source.role === 'site' && !(isRegister && ours) && !isUrn) {
    return ask('from_site', calledKeys(keyUser(target), ours));
  }
  if (isUrn) return ask('to_system', callerKeys(facts));
  if (!ours && (isRegister || source.role === 'peer'))
    return refuse(`${target.host} is not a domain of ours`);
  if (isRegister) return ask('to_system', registeredKeys(facts));
  if (!ours) return ask('to_system', callerKeys(facts));
  if (target.user === undefined || target.user === '') return refuse('the Request-URI names no user');
  if (source.role === 'peer') {
    const called = calledUser === undefined ? keyUser(target) : normaliseUser(calledUser, true);
    return ask('to_system', calledKeys(called, true));
  }
  return ask(
    'to_system',
    callerKeys(facts, () => keyUser(target)),
  );
}

/** Whether this source may assert identities: sites, and peers that the configuration trusts. */
const mayName = (source: Source): boolean =>
  source.role === 'site' || (source.role === 'peer' && source.peer.trust_identity === true);

/** Identity headers that the source may not say; and Routes behind ours, since where a system's request goes is ours to say. */
function stripped(facts: RequestFacts, source: Source, routes: readonly RouteFact[]): readonly string[] {
  const identity = mayName(source) ? NOTHING : facts.identityHeaders;
  const left = routes.length === 0 ? ownRoutesLeft(facts, routes) : ROUTE;
  return left.length === 0 ? identity : [...identity, ...left];
}

/** What of the request will not go on as it came. */
function sayChanges(
  steps: Step[],
  { target }: RequestFacts,
  calledUser: string | undefined,
  strip: readonly string[],
): void {
  if (calledUser !== undefined && calledUser !== target.user)
    steps.push({
      step: 'number',
      because: `${target.user ?? ''} is ${calledUser} by this peer's number format`,
    });
  if (strip.length > 0)
    steps.push({
      step: 'headers',
      because: `${strip.join(', ')}: taken off, since this source may not say it`,
    });
}

const decided = (source: Source, decision: Decision): Enquiry => ({ kind: 'decided', decision, source });

/** The user a peer's number format turns its dialled one into; undefined where it changes nothing. */
function dialledUser({ target }: RequestFacts, source: Source): string | undefined {
  if (source.role !== 'peer' || target.user === undefined) return undefined;
  const { prefix_strip: strip = '', prefix_add: add = '' } = source.peer;
  if (strip === '' && add === '') return undefined;
  const number = keyUser(target);
  if (number === undefined) return undefined;
  // Parameters of the number (`;npdi;rn=…`) travel on.
  const semicolon = number.includes(';') ? -1 : target.user.indexOf(';');
  return peerNumber(number, source.peer) + (semicolon < 0 ? '' : target.user.slice(semicolon));
}
