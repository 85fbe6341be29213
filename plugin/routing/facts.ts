import { IDENTITY_HEADERS } from '../message/identity-headers';
import type { SipMessage } from '../message/sip-message';
import { param, parseNameAddr, type NameAddr } from '../message/name-addr';
import { parseUri, schemeEnd, type SipUri } from '../message/uri';
import type { FlowFact, RequestFacts, RouteFact, ServerAbilities } from './decision';
import { readDigest } from './digest';
import { nextHopOf } from './target';

/** What is known of a request beside its text. */
export interface Arrival {
  readonly message: SipMessage;
  readonly source: { readonly transport: string; readonly address: string; readonly port: number };
  readonly receivedOn: { readonly address: string; readonly port: number };
  readonly server: ServerAbilities;
  readonly behindNat: boolean;
  readonly flow?: FlowFact | undefined;
  /** The account registered over the flow that the request came by, if that is exactly one; asked for only when needed. */
  readonly registeredAs?: (() => string | undefined) | undefined;
  /** Further headers that only sites may send, by long lower-case name. */
  readonly reservedHeaders?: readonly string[];
}

/** The facts, or the answer that a request without them gets. */
export type FactsResult =
  | { readonly ok: true; readonly facts: RequestFacts }
  | { readonly ok: false; readonly status: number; readonly reason: string };

/** One for each realm on the way (RFC 3261 §22.3): few. The registry is asked for each name, and one request could carry thousands. */
const MAX_CREDENTIALS = 8;

const SCHEMES = new Set(['sip', 'sips', 'tel', 'urn']);

/**
 * Reads once what routing decides by. A Request-URI whose scheme we don't know is 416, one that breaks the grammar
 * 400 (RFC 3261 §16.3); everything else that is missing is simply not a fact.
 */
export function readFacts(arrival: Arrival): FactsResult {
  const { message } = arrival;
  const target = parseUri(message.uri);
  const scheme = target?.scheme ?? message.uri.slice(0, Math.max(0, schemeEnd(message.uri))).toLowerCase();
  if (scheme !== '' && !SCHEMES.has(scheme)) {
    return { ok: false, status: 416, reason: 'Unsupported URI Scheme' };
  }
  if (target === undefined) return { ok: false, status: 400, reason: 'Bad Request-URI' };
  const { to } = message;
  return {
    ok: true,
    facts: {
      method: message.method,
      callId: message.callId ?? '',
      targetText: message.uri,
      target,
      from: uriOf(message.from),
      to: uriOf(to),
      inDialog: to !== undefined && param(to.params, 'tag') !== undefined,
      credentials: [...message.getAll('authorization'), ...message.getAll('proxy-authorization')]
        .slice(0, MAX_CREDENTIALS)
        .map(readDigest),
      preferredIdentity: uriOf(first(message.list('p-preferred-identity'))),
      contact: contactOf(message),
      routes: message.list('route').map(routeOf),
      vias: message.vias,
      maxForwards: message.maxForwards,
      maxBreadth: digits(message.get('max-breadth')),
      proxyRequire: message.list('proxy-require'),
      identityHeaders: [...IDENTITY_HEADERS, ...(arrival.reservedHeaders ?? [])].filter(
        (name) => message.get(name) !== undefined,
      ),
      reliableProvisionals: hasToken(message, '100rel'),
      source: arrival.source,
      receivedOn: arrival.receivedOn,
      server: arrival.server,
      behindNat: arrival.behindNat,
      flow: arrival.flow,
      registeredAs: arrival.registeredAs,
    },
  };
}

const first = (values: readonly string[]): NameAddr | undefined =>
  values[0] === undefined ? undefined : parseNameAddr(values[0]);

const uriOf = (value: NameAddr | undefined): SipUri | undefined =>
  value === undefined ? undefined : parseUri(value.uri);

const digits = (value: string | undefined): number | undefined =>
  value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : undefined;

function contactOf(message: SipMessage): RequestFacts['contact'] {
  const contact = message.contacts[0];
  if (contact === undefined) return undefined;
  const uri = contact.uri === '*' ? undefined : parseUri(contact.uri);
  const host = uri?.host ?? '';
  return { user: uri?.user, host };
}

function routeOf(text: string): RouteFact {
  const uri = uriOf(parseNameAddr(text));
  if (uri === undefined) return { text, host: '' };
  return { text, host: uri.host, port: uri.port, user: uri.user, nextHop: nextHopOf(uri) };
}

/** Whether Supported or Require names an option (RFC 3262 §3). */
const hasToken = (message: SipMessage, option: string): boolean =>
  [...message.list('supported'), ...message.list('require')].some((one) => one.toLowerCase() === option);
