import type { InboundRequest } from '../link/sip-link';

/**
 * The transactions that are under way, so that a retransmission (which a server may hand over again once it has
 * forgotten the first) starts no second attempt.
 */
export class InProgress {
  private readonly keys = new Set<string>();

  get size(): number {
    return this.keys.size;
  }

  /** Takes note of a request; false when it is under way already. Call `leave` with the same when it has ended. */
  enter(request: InboundRequest): boolean {
    const key = keyOf(request);
    if (this.keys.has(key)) return false;
    this.keys.add(key);
    return true;
  }

  leave(request: InboundRequest): void {
    this.keys.delete(keyOf(request));
  }
}

/** RFC 3261 §17.2.3: branch and sent-by of the top Via, and the method; the rest guards against reused branches. */
function keyOf({ link, message }: InboundRequest): string {
  const { via, cseq } = message;
  return [
    link.name,
    message.method,
    via?.branch ?? '',
    `${via?.host ?? ''}:${via?.port ?? ''}`,
    message.callId ?? '',
    cseq?.number ?? '',
    message.from?.params.find(([name]) => name.toLowerCase() === 'tag')?.[1] ?? '',
  ].join('\n');
}
