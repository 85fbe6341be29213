import type { SipMessage } from '../../message/sip-message';
import { requestText, type Line } from '../wire/text';

/** A request on its way out: what its transaction must know to cancel or acknowledge it. */
export interface Outgoing {
  readonly method: string;
  readonly uri: string;
  readonly branch: string;
  /** Our Via's value. */
  readonly via: string;
  readonly from: string;
  readonly to: string;
  readonly callId: string;
  readonly cseq: number;
  /** Route lines, in order. */
  readonly routes: readonly Line[];
  readonly text: string;
}

const sibling = (request: Outgoing, method: 'ACK' | 'CANCEL', to: string, extra: readonly Line[]): string =>
  requestText(
    method,
    request.uri,
    [
      { name: 'Via', value: request.via },
      ...request.routes,
      { name: 'Max-Forwards', value: '70' },
      { name: 'From', value: request.from },
      { name: 'To', value: to },
      { name: 'Call-ID', value: request.callId },
      { name: 'CSeq', value: `${request.cseq} ${method}` },
      ...extra,
    ],
    '',
  );

/** The ACK for an answer of 300 to 699 (RFC 3261 §17.1.1.3): the INVITE's branch, the answer's To. */
export const ackText = (invite: Outgoing, answer: SipMessage): string =>
  sibling(invite, 'ACK', answer.get('to') ?? invite.to, []);

/** The CANCEL of a request (RFC 3261 §9.1), with extra lines such as Reason. */
export const cancelOf = (request: Outgoing, extra: readonly Line[] = []): Outgoing => ({
  ...request,
  method: 'CANCEL',
  text: sibling(request, 'CANCEL', request.to, extra),
});

/** The parts of a request that was just written. */
export function outgoing(
  parts: { method: string; uri: string; branch: string; via: string; body: string },
  headers: readonly (Line & { readonly key: string })[],
): Outgoing {
  const value = (key: string): string => headers.find((line) => line.key === key)?.value ?? '';
  const via = { name: 'Via', value: parts.via };
  return {
    method: parts.method,
    uri: parts.uri,
    branch: parts.branch,
    via: parts.via,
    from: value('from'),
    to: value('to'),
    callId: value('call-id'),
    cseq: Number.parseInt(value('cseq'), 10),
    routes: headers.filter(({ key }) => key === 'route'),
    text: requestText(parts.method, parts.uri, [via, ...headers], parts.body),
  };
}
