import { isToken } from './chars';
import { headerKey } from './header-name';
import { param } from './parameters';
import type { SipMessage } from './sip-message';

/** A header to be written: the name as it is to appear, and its value. */
export type HeaderField = readonly [name: string, value: string];

/** Reason phrases of RFC 3261 §21 and later, for those the product sends or passes on. */
const REASONS: ReadonlyMap<number, string> = new Map([
  [100, 'Trying'],
  [180, 'Ringing'],
  [181, 'Call Is Being Forwarded'],
  [182, 'Queued'],
  [183, 'Session Progress'],
  [199, 'Early Dialog Terminated'],
  [200, 'OK'],
  [202, 'Accepted'],
  [204, 'No Notification'],
  [300, 'Multiple Choices'],
  [301, 'Moved Permanently'],
  [302, 'Moved Temporarily'],
  [305, 'Use Proxy'],
  [380, 'Alternative Service'],
  [400, 'Bad Request'],
  [401, 'Unauthorized'],
  [402, 'Payment Required'],
  [403, 'Forbidden'],
  [404, 'Not Found'],
  [405, 'Method Not Allowed'],
  [406, 'Not Acceptable'],
  [407, 'Proxy Authentication Required'],
  [408, 'Request Timeout'],
  [410, 'Gone'],
  [412, 'Conditional Request Failed'],
  [413, 'Request Entity Too Large'],
  [414, 'Request-URI Too Long'],
  [415, 'Unsupported Media Type'],
  [416, 'Unsupported URI Scheme'],
  [420, 'Bad Extension'],
  [421, 'Extension Required'],
  [422, 'Session Interval Too Small'],
  [423, 'Interval Too Brief'],
  [430, 'Flow Failed'],
  [439, 'First Hop Lacks Outbound Support'],
  [440, 'Max-Breadth Exceeded'],
  [480, 'Temporarily Unavailable'],
  [481, 'Call/Transaction Does Not Exist'],
  [482, 'Loop Detected'],
  [483, 'Too Many Hops'],
  [484, 'Address Incomplete'],
  [485, 'Ambiguous'],
  [486, 'Busy Here'],
  [487, 'Request Terminated'],
  [488, 'Not Acceptable Here'],
  [489, 'Bad Event'],
  [491, 'Request Pending'],
  [493, 'Undecipherable'],
  [494, 'Security Agreement Required'],
  [500, 'Server Internal Error'],
  [501, 'Not Implemented'],
  [502, 'Bad Gateway'],
  [503, 'Service Unavailable'],
  [504, 'Server Time-out'],
  [505, 'Version Not Supported'],
  [513, 'Message Too Large'],
  [580, 'Precondition Failure'],
  [600, 'Busy Everywhere'],
  [603, 'Decline'],
  [604, 'Does Not Exist Anywhere'],
  [606, 'Not Acceptable'],
  [607, 'Unwanted'],
  [608, 'Rejected'],
]);

/** The standard reason phrase of a status; that of its class when the status is unknown. */
export const reasonPhrase = (status: number): string =>
  REASONS.get(status) ?? REASONS.get(Math.floor(status / 100) * 100) ?? 'Unknown';

function isLatin1(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0xff) return false;
  return true;
}

/** Line ends would start a header of the caller's choice; chars over 255 have no byte in latin1. */
function assertSafe(text: string, what: string): void {
  if (/[\r\n]/.test(text)) throw new TypeError(`${what} carries a line end`);
  if (!isLatin1(text)) throw new TypeError(`${what} is not latin1`);
}

function assemble(startLine: string, headers: readonly HeaderField[], body: string): string {
  assertSafe(startLine, 'the start line');
  let text = `${startLine}\r\n`;
  for (const [name, value] of headers) {
    if (headerKey(name) === 'content-length') continue;
    if (!isToken(name)) throw new TypeError(`'${name}' is no header name`);
    assertSafe(value, `header ${name}`);
    text += `${name}: ${value}\r\n`;
  }
  if (!isLatin1(body)) throw new TypeError('the body is not latin1');
  return `${text}Content-Length: ${body.length}\r\n\r\n${body}`;
}

export interface RequestSpec {
  readonly method: string;
  readonly uri: string;
  /** All headers in order, Via included; a Content-Length given here is replaced. */
  readonly headers: readonly HeaderField[];
  /** Latin1, one char per byte. */
  readonly body?: string;
}

/** The text of a request, with the right Content-Length. Throws TypeError on a line end or a char over 255 in a header. */
export const buildRequest = ({ method, uri, headers, body = '' }: RequestSpec): string =>
  assemble(`${method} ${uri} SIP/2.0`, headers, body);

export interface ResponseSpec {
  /** 100 to 699. */
  readonly status: number;
  /** The standard phrase by default. */
  readonly reason?: string;
  /** Added to To when it has no tag (RFC 3261 §8.2.6.2); not for 100. */
  readonly toTag?: string;
  readonly headers?: readonly HeaderField[];
  /** Latin1, one char per byte. */
  readonly body?: string;
}

/**
 * The text of an answer to a request: its Vias, From, To, Call-ID and CSeq copied in order (RFC 3261 §8.2.6.2),
 * Timestamp too for a 100 (§8.2.6.1), then the headers given. Throws TypeError as `buildRequest` does.
 */
export function buildResponse(request: SipMessage, spec: ResponseSpec): string {
  const { status, reason = reasonPhrase(status), toTag, headers = [], body = '' } = spec;
  const copied: HeaderField[] = request.getAll('via').map((value) => ['Via', value] as const);
  copied.push(['From', request.get('from') ?? '']);
  const to = request.get('to') ?? '';
  // A To that can't be read is answered as it came: nobody could say whether it has a tag.
  const needsTag =
    toTag !== undefined && request.to !== undefined && param(request.to.params, 'tag') === undefined;
  copied.push(['To', needsTag ? `${to};tag=${toTag}` : to]);
  copied.push(['Call-ID', request.get('call-id') ?? ''], ['CSeq', request.get('cseq') ?? '']);
  const timestamp = status === 100 ? request.get('timestamp') : undefined;
  if (timestamp !== undefined) copied.push(['Timestamp', timestamp]);
  return assemble(`SIP/2.0 ${status} ${reason}`, [...copied, ...headers], body);
}
