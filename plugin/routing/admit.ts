import type { AnswerDecision, AnswerHeader, DropDecision, RequestFacts, RouteFact, Step } from './decision';
import type { Snapshot, Source } from './snapshot';
import { isTooLong } from './target';

/** Every method we pass on or answer; said in Allow. */
export const ALLOWED_METHODS =
  'INVITE, ACK, CANCEL, BYE, OPTIONS, REGISTER, SUBSCRIBE, NOTIFY, PUBLISH, MESSAGE, INFO, REFER, UPDATE, PRACK';

const NO_STEPS: readonly Step[] = Object.freeze([]);
const NO_NAMES: readonly string[] = Object.freeze([]);

/** An answer of our own, with the reason as its last step. */
export function answer(
  steps: Step[] | undefined,
  status: number,
  reason: string,
  because: string,
  headers?: readonly AnswerHeader[],
): AnswerDecision {
  steps?.push({ step: 'answer', because: `${status} ${reason}: ${because}` });
  return {
    kind: 'answer',
    status,
    reason,
    because,
    ...(headers === undefined ? {} : { headers }),
    steps: steps ?? NO_STEPS,
  };
}

/** Whether a URI's host means us: an entry address, a domain, or the address the packet came in on. */
export function isOurs(
  snapshot: Snapshot,
  facts: Pick<RequestFacts, 'receivedOn'>,
  host: string,
  port: number | undefined,
): boolean {
  if (snapshot.own.has(host, port)) return true;
  const { address } = facts.receivedOn;
  return (
    (host === address || host === `[${address}]`) && (port === undefined || port === facts.receivedOn.port)
  );
}

/**
 * How often a request has already been through us. Neighbouring Vias of ours are one pass: behind drachtio-server the
 * guard of a failover loops the request through our own address.
 */
function ownPasses(snapshot: Snapshot, facts: RequestFacts): number {
  let passes = 0;
  let wasOurs = false;
  for (const via of facts.vias) {
    const ours = snapshot.own.isAddress(via.host, via.port ?? 5060);
    if (ours && !wasOurs) passes++;
    wasOurs = ours;
  }
  return passes;
}

/** One pass before this one is a spiral (a site sending the call on to another target); an endpoint never spirals. */
const MAX_PASSES = { endpoint: 0, peer: 1, site: 2 } as const;

const NEEDS_DIALOG = new Set(['BYE', 'PRACK', 'UPDATE']);
const OUTSIDE_DIALOGS = new Set(['REGISTER', 'PUBLISH']);

/**
 * What RFC 3261 §16.3 and RFC 5393 have a proxy check, and what can never be routed whoever asks. The SIP message
 * itself was validated before.
 * @returns the refusal, or undefined if the request may go on
 */
export function refusal(
  facts: RequestFacts,
  source: Source,
  snapshot: Snapshot,
  steps: Step[] | undefined,
): AnswerDecision | DropDecision | undefined {
  const { method, target } = facts;
  if (method === 'ACK' || method === 'CANCEL') {
    const because = `a ${method} that belongs to nothing here is never answered`;
    steps?.push({ step: 'drop', because });
    return { kind: 'drop', because, steps: steps ?? NO_STEPS };
  }
  if (facts.maxForwards === 0 && !isForUs(snapshot, facts)) {
    return answer(steps, 483, 'Too Many Hops', 'Max-Forwards is 0');
  }
  if (facts.maxBreadth === 0)
    return answer(steps, 440, 'Max-Breadth Exceeded', 'Max-Breadth is 0 (RFC 5393 §5.3.3)');
  if (facts.vias.length > 0 && ownPasses(snapshot, facts) > MAX_PASSES[source.role]) {
    return answer(steps, 482, 'Loop Detected', 'our own Via is already on it');
  }
  if (facts.proxyRequire.length > 0) {
    const wanted = facts.proxyRequire.join(', ');
    return answer(steps, 420, 'Bad Extension', `Proxy-Require names ${wanted}`, [['Unsupported', wanted]]);
  }
  if (isTooLong(target))
    return answer(steps, 414, 'Request-URI Too Long', 'no registry holds such a user or host');
  if (target.scheme === 'urn' && !/^service:/i.test(target.user ?? '')) {
    return answer(steps, 416, 'Unsupported URI Scheme', 'of urn only urn:service is routed');
  }
  if ((facts.inDialog && !OUTSIDE_DIALOGS.has(method)) || NEEDS_DIALOG.has(method)) {
    return answer(
      steps,
      481,
      'Call/Transaction Does Not Exist',
      'it belongs to a dialog that is not known here',
    );
  }
  return undefined;
}

/** OPTIONS to us, not to a user of ours. */
export function isForUs(snapshot: Snapshot, facts: RequestFacts): boolean {
  const { method, target } = facts;
  return (
    method === 'OPTIONS' &&
    (target.user === undefined || target.user === '') &&
    isOurs(snapshot, facts, target.host, target.port)
  );
}

export const optionsAnswer = (steps: Step[] | undefined): AnswerDecision =>
  answer(steps, 200, 'OK', 'OPTIONS to the DSBC itself', [
    ['Allow', ALLOWED_METHODS],
    ['Accept', 'application/sdp'],
  ]);

/** Route values that remain once those on top that name us are gone (RFC 3261 §16.4). */
export function foreignRoutes(facts: RequestFacts, snapshot: Snapshot): readonly RouteFact[] {
  const { routes } = facts;
  let at = 0;
  while (at < routes.length) {
    const route = routes[at];
    if (route === undefined || !isOurs(snapshot, facts, route.host, route.port)) break;
    at++;
  }
  return at === 0 ? routes : routes.slice(at);
}

/** What is taken off a request that may not say where it goes next. */
export const ROUTE: readonly string[] = Object.freeze(['route']);

/**
 * The Route, where more than one of its values name us and none follows them: a SIP server that proxies takes off the one on top,
 * and the next hop would send the request back to us by the second.
 */
export const ownRoutesLeft = (facts: RequestFacts, routes: readonly RouteFact[]): readonly string[] =>
  routes.length === 0 && facts.routes.length > 1 ? ROUTE : NO_NAMES;
