import { param } from '../../message/name-addr';
import type { SipMessage } from '../../message/sip-message';
import { isModernBranch } from '../wire/text';

/** ACK and CANCEL belong to the transaction of the request they speak of. */
const INVITE_FAMILY = new Set(['ACK', 'CANCEL']);

/**
 * What identifies the server transaction of a request (RFC 3261 §17.2.3): branch, sent-by and method, the
 * method of an ACK being INVITE. `asMethod` looks for another one, so that a CANCEL finds its INVITE. Requests without an
 * RFC 3261 branch are told apart by the older rules: Request-URI, From tag, Call-ID, CSeq number and top Via. Call-ID and CSeq
 * number count with a branch, too: a retransmission, ACK and CANCEL have those of their request, and the devices that use a
 * branch again, or the one that another device behind the same kind of router uses, do not get the answer to something else.
 */
export function serverKey(request: SipMessage, asMethod?: string): string | undefined {
  const { via } = request;
  if (!via) return undefined;
  const method = asMethod ?? (request.method === 'ACK' ? 'INVITE' : request.method);
  const { callId, cseq } = request;
  if (isModernBranch(via.branch))
    return `${via.branch}|${via.host}:${via.port ?? ''}|${callId ?? ''}|${cseq?.number ?? ''}|${method}`;
  const fromTag = request.from && param(request.from.params, 'tag');
  // The older rules compare the top Via as it was sent; what we noted in it must not count.
  const sent = via.params.filter(([name]) => !/^(?:received|rport)$/i.test(name));
  const marks = sent.map(([name, value]) => `${name}=${value ?? ''}`).join(';');
  return `2543|${request.uri}|${String(fromTag)}|${callId ?? ''}|${cseq?.number ?? ''}|${via.host}:${via.port ?? ''};${marks}|${method}`;
}

export const isInviteFamily = (method: string): boolean => INVITE_FAMILY.has(method);

/** What identifies the client transaction an answer belongs to (RFC 3261 §17.1.3). */
export const clientKey = (branch: string, method: string): string => `${branch}|${method}`;
