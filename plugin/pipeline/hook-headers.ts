import type { CarriedDecision, OrderFacts } from '../dispatch/order';
import type { HeaderLine, InboundRequest } from '../link/sip-link';
import { headerKey } from '../message/header-name';
import { occursOnce } from '../message/single-headers';

type HeaderChange = Pick<OrderFacts, 'add' | 'remove'>;

/**
 * The relay for a request that a hook takes headers out of: drachtio-server proxies all that came, so there it takes two
 * dialogs (as routing/relay-choice.ts decides for headers that must go). A `urn:` can only be proxied.
 */
export function relayWithout(
  { message, link }: InboundRequest,
  decision: CarriedDecision,
  remove: readonly string[],
): CarriedDecision {
  const { relay, requestUri } = decision;
  if (relay !== 'proxy' || link.capabilities.removeHeaders || /^urn:/i.test(requestUri)) return decision;
  const isThere = remove.some((name) => message.get(name) !== undefined);
  return isThere ? { ...decision, relay: 'b2bua', onPath: true, failover: true } : decision;
}

/** What a hook adds, the same for every relay: of a header that occurs once the last one stands for all others. */
export function headerChange(
  { message }: InboundRequest,
  { relay }: CarriedDecision,
  { add, remove }: HeaderChange,
): HeaderChange {
  const last = new Map<string, HeaderLine>();
  for (const line of add) last.set(headerKey(line[0]), line);
  const kept = add.filter((line) => !occursOnce(headerKey(line[0])) || last.get(headerKey(line[0])) === line);
  // The SIP server that proxies puts it in its place by itself.
  const replaced =
    relay === 'proxy'
      ? []
      : [...last.keys()].filter((key) => occursOnce(key) && message.get(key) !== undefined);
  return { add: kept, remove: [...remove, ...replaced] };
}
