import { headerKey } from '../../message/header-name';
import type { Header, SipMessage } from '../../message/sip-message';
import { withHeaders } from '../wire/inbound';

/** How a target ended: a final answer of its own, or (no message) a time-out or failure that counts as one. */
export interface Ending {
  readonly status: number;
  readonly message: SipMessage | undefined;
}

/** RFC 3261 §16.7 item 6: these tell how to repeat the request, so they win within 4xx. */
const REPEATABLE = new Set([401, 407, 415, 420, 484]);

function rank({ status, message }: Ending): number {
  if (status >= 600) return 0;
  const ofClass = Math.floor(status / 100) * 10;
  if (message === undefined) return ofClass + 5;
  return REPEATABLE.has(status) ? ofClass : ofClass + 2;
}

/** The best of several final answers: a 6xx, else the lowest class; the first of equals. */
export function bestEnding(endings: readonly Ending[]): Ending | undefined {
  let best: Ending | undefined;
  for (const ending of endings) if (!best || rank(ending) < rank(best)) best = ending;
  return best;
}

const CHALLENGES = new Set([headerKey('WWW-Authenticate'), headerKey('Proxy-Authenticate')]);

/** A challenge passed upstream carries those of all other targets, too (RFC 3261 §16.7 item 7). */
export function withAllChallenges(best: SipMessage, endings: readonly Ending[]): SipMessage {
  if (best.status !== 401 && best.status !== 407) return best;
  const more: Header[] = [];
  for (const { status, message } of endings) {
    if (!message || message === best || (status !== 401 && status !== 407)) continue;
    more.push(...message.headers.filter(({ key }) => CHALLENGES.has(key)));
  }
  return more.length === 0 ? best : withHeaders(best, [...best.headers, ...more]);
}
