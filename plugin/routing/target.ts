import type { SipUri } from '../message/uri';
import { formatUri, uriParam } from '../message/uri';
import type { Destination } from './decision';
import { MAX_USER_LENGTH } from './number';
import type { Snapshot, SystemModel } from './snapshot';

/** Parameters that say how the last hop was to reach us; they mean nothing, or harm, on the next one. */
const HOP_PARAMETERS = new Set(['maddr', 'transport', 'ttl', 'lr', 'method']);
const SEPARATORS = /[().-]/g;

/** What the Request-URI asks for, once the hop's own parts are gone. */
export interface Asked {
  /** The user part as it is to travel; absent where the request has none. */
  readonly user: string | undefined;
  readonly params: SipUri['params'];
}

/**
 * What is asked for, in SIP form. A tel URI becomes a user part with `user=phone` (RFC 3261 §19.1.6): its number
 * without separators, its parameters behind it.
 */
export function askedOf(target: SipUri, user = target.user): Asked {
  if (target.scheme === 'tel') {
    const extra = target.params.map(([name, value]) =>
      value === undefined ? `;${name}` : `;${name}=${value}`,
    );
    return {
      user: `${(user ?? '').replace(SEPARATORS, '')}${extra.join('')}`,
      params: [['user', 'phone']],
    };
  }
  if (target.params.length === 0) return { user, params: target.params };
  return { user, params: target.params.filter(([name]) => !HOP_PARAMETERS.has(name.toLowerCase())) };
}

/** A user part with `;` breaks drachtio-server's own transactions; escaped, it means the same (RFC 3261 §19.1.4). */
export const escapeUser = (user: string): string => user.replace(/;/g, '%3B');

/**
 * The Request-URI a system gets: the same whether the caller wrote the VIP, an alias or a domain. Where the system
 * has no domain of its own, a domain of ours stays as the caller wrote it.
 * @param foreign the Request-URI names a host that is not ours; it stays, for the system to judge
 */
export function systemUri(
  snapshot: Snapshot,
  system: SystemModel,
  target: SipUri,
  text: string,
  options: { readonly asked: Asked; readonly foreign: boolean; readonly escape: boolean },
): string {
  if (target.scheme === 'urn' || options.foreign) return text;
  const { user, params } = options.asked;
  const host = system.domain ?? (snapshot.own.isDomain(target.host) ? target.host : snapshot.firstDomain);
  const unchanged =
    target.scheme === 'sip' &&
    host === target.host &&
    target.port === undefined &&
    target.headers === undefined &&
    target.password === undefined &&
    user === target.user &&
    params.length === target.params.length;
  const escaped = user !== undefined && options.escape && user.includes(';') ? escapeUser(user) : user;
  if (unchanged && escaped === user) return text;
  return formatUri({ scheme: 'sip', ...(escaped === undefined ? {} : { user: escaped }), host, params });
}

/** A node's address with the user asked for: what a 302 tells the caller to call. */
export function contactAt(destination: Destination, asked: Asked): string {
  if (asked.user === undefined) return destination.uri;
  const phone = asked.params.some(([name, value]) => name === 'user' && value === 'phone')
    ? ';user=phone'
    : '';
  return destination.uri.replace(/^(sips?:)/i, `$1${asked.user}@`) + phone;
}

/** Where a request leaves for when its Request-URI alone says so: no user, no parameter but the transport. */
export function nextHopOf(target: SipUri): string {
  const transport = uriParam(target, 'transport');
  const port = target.port === undefined ? '' : `:${target.port}`;
  return `${target.scheme}:${target.host}${port}${typeof transport === 'string' ? `;transport=${transport}` : ''}`;
}

export const isTooLong = (target: SipUri): boolean =>
  (target.user?.length ?? 0) > MAX_USER_LENGTH || target.host.length > 255;
