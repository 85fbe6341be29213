import { formsDialog, hasHostlessContact } from '../link/hostless-contact';
import { MAX_COMMAND_BYTES } from '../link/send-gate';
import type { LinkCapabilities } from '../link/sip-link';
import { headerKey } from '../message/header-name';
import { splitList } from '../message/name-addr';
import type { Header, SipMessage } from '../message/sip-message';
import { parseUri } from '../message/uri';

/*
 * Everything the relays know of drachtio-server's defects (0.9.10, each seen on the wire) is here, behind the
 * capability that says a server does not have it. A mended server makes a function of this file useless, and
 * test/relay/server-traps.test.ts, run with DRACHTIO_BIN, tells when that is.
 */

export type RelayKind = 'forward' | 'proxy' | 'b2bua';

/** What has to be done instead of what was asked for, and why. */
export interface Detour {
  /** `refuser`: hand it to our own loopback socket, which answers 400. */
  readonly way: RelayKind | 'refuser' | 'refuse';
  readonly because: string;
}

/**
 * Answering an INVITE or SUBSCRIBE, or making a dialog of it, follows a null pointer when a Contact has no host.
 * Proxying it to our refuser does not.
 */
export function answerKills(message: SipMessage, can: LinkCapabilities): boolean {
  return !can.hostlessContactSafe && formsDialog(message.method) && hasHostlessContact(message);
}

/**
 * The way a request must be relayed where the chosen one would fail or end the server; undefined: as chosen.
 * @param requestUri as it will go out
 */
export function detour(
  chosen: RelayKind,
  message: SipMessage,
  requestUri: string,
  can: LinkCapabilities,
): Detour | undefined {
  if (answerKills(message, can)) {
    return {
      way: 'refuser',
      because: 'a Contact without a host ends the SIP server when it builds a dialog',
    };
  }
  const { method } = message;
  if (chosen === 'b2bua' && !formsDialog(method))
    return { way: 'refuse', because: `two dialogs are made of INVITE or SUBSCRIBE, not of ${method}` };
  if (chosen === 'proxy') return proxyDetour(method, message, can);
  const why =
    nulFault(message) ??
    (can.exactHeaders ? undefined : ownTransactionFault(message, requestUri, can, chosen));
  if (why === undefined) return undefined;
  // A proxied REGISTER whose 200 has a Contact without a host ends the server, so it is never proxied.
  if (method === 'REGISTER') return { way: 'refuse', because: why };
  const onlyB2bua = proxyDetour(method, message, can);
  return onlyB2bua ? { way: 'refuse', because: why } : { way: 'proxy', because: why };
}

function proxyDetour(method: string, message: SipMessage, can: LinkCapabilities): Detour | undefined {
  if (can.hostlessContactSafe) return undefined;
  if (method === 'REGISTER') {
    return { way: 'forward', because: 'a proxied REGISTER can end the SIP server when its 200 comes' };
  }
  if (method === 'SUBSCRIBE' && message.list('contact').some((text) => /\.invalid\b/i.test(text))) {
    return { way: 'b2bua', because: 'a proxied SUBSCRIBE with an .invalid Contact ends the SIP server' };
  }
  return undefined;
}

/** What an own transaction adds to a message at most: command line, Path, headers of policy. */
const OWN_HEADER_BYTES = 1500;

/** An escaped NUL is legal, and a proxied request keeps it; but the link gives no header with one to any server. */
function nulFault({ raw, bodyStart }: SipMessage): string | undefined {
  const at = raw.indexOf('\0');
  return at >= 0 && at < bodyStart ? 'a header with NUL cannot be given to a SIP server' : undefined;
}

/** Why the server cannot send this as a client; undefined: it can. */
function ownTransactionFault(
  message: SipMessage,
  requestUri: string,
  can: LinkCapabilities,
  chosen: RelayKind,
): string | undefined {
  const uri = parseUri(requestUri);
  if (uri === undefined || (uri.scheme !== 'sip' && uri.scheme !== 'sips')) {
    return 'the SIP server can be client only for sip and sips URIs';
  }
  if (uri.user?.includes(';') === true) {
    return 'the SIP server refuses to be client for a user part with a semicolon';
  }
  if (message.raw.length > MAX_COMMAND_BYTES - OWN_HEADER_BYTES) {
    return 'the SIP server cannot take so large a message from the application';
  }
  if (chosen === 'forward' && !can.binaryBodies && message.body.includes('\0')) {
    return 'the SIP server cuts a body at its first NUL byte';
  }
  return undefined;
}

/** Names the server reads as headers of its own when they come with underscores. */
const SERVER_PRIVATE = new Set(['payload', 'error']);

/**
 * Whether the server would take a header for another one: it compares names with `-` and `_` as equal, so that
 * `P_Asserted_Identity` would arrive as P-Asserted-Identity past every policy, and it takes `Payload` for the body.
 */
export function isMistaken({ name }: Header, can: LinkCapabilities): boolean {
  if (can.exactHeaders) return false;
  return name.includes('_') || SERVER_PRIVATE.has(name.toLowerCase());
}

/** Headers the server refuses to send in an own transaction, or makes itself. */
const SERVER_OWNED = new Set(['via', 'route', 'record-route', 'rseq', 'content-length']);

export const isServerOwned = (key: string): boolean => SERVER_OWNED.has(key);

/** List headers whose lines come out in reverse order when each is given on its own; they are joined. */
const REVERSED = new Set(['path', 'service-route']);

export const mustBeJoined = (key: string): boolean => REVERSED.has(key);

/**
 * The name under which a header is given to the server. A long name, since it does not know compact ones; but
 * Contact as `m`, so that it does not look into it: several stay several, quoted commas and `*` stay whole,
 * an IP literal is not rewritten, and a Contact without a host harms nobody.
 */
export function givenName(header: Header, can: LinkCapabilities): string {
  if (can.exactHeaders) return header.name;
  if (header.key === 'contact') return 'm';
  return header.name.length === 1 ? longName(header.key) : header.name;
}

function longName(key: string): string {
  return key.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

/** The Contacts of a redirection, a line each: of several in one line the server sends the first alone. */
export function contactLines({ name, value }: Header, can: LinkCapabilities): (readonly [string, string])[] {
  if (can.exactHeaders) return [[name, value]];
  return splitList(value).map((one) => [name, one]);
}

/**
 * A 2xx to REGISTER over a stream makes the server remember the Contact's user and host for that connection:
 * later requests of ours to that URI go there, whoever they are meant for. Under its compact name the server does
 * not see the Contact, and without an Expires header it remembers nothing.
 */
export function hidesContactOf2xx(method: string, status: number, can: LinkCapabilities): boolean {
  return !can.exactHeaders && method === 'REGISTER' && status >= 200 && status < 300;
}

/** Whether the server puts a Session-Expires of an answer to use by itself (it starts refreshing). */
export const startsSessionTimer = (key: string, can: LinkCapabilities): boolean =>
  !can.exactHeaders && headerKey(key) === 'session-expires';

/**
 * Whether a provisional answer to a request inside a dialog ends its transaction: the server forgets it with the first
 * answer of any kind and says 500 by itself. The final answer alone is given then.
 */
export const provisionalEndsReinvite = (can: LinkCapabilities): boolean => !can.exactHeaders;

/**
 * Whether the server, told 101 to 199 by the far side for an INVITE inside a dialog, never tells the final answer: it
 * forgets its own transaction with the first answer (100 excepted).
 */
export const provisionalHidesFinal = (can: LinkCapabilities): boolean => !can.exactHeaders;

/**
 * The status of an answer inside a dialog. A 200 or 202 to a SUBSCRIBE over a stream makes the server remember the
 * Contact's user and host for that connection, as a REGISTER's does, by the Expires header that must stand there
 * (RFC 6665 §4.2.1.1). Another 2xx does not, and means the same to the subscriber.
 */
export function statusInDialog(
  status: number,
  request: { readonly method: string; readonly transport: string },
  can: LinkCapabilities,
): number {
  const isRemembered = request.method === 'SUBSCRIBE' && request.transport !== 'udp' && !can.exactHeaders;
  return isRemembered && (status === 200 || status === 202) ? 204 : status;
}
