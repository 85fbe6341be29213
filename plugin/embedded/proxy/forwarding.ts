import { parseUri } from '../../message/uri';
import { splitList, parseNameAddr } from '../../message/name-addr';
import type { Header, SipMessage } from '../../message/sip-message';
import type { Self } from '../core/self';
import { outgoing, type Outgoing } from '../transaction/outgoing';
import { hostPort, type Flow } from '../transport/flow';
import type { BranchSeal } from './branch-seal';
import { SEAL_PARAMETER } from './dialog-seal';
import { applyHeaders } from './header-policy';
import { ownVia } from './via-lines';

const DEFAULT_MAX_FORWARDS = 70;

/** What the application ordered about the headers of a proxied request. */
export interface HeaderOrders {
  readonly given: readonly Header[];
  /** Keys of headers taken out first. */
  readonly removed: ReadonlySet<string>;
  /** The Request-URI that goes out. */
  readonly requestUri?: string | undefined;
}

/** The header lines with Max-Forwards one less (RFC 3261 §16.6 item 3); added where it was missing. */
export function withOneHopLess(headers: readonly Header[], maxForwards: number | undefined): Header[] {
  const value = String(maxForwards === undefined ? DEFAULT_MAX_FORWARDS : maxForwards - 1);
  const at = headers.findIndex(({ key }) => key === 'max-forwards');
  if (at < 0) return [...headers, { name: 'Max-Forwards', key: 'max-forwards', value }];
  return headers.map((header, index) => (index === at ? { ...header, value } : header));
}

/** Takes elements off the front of the Route while `strip` says so. */
export function withoutRoutes(headers: readonly Header[], strip: (uri: string) => boolean): Header[] {
  const result: Header[] = [];
  let done = false;
  for (const header of headers) {
    if (done || header.key !== 'route') {
      result.push(header);
      continue;
    }
    const elements = splitList(header.value);
    while (!done && elements.length > 0) {
      const uri = parseNameAddr(elements[0] ?? '')?.uri;
      if (uri !== undefined && strip(uri)) elements.shift();
      else done = true;
    }
    if (elements.length > 0) result.push({ ...header, value: elements.join(', ') });
  }
  return result;
}

/** All but the Via of the request as it leaves, the same for each target. */
export function forwardedHeaders(request: SipMessage, orders: HeaderOrders, self: Self): Header[] {
  let first = true;
  // Preloaded Routes that name us, and one that does not (drachtio-server takes off whatever is on top).
  const unrouted = withoutRoutes(request.headers, (uri) => {
    const strip = first || self.namesUs(uri);
    first = false;
    return strip;
  });
  const kept = orders.removed.size === 0 ? unrouted : unrouted.filter(({ key }) => !orders.removed.has(key));
  return applyHeaders(withOneHopLess(kept, request.maxForwards), orders.given);
}

/** What our Record-Route carries. */
export interface RouteMark {
  readonly user: string | undefined;
  readonly seal: string;
}

/**
 * Our Record-Route, or Path for a REGISTER (RFC 3327). A request that leaves by another transport or entry address than it
 * came by gets two (RFC 5658 §6), since each side has to find us where it can reach us.
 */
export function routeLines(method: string, from: Flow, to: Flow, mark: RouteMark): readonly Header[] {
  if (method === 'REGISTER') return [{ name: 'Path', key: 'path', value: `<${ownRoute(to, mark.user)}>` }];
  const isSame =
    from.transport === to.transport &&
    hostPort(from.entry.address, from.entry.port) === hostPort(to.entry.address, to.entry.port);
  return (isSame ? [to] : [to, from]).map((flow) => ({
    name: 'Record-Route',
    key: 'record-route',
    value: `<${ownRoute(flow, mark.user)};${SEAL_PARAMETER}=${mark.seal}>`,
  }));
}

function ownRoute({ entry, transport }: Flow, user: string | undefined): string {
  const parameter = transport === 'udp' ? '' : `;transport=${transport}`;
  return `sip:${user === undefined || user === '' ? '' : `${user}@`}${hostPort(entry.address, entry.port)}${parameter};lr`;
}

/** The request for one target. */
export function forwardedRequest(
  request: SipMessage,
  headers: readonly Header[],
  target: { readonly uri: string; readonly flow: Flow; readonly requestUri: string | undefined },
  { self, branches }: { readonly self: Self; readonly branches: BranchSeal },
): Outgoing {
  const branch = branches.fresh(headers);
  // A Request-URI that names us is replaced by where the application sends it.
  const uri = target.requestUri ?? (self.isOwnUri(parseUri(request.uri)) ? target.uri : request.uri);
  const via = ownVia(target.flow, branch);
  return outgoing({ method: request.method, uri, branch, via, body: request.body }, headers);
}
