import { answer, ownRoutesLeft } from './admit';
import type { AnswerHeader, Decision } from './decision';
import { refuse, unavailable, type Deciding } from './deciding';
import { outboundPolicy } from './policy';
import { chooseRelay } from './relay-choice';
import { askedOf, contactAt, nextHopOf } from './target';
import { hasUnsafeContact, noPlan, planIn, toSystem } from './to-system';

/** A site's request: to another system, to another site of its own, or out to the world if that is allowed. */
export function fromSite(deciding: Deciding, ownSystem: string): Decision {
  const { question, snapshot, steps, known, isDark } = deciding;
  if (known !== undefined && known.system !== ownSystem) {
    steps?.push({ step: 'system', because: `${known.system}: a call between systems` });
    return snapshot.interSystem === 'relay'
      ? toSystem(deciding, known.system)
      : redirect(deciding, known.system);
  }
  if (!question.ours) return outbound(deciding);
  if (known !== undefined) return toSystem(deciding, known.system);
  if (isDark) return unavailable(deciding, 'the registry cannot be asked now');
  return refuse(deciding, 404, 'Not Found', 'no other system has it, and its host is ours');
}

/** 302 with the other system's nodes, so that the call goes past us. */
function redirect(deciding: Deciding, systemName: string): Decision {
  const { question, snapshot } = deciding;
  const system = snapshot.systems.get(systemName);
  if (system === undefined) return unavailable(deciding, `system ${systemName} is not configured`);
  const { result } = planIn(deciding, system);
  if (result.kind === 'none') return noPlan(deciding, systemName, result.why);
  const asked = askedOf(question.facts.target, question.calledUser);
  // The caller tries them in the order of q (RFC 3261 §8.1.3.4).
  // A line each: of a list in one line drachtio-server sends the first alone.
  const contacts = result.plan.map((destination, i): AnswerHeader => {
    const q = Math.max(0.1, 1 - i / 10).toFixed(1);
    return ['Contact', `<${contactAt(destination, asked)}>;q=${q}`];
  });
  return refuse(deciding, 302, 'Moved Temporarily', `calls to system ${systemName} go direct`, {
    headers: contacts,
    system: systemName,
  });
}

/** To a vendor, an external SIP URI or a static PBX: only where the configuration allows it. */
function outbound(deciding: Deciding): Decision {
  const { question, snapshot, steps } = deciding;
  const { facts, routes } = question;
  const { target } = facts;
  const route = routes[0];
  const policy = outboundPolicy(snapshot, target.host);
  const wayOut = route === undefined ? policy : outboundPolicy(snapshot, route.host);
  if (policy === undefined || wayOut === undefined) {
    const host = policy === undefined ? target.host : (route?.host ?? '');
    return answer(steps, 403, 'Forbidden', `outbound.allow does not name ${host}`);
  }
  steps?.push({ step: 'policy', because: `${target.host} is allowed by ${policy.rule}` });
  if (!policy.forceThroughUs) {
    return answer(steps, 302, 'Moved Temporarily', 'calls to it do not have to come through us', [
      ['Contact', `<${facts.targetText}>`],
    ]);
  }
  if (hasUnsafeContact(deciding))
    return refuse(deciding, 400, 'Contact Without Host', 'the SIP server cannot carry it');
  const choice = chooseRelay(
    facts,
    {
      dialogs: snapshot.dialogs.peer,
      natDialogs: 'on_path',
      far: undefined,
      strip: ownRoutesLeft(facts, routes),
    },
    steps,
  );
  return {
    kind: 'outbound',
    ...choice,
    ...(wayOut.believed === true ? {} : { distrusted: 'callee' }),
    requestUri: facts.targetText,
    nextHop: route?.nextHop ?? nextHopOf(target),
    routes: routes.map((one) => one.text),
    rule: policy.rule,
    maxPerSecond: policy.maxPerSecond,
    steps: steps ?? [],
  };
}
