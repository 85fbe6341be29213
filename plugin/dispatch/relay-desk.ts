import type { InboundRequest, ResponseSpec } from '../link/sip-link';
import { forward } from '../relay/forward';
import type { InProgress } from '../relay/in-progress';
import type { ProxyRelay } from '../relay/proxy';
import type { Refuser } from '../relay/refuser';
import type { RelayDependencies, RelayedAnswer, RelayResult } from '../relay/relay';
import { detour } from '../relay/server-traps';
import type { RelayOrder, Relays } from './relays';

export interface RelayDeskParts extends RelayDependencies {
  readonly proxy: ProxyRelay;
  readonly refuser: Refuser;
  readonly inProgress: InProgress;
}

/** Hands orders to the relays, by the way that the server they go through can stand. */
export class RelayDesk implements Relays {
  readonly #parts: RelayDeskParts;

  constructor(parts: RelayDeskParts) {
    this.#parts = parts;
  }

  takesBack(request: InboundRequest): boolean {
    const resumed = this.#parts.proxy.resume(request);
    if (resumed === undefined) return false;
    resumed.catch((error: unknown) => {
      this.#parts.log.error({ callId: request.message.callId, err: error }, 'a guarded call failed');
    });
    return true;
  }

  answer(request: InboundRequest, response: ResponseSpec): Promise<void> {
    return this.#parts.refuser.answer(request, response);
  }

  async carry(request: InboundRequest, order: RelayOrder): Promise<RelayResult> {
    const { message, link } = request;
    const { log } = this.#parts;
    const other = detour(order.relay, message, order.requestUri, (order.link ?? link).capabilities);
    if (other !== undefined)
      log.info({ callId: message.callId, way: other.way, because: other.because }, 'other relay');
    switch (other?.way ?? order.relay) {
      case 'forward':
        return this.#forward(request, order);
      case 'proxy':
      case 'b2bua':
        return this.#proxy(request, order);
      case 'refuser':
        return this.#refuse(request, { status: 400, reason: 'Contact Without Host' });
      case 'refuse':
        return this.#refuse(request, { status: 501, reason: 'Cannot Be Carried' });
    }
  }

  #forward(request: InboundRequest, order: RelayOrder): Promise<RelayResult> {
    const { requestUri, targets, limits, headers, link, entry, existingFlow, onAnswer, beforeAnswer } = order;
    return forward(
      request,
      {
        requestUri,
        targets,
        limits,
        headers,
        ...(link === undefined ? {} : { link }),
        ...(entry === undefined ? {} : { entry }),
        ...(existingFlow === undefined ? {} : { existingFlow }),
        inProgress: this.#parts.inProgress,
        beforeAnswer: (answer, response) => {
          onAnswer(answer);
          return beforeAnswer(answer, response);
        },
      },
      this.#parts,
    );
  }

  async #proxy(request: InboundRequest, order: RelayOrder): Promise<RelayResult> {
    const { requestUri, targets, limits, headers, onPath, recordRouteUser, entry, existingFlow } = order;
    const result = await this.#parts.proxy.relay(request, {
      requestUri,
      targets,
      limits,
      failover: limits.maxAttempts > 1,
      onPath,
      headers: { remove: headers.remove ?? [], add: headers.add ?? [] },
      ...(recordRouteUser === undefined ? {} : { recordRouteUser }),
      ...(entry === undefined ? {} : { entry }),
      ...(existingFlow === undefined ? {} : { existingFlow }),
    });
    if (result.kind !== 'answered') return result;
    const target = result.answer.target ?? result.attempts.at(-1)?.target;
    const answer: RelayedAnswer = { ...result.answer, ...(target === undefined ? {} : { target }) };
    order.onAnswer(answer);
    return { ...result, answer };
  }

  async #refuse(request: InboundRequest, response: ResponseSpec): Promise<RelayResult> {
    await this.answer(request, response);
    return { kind: 'answered', answer: { status: response.status }, attempts: [] };
  }
}
