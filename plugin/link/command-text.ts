import { DsbcError } from '../errors';
import type { HeaderLine, ProxyOptions } from './sip-link';

const CRLF = '\r\n';
/** RFC 3261 §25.1 token. */
const TOKEN = /^[A-Za-z0-9\-.!%*_+`'~]+$/;
/** A line end of any kind would start a header of its own; NUL ends the value inside the server. */

const UNSAFE_VALUE = /[\r\n\u0000]/;
/** What may not stand in a URI that travels in the first line or as a token of a command. */

const UNSAFE_URI = /[\u0000-\u0020|<>"\u007f]/;

/**
 * Header lines as text, each with its line end.
 * @throws DsbcError DSBC_HEADER_UNSAFE when a name is no token or a value carries CR, LF or NUL.
 */
export function headerText(headers: readonly HeaderLine[]): string {
  let text = '';
  for (const [name, value] of headers) {
    if (!TOKEN.test(name)) {
      throw new DsbcError('DSBC_HEADER_UNSAFE', `'${printable(name)}' is not a header name`, {
        details: { header: printable(name) },
      });
    }
    if (UNSAFE_VALUE.test(value)) {
      throw new DsbcError('DSBC_HEADER_UNSAFE', `the header ${name} would carry a bare line end`, {
        details: { header: name },
      });
    }
    text += `${name}: ${value}${CRLF}`;
  }
  return text;
}

/** @throws DsbcError DSBC_HEADER_UNSAFE when the URI could end the line or the command's token. */
export function safeUri(uri: string): string {
  if (uri === '' || UNSAFE_URI.test(uri)) {
    throw new DsbcError('DSBC_HEADER_UNSAFE', `'${printable(uri)}' cannot be sent as a URI`, {
      details: { uri: printable(uri) },
    });
  }
  return uri;
}

/** As `safeUri`, for a Request-URI, which is no token of a command. */
export function safeRequestUri(uri: string): string {
  safeUri(uri.replace(/\|/g, ''));
  return uri;
}

/** `sip|<transaction>|<dialog>[|<next hop>]` and a SIP message: a request, an answer or a CANCEL. */
export function sipCommand(message: {
  readonly transactionId?: string;
  readonly nextHop?: string;
  readonly startLine: string;
  readonly headers: readonly HeaderLine[];
  readonly body: string;
}): string {
  const hop = message.nextHop === undefined ? '' : `|${safeUri(message.nextHop)}`;
  return (
    `sip|${message.transactionId ?? ''}|${hop}${CRLF}${message.startLine}${CRLF}` +
    `${headerText(message.headers)}Content-Length: ${message.body.length}${CRLF}${CRLF}${message.body}`
  );
}

/** `proxy|<transaction>|…`, field by field as drachtio-srf's agent writes it. */
export function proxyCommand(transactionId: string, method: string, options: ProxyOptions): string {
  const targets = options.targets.map((target) => safeUri(target.uri));
  const milliseconds = (value: number | undefined): string =>
    value === undefined ? '' : `${Math.round(value)}ms`;
  const fields = [
    'proxy',
    transactionId,
    options.recordRoute ? 'remainInDialog' : '',
    'fullResponse',
    '',
    'serial',
    milliseconds(options.provisionalTimeoutMs),
    milliseconds(options.finalTimeoutMs),
    ...targets,
  ];
  return `${fields.join('|')}${CRLF}${method} ${targets[0] ?? ''} SIP/2.0${CRLF}${headerText(options.headers ?? [])}${CRLF}`;
}

function printable(text: string): string {
  return text.slice(0, 80).replace(/[\u0000-\u001f\u007f-\uffff]/g, '?');
}
