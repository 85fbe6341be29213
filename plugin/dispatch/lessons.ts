import type { InboundRequest } from '../link/sip-link';
import type { BindingTable } from '../nat/bindings';
import type { RelayedAnswer } from '../relay/relay';
import type { Challenges } from '../routing/challenges';
import { readDigest } from '../routing/digest';
import type { RecentSites } from '../routing/recent-sites';
import type { Logger } from '../telemetry/logger';
import { flowOf, learnBinding } from './flows';
import type { CarriedDecision } from './order';

export interface LessonsParts {
  readonly challenges: Challenges;
  readonly recentSites: RecentSites;
  readonly bindings: BindingTable;
  readonly log: Logger;
}

/** What answers teach: who challenged, where an account is served, where an endpoint can be reached. */
export class Lessons {
  readonly #parts: LessonsParts;

  constructor(parts: LessonsParts) {
    this.#parts = parts;
  }

  /** Takes in a final answer of a target. Never throws: the caller's answer must not depend on it. */
  learn(request: InboundRequest, decision: CarriedDecision, answer: RelayedAnswer, behindNat: boolean): void {
    try {
      if (decision.kind === 'dispatch') this.#ofSite(decision, answer);
      learnBinding(request, answer, this.#parts.bindings, behindNat);
    } catch (error) {
      this.#parts.log.error({ callId: request.message.callId, err: error }, 'could not learn from an answer');
    }
  }

  /** The account that is registered over the flow a request came by, if it is exactly one. */
  registeredOver(request: InboundRequest): string | undefined {
    return this.#parts.bindings.userOf(flowOf(request));
  }

  #ofSite(
    { system, affinityKey }: Extract<CarriedDecision, { kind: 'dispatch' }>,
    answer: RelayedAnswer,
  ): void {
    const { status, message, target } = answer;
    if (target?.site === undefined) return;
    const { challenges, recentSites } = this.#parts;
    if (status < 300) recentSites.saw(system, affinityKey, target.site);
    if ((status !== 401 && status !== 407) || message === undefined) return;
    for (const name of ['www-authenticate', 'proxy-authenticate']) {
      for (const value of message.getAll(name)) {
        const { nonce } = readDigest(value);
        if (nonce !== undefined)
          challenges.remember(nonce, { system, site: target.site, node: target.node ?? '' });
      }
    }
  }
}
