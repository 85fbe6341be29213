import type { NameAddr } from './name-addr';
import { param } from './parameters';
import type { SipMessage } from './sip-message';
import { isIpv4, parseUri, schemeEnd } from './uri';

/** How a request must be refused. */
export interface Refusal {
  readonly status: number;
  /** Says what is wrong, as RFC 3261 §21.4.1 asks. */
  readonly reason: string;
  /** Headers the answer must carry. */
  readonly headers?: [name: string, value: string][];
}

const bad = (reason: string): Refusal => ({ status: 400, reason });

/** Needed in every message (RFC 3261 §8.1.1); Max-Forwards is not, for RFC 2543 clients. */
const REQUIRED: readonly [key: string, name: string][] = [
  ['via', 'Via'],
  ['from', 'From'],
  ['to', 'To'],
  ['call-id', 'Call-ID'],
  ['cseq', 'CSeq'],
];

/** RFC 3261 §25.1: any octet may be escaped in a quoted string or a comment, and NUL stands nowhere else. */
function bareNul({ raw, bodyStart }: SipMessage): string | undefined {
  const first = raw.indexOf('\0');
  if (first < 0 || first >= bodyStart) return undefined;
  const isBare = raw.slice(0, bodyStart).replace(/\\./gs, '').includes('\0');
  return isBare ? 'NUL in a header field' : undefined;
}

/** At most one line each: two that differ would be read one way here and another way at the site. */
const SINGLE: ReadonlySet<string> = new Set([
  'from',
  'to',
  'call-id',
  'cseq',
  'max-forwards',
  'content-length',
  'content-type',
  'expires',
  'event',
]);

/** Schemes a Request-URI may have here; anything else is 416. */
const SCHEMES: ReadonlySet<string> = new Set(['sip', 'sips', 'tel', 'urn']);

/** Of a response only what it is matched and answered by: the rest is for the caller to read. */
const SINGLE_IN_RESPONSES: ReadonlySet<string> = new Set(['from', 'to', 'call-id', 'cseq', 'content-length']);

function missingOrRepeated(message: SipMessage): string | undefined {
  const single = message.kind === 'request' ? SINGLE : SINGLE_IN_RESPONSES;
  const seen = new Set<string>();
  for (const { key, name } of message.headers) {
    if (seen.has(key) && single.has(key)) return `More than one ${name} header field`;
    seen.add(key);
  }
  for (const [key, name] of REQUIRED) if (!seen.has(key)) return `Missing ${name} header field`;
  return undefined;
}

/** A tag must be a token, so `;tag=` is malformed; a tag without any value too. */
const badTag = (address: NameAddr): boolean => {
  const tag = param(address.params, 'tag');
  return tag === '' || tag === true;
};

/** What a proxy and a transaction layer read in every message, requests and responses alike. */
function malformedCore(message: SipMessage): string | undefined {
  const { from, to, cseq, callId } = message;
  if (from === undefined || badTag(from)) return 'Malformed From header field';
  if (to === undefined || badTag(to)) return 'Malformed To header field';
  if (callId === undefined || /[\s,]/.test(callId)) return 'Malformed Call-ID header field';
  if (cseq === undefined) return 'Malformed CSeq header field';
  const vias = message.count('via');
  if (vias.elements === 0 || vias.valid < vias.elements) return 'Malformed Via header field';
  return malformedLength(message);
}

function malformedLength(message: SipMessage): string | undefined {
  if (message.get('content-length') === undefined) return undefined;
  const length = message.contentLength;
  if (length === undefined) return 'Malformed Content-Length header field';
  return message.body.length < length ? 'Content-Length is larger than the body' : undefined;
}

function malformedContact(message: SipMessage): string | undefined {
  const { elements, validUris, stars } = message.count('contact');
  if (stars === 0) return validUris < elements ? 'Malformed Contact header field' : undefined;
  // `*` stands alone, in a REGISTER, with Expires 0 (RFC 3261 §10.2.2).
  if (message.method !== 'REGISTER' || elements > 1) return 'Malformed Contact header field';
  return message.expires === 0 ? undefined : 'Contact * needs Expires 0';
}

/** A Route has its URI in angle brackets (RFC 3261 §20.34). */
function malformedRoute(message: SipMessage): string | undefined {
  const { elements, validUris } = message.count('route');
  const isBad = validUris < elements || message.list('route').some((text) => !text.includes('<'));
  return isBad ? 'Malformed Route header field' : undefined;
}

function malformedNumbers(message: SipMessage): string | undefined {
  if (message.get('max-forwards') !== undefined && message.maxForwards === undefined) {
    return 'Malformed Max-Forwards header field';
  }
  return undefined;
}

/** A registrar's key is in To, so a To that can't be taken apart is of no use there. */
const malformedAddressOfRecord = (message: SipMessage): string | undefined =>
  message.method === 'REGISTER' && parseUri(message.to?.uri ?? '') === undefined
    ? 'Malformed To header field'
    : undefined;

function badRequestUri(message: SipMessage): Refusal | undefined {
  const colon = schemeEnd(message.uri);
  if (colon < 0) return bad('Malformed Request-URI');
  if (!SCHEMES.has(message.uri.slice(0, colon).toLowerCase())) {
    return { status: 416, reason: 'Unsupported URI Scheme' };
  }
  const uri = parseUri(message.uri);
  if (uri === undefined) return bad('Malformed Request-URI');
  // RFC 3261 §19.1.1, table 1: no headers in a Request-URI; acting on them would let the sender set ours.
  return uri.headers === undefined ? undefined : bad('Headers in the Request-URI');
}

function badExtension(message: SipMessage): Refusal | undefined {
  // RFC 3261 §8.2.2.3 and §16.3: not for CANCEL and ACK.
  if (message.method === 'ACK' || message.method === 'CANCEL') return undefined;
  const tags = message.list('proxy-require');
  if (tags.length === 0) return undefined;
  return { status: 420, reason: 'Bad Extension', headers: [['Unsupported', tags.join(', ')]] };
}

/**
 * What a proxy must refuse before it looks at anything else (RFC 3261 §16.3, with the examples of RFC 4475 and
 * RFC 5118); undefined when the request may go on. `stream` asks for a Content-Length (RFC 3261 §18.3); a
 * WebSocket frames its messages, so it counts as `datagram` (RFC 7118 §5). No ACK must be answered: drop it.
 */
export function checkRequest(message: SipMessage, transport: 'datagram' | 'stream'): Refusal | undefined {
  if (message.version.toUpperCase() !== 'SIP/2.0') return { status: 505, reason: 'Version Not Supported' };
  const fault =
    bareNul(message) ??
    missingOrRepeated(message) ??
    malformedCore(message) ??
    malformedNumbers(message) ??
    malformedContact(message) ??
    malformedRoute(message) ??
    malformedAddressOfRecord(message);
  if (fault !== undefined) return bad(fault);
  if (message.cseq?.method !== message.method) return bad('The CSeq method is another one');
  if (transport === 'stream' && message.get('content-length') === undefined) {
    return bad('Missing Content-Length header field');
  }
  const uriFault = badRequestUri(message);
  if (uriFault !== undefined) return uriFault;
  if (message.maxForwards === 0) return { status: 483, reason: 'Too Many Hops' };
  return badExtension(message);
}

/** Addresses no unicast answer can go to: "this network", multicast, reserved, broadcast. */
function isUnroutable(host: string): boolean {
  if (host === '[::]' || host.startsWith('[ff')) return true;
  if (!isIpv4(host)) return false;
  const first = Number(host.slice(0, host.indexOf('.')));
  return first === 0 || first >= 224;
}

/** Why a response must be discarded (RFC 3261 §18.1.2 and §18.3); undefined when it may go on. */
export function checkResponse(message: SipMessage): string | undefined {
  if (message.version.toUpperCase() !== 'SIP/2.0') return 'Version Not Supported';
  if (message.status < 100 || message.status > 699) return 'Malformed status';
  const fault = missingOrRepeated(message) ?? malformedCore(message);
  if (fault !== undefined) return fault;
  // The second Via says where we would forward it to (RFC 4475 §3.3.10).
  const next = message.vias[1];
  const nextHost = next?.received ?? next?.host;
  return nextHost !== undefined && isUnroutable(nextHost)
    ? 'The next Via is a broadcast or multicast address'
    : undefined;
}
