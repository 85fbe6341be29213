import { isToken, trimBlank } from '../../message/chars';
import { headerKey } from '../../message/header-name';
import type { Header } from '../../message/sip-message';

/** A SIP message as an application writes it: what the server adds is missing. */
export interface CommandMessage {
  readonly startLine: string;
  /** Header lines in order, without the orders to the server. */
  readonly lines: readonly Header[];
  readonly body: string;
  /** Values of the `X-Dsbc-…` lines, by the rest of their name in lower case. */
  readonly orders: ReadonlyMap<string, string>;
}

/** One command of an application, taken apart. */
export interface Command {
  readonly id: string;
  readonly name: string;
  /** What follows the name. */
  readonly tokens: readonly string[];
  /** What follows the first line. */
  readonly text: string;
}

const ORDER = 'x-dsbc-';

export function parseCommand(message: string): Command {
  const end = message.indexOf('\r\n');
  const [id = '', name = '', ...tokens] = (end < 0 ? message : message.slice(0, end)).split('|');
  return { id, name, tokens, text: end < 0 ? '' : message.slice(end + 2) };
}

/**
 * Reads the SIP message of a command. Lines without a usable name are left out, as drachtio-server does. A
 * string says why the message must not be sent: a bare CR or LF would be a line end to somebody behind us.
 */
export function parseCommandMessage(text: string): CommandMessage | string {
  const blank = text.indexOf('\r\n\r\n');
  const head = blank < 0 ? text : text.slice(0, blank);
  const [startLine = '', ...rest] = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  const lines: Header[] = [];
  const orders = new Map<string, string>();
  for (const line of [startLine, ...rest]) {
    if (/[\r\n]/.test(line)) return 'a header carries a bare CR or LF';
  }
  for (const line of rest) {
    const colon = line.indexOf(':');
    const name = trimBlank(line.slice(0, Math.max(colon, 0)));
    if (!isToken(name)) continue;
    const value = trimBlank(line.slice(colon + 1));
    const key = headerKey(name);
    if (key.startsWith(ORDER)) orders.set(key.slice(ORDER.length), value);
    else lines.push({ name, key, value });
  }
  return { startLine, lines, body: blank < 0 ? '' : text.slice(blank + 4), orders };
}

/** `500ms`, `2s`, or a number of milliseconds; undefined for anything else, and for nothing. */
export function milliseconds(text: string | undefined): number | undefined {
  const match = /^(\d{1,9})(ms|s)?$/.exec(text ?? '');
  if (!match) return undefined;
  const value = Number(match[1]) * (match[2] === 's' ? 1_000 : 1);
  return value > 0 ? value : undefined;
}
