import type { Header, SipMessage } from '../../message/sip-message';
import { splitList } from '../../message/name-addr';
import { hostPort, type Flow } from '../transport/flow';

/** The name, in our own Via, of the stream connection the request came by. */
export const CONNECTION_PARAMETER = 'i';

/** Our Via for a request that leaves by a flow; `cameBy` is the stream connection it came by, if it is forwarded without state. */
export function ownVia(flow: Flow, branch: string, cameBy?: number): string {
  const { entry } = flow;
  const protocol = flow.transport.toUpperCase();
  const connection = cameBy === undefined ? '' : `;${CONNECTION_PARAMETER}=${cameBy}`;
  return `SIP/2.0/${protocol} ${hostPort(entry.address, entry.port)};rport;branch=${branch}${connection}`;
}

/** The header lines of an answer without its topmost Via value (RFC 3261 §16.7 item 3); undefined when no other is left. */
export function withoutTopVia(message: SipMessage): Header[] | undefined {
  const headers: Header[] = [];
  let removed = false;
  let left = 0;
  for (const header of message.headers) {
    if (header.key !== 'via') headers.push(header);
    else if (removed) {
      left += 1;
      headers.push(header);
    } else {
      removed = true;
      const rest = splitList(header.value).slice(1);
      left += rest.length;
      if (rest.length > 0) headers.push({ ...header, value: rest.join(', ') });
    }
  }
  return left > 0 ? headers : undefined;
}
