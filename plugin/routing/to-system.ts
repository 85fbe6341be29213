import { canonicalHost } from './address';
import type { Decision, RequestFacts } from './decision';
import { answeredBy, refuse, unavailable, type Deciding } from './deciding';
import { makePlan, type PlanResult } from './plan';
import { chooseRelay, farSender, opensDialog } from './relay-choice';
import type { SystemModel } from './snapshot';
import { askedOf, systemUri } from './target';

/** drachtio-server never sends what is proxied to a URI over 255 bytes, and does not say so (measured). */
const MAX_PROXIED_USER = 200;

/** The plan of a request within a system, and the text that chose the site. */
export function planIn(
  { question, world, steps, key, known }: Deciding,
  system: SystemModel,
): { readonly affinityKey: string; readonly result: PlanResult } {
  const { source, facts } = question;
  const account = known?.account ?? key?.value ?? facts.callId;
  const affinityKey = system.affinity === 'call' ? facts.callId : account;
  const result = makePlan(
    system,
    world.states,
    {
      affinityKey,
      turn: system.affinity === 'none' ? world.turnOf(system.name) : 0,
      pinned: known?.site,
      seenAt: world.states.size === 0 ? undefined : world.seenAt(system.name, account),
      exclude: source.role === 'site' && source.system === system.name ? source.site : undefined,
      challenger: world.challenger,
    },
    steps,
  );
  return { affinityKey, result };
}

/** The answer when a system has no site for the request. */
export const noPlan = (deciding: Deciding, system: string, why: 'maintenance' | 'only_source'): Decision =>
  why === 'only_source'
    ? refuse(deciding, 404, 'Not Found', 'it lives at the very site that asks', { system })
    : unavailable(deciding, `every site of system ${system} is in maintenance`, system);

/** To a site of a system: the plan, the Request-URI and the way it is carried. */
export function toSystem(deciding: Deciding, systemName: string): Decision {
  const { question, snapshot, steps, key, known } = deciding;
  const { facts, source } = question;
  const system = snapshot.systems.get(systemName);
  if (system === undefined) {
    return unavailable(
      deciding,
      `${answeredBy(deciding)} names system ${systemName}, which is not configured`,
    );
  }
  if (hasUnsafeContact(deciding))
    return refuse(deciding, 400, 'Contact Without Host', 'the SIP server cannot carry it');
  const { affinityKey, result } = planIn(deciding, system);
  if (result.kind === 'none') return noPlan(deciding, systemName, result.why);
  const { plan, afterChallenge } = result;
  const site = system.sites.find((one) => one.name === plan[0]?.site);
  const uriFor = (escape: boolean): string =>
    systemUri(snapshot, system, facts.target, facts.targetText, {
      asked: askedOf(facts.target, question.calledUser),
      foreign: !question.ours,
      escape,
    });
  const proxied = uriFor(false);
  const choice = chooseRelay(
    facts,
    {
      dialogs: source.role === 'site' ? 'auto' : snapshot.dialogs[source.role],
      natDialogs: site?.natDialogs ?? 'on_path',
      far: source.role === 'site' ? undefined : farSender(facts),
      strip: question.strip,
      rewritten: !facts.server.proxiedRequestUri && !proxySends(facts, proxied),
    },
    steps,
  );
  const { user = '' } = facts.target;
  if (choice.relay !== 'forward' && !facts.server.exactHeaders && user.length > MAX_PROXIED_USER) {
    return refuse(
      deciding,
      414,
      'Request-URI Too Long',
      'the SIP server drops proxied requests to so long a user',
    );
  }
  const escape = choice.relay !== 'proxy' && !facts.server.exactHeaders;
  const requestUri = escape ? uriFor(true) : proxied;
  return {
    kind: 'dispatch',
    relay: choice.relay,
    onPath: choice.onPath,
    failover: choice.failover,
    strip: choice.strip,
    ...(question.believed ? {} : { distrusted: 'caller' }),
    requestUri,
    key,
    answer: known,
    affinityKey,
    system: systemName,
    plan,
    afterChallenge,
    steps: steps ?? [],
  };
}

/**
 * Whether drachtio-server's proxy sends this Request-URI, or one as good. It keeps the one it got, or, where that names
 * the server itself, puts the node's address with the user asked for in its place. A tel URI stays (it means the same).
 */
function proxySends({ target, targetText, receivedOn }: RequestFacts, requestUri: string): boolean {
  if (requestUri === targetText || target.scheme === 'tel') return true;
  // It does not know itself behind a user part with parameters.
  if (target.user?.includes(';') === true) return false;
  return (
    canonicalHost(target.host) === canonicalHost(receivedOn.address) &&
    (target.port ?? 5060) === receivedOn.port
  );
}

/** A Contact without a host (`*`, `tel:`) in a request that opens a dialog ends drachtio-server. */
export const hasUnsafeContact = ({ question: { facts } }: Deciding): boolean =>
  opensDialog(facts.method) && facts.contact?.host === '' && !facts.server.hostlessContactSafe;
