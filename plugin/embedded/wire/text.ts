import { randomUUID } from 'node:crypto';
import type { Header, SipMessage } from '../../message/sip-message';

/** A header line to be written. */
export interface Line {
  readonly name: string;
  readonly value: string;
}

/** Header lines written one after the other, without the empty line. */
function linesText(lines: readonly Line[], bodyLength: number): string {
  let text = '';
  let sized = false;
  for (const { name, value } of lines) {
    const length = name.length;
    // Content-Length keeps its place and name, and says the truth.
    if ((length === 14 || length === 1) && isContentLength(name)) {
      if (!sized) text += `${name}: ${bodyLength}\r\n`;
      sized = true;
    } else text += `${name}: ${value}\r\n`;
  }
  return sized ? text : `${text}Content-Length: ${bodyLength}\r\n`;
}

const isContentLength = (name: string): boolean => {
  const lower = name.toLowerCase();
  return lower === 'l' || lower === 'content-length';
};

/**
 * The text of a request. Lines go out as given, in order: they must come from a parsed message or be checked,
 * since nothing is escaped here.
 */
export const requestText = (method: string, uri: string, lines: readonly Line[], body: string): string =>
  `${method} ${uri} SIP/2.0\r\n${linesText(lines, body.length)}\r\n${body}`;

/** The text of an answer; lines as for `requestText`. */
export const responseText = (status: number, reason: string, lines: readonly Line[], body: string): string =>
  `SIP/2.0 ${status} ${reason}\r\n${linesText(lines, body.length)}\r\n${body}`;

/** A message as text again, one line per header, unfolded. */
export const messageText = (message: SipMessage): string =>
  message.kind === 'request'
    ? requestText(message.method, message.uri, message.headers, message.body)
    : responseText(message.status, message.reason, message.headers, message.body);

export const headerLines = (message: SipMessage, key: string): Header[] =>
  message.headers.filter((header) => header.key === key);

/** RFC 3261 §8.1.1.7: unique in space and time, with the magic cookie. */
export const newBranch = (): string => `z9hG4bK${randomUUID().replaceAll('-', '')}`;

export const newTag = (): string => randomUUID().replaceAll('-', '').slice(0, 20);

const RFC3261_COOKIE = 'z9hg4bk';

/** Whether a branch is one of RFC 3261; the bare cookie is not (RFC 4475 §3.2.1). */
export const isModernBranch = (branch: string | undefined): branch is string =>
  branch !== undefined &&
  branch.length > RFC3261_COOKIE.length &&
  branch.slice(0, RFC3261_COOKIE.length).toLowerCase() === RFC3261_COOKIE;
