import { formatVia, type Via } from '../../message/via';
import type { Header, SipMessage } from '../../message/sip-message';
import { plainAddress, type Flow } from '../transport/flow';

/** A message together with the way it came. */
export interface Inbound {
  readonly message: SipMessage;
  readonly flow: Flow;
  /** Bytes on the wire. */
  readonly size: number;
}

const DEFAULT_PORT = 5060;

/** The same message with other header lines. */
export const withHeaders = (message: SipMessage, headers: readonly Header[]): SipMessage =>
  message.withHeaders(headers);

/** The message with the first element of its first Via line replaced. */
function withTopVia(message: SipMessage, top: Via, text: string): SipMessage {
  const at = message.headers.findIndex(({ key }) => key === 'via');
  const line = message.headers[at];
  if (line === undefined) return message;
  const headers = [...message.headers];
  headers[at] = { ...line, value: text + line.value.slice(top.text.length) };
  return withHeaders(message, headers);
}

/**
 * Notes in the top Via where the request really came from: `received` when it differs from the sent-by
 * (RFC 3261 §18.2.1), and with it `rport` for whoever asked (RFC 3581 §4). What the sender wrote there himself is not believed.
 */
export function noteSource(message: SipMessage, flow: Flow): SipMessage {
  const { via } = message;
  if (!via) return message;
  const asked = via.rport !== undefined;
  const differs = plainAddress(via.host) !== plainAddress(flow.address);
  if (!asked && !differs && via.received === undefined) return message;
  const params = via.params.flatMap(([name, value]): [string, string | undefined][] => {
    const lower = name.toLowerCase();
    if (lower === 'received') return [];
    return [lower === 'rport' ? [name, String(flow.port)] : [name, value]];
  });
  if (asked || differs) params.push(['received', flow.address]);
  return withTopVia(message, via, formatVia({ ...via, params }));
}

/**
 * Where the answer to a request goes (RFC 3261 §18.2.2, RFC 3581 §4): by the same connection, or, when that
 * is gone, to the source address at the sent-by port; over UDP to the source address, at the source port if `rport`
 * was asked for, else at the sent-by port. `maddr` is not followed. A Via that can't be read is answered where the packet came from.
 */
export function answerFlow(message: SipMessage, flow: Flow): Flow {
  const { via } = message;
  if (!via || (flow.transport === 'udp' && via.rport !== undefined)) return flow;
  return { ...flow, port: via.port ?? DEFAULT_PORT };
}
