import { createHmac, createSecretKey, randomUUID, timingSafeEqual, type KeyObject } from 'node:crypto';
import { parseVia, type Via } from '../../message/via';
import { splitList } from '../../message/name-addr';
import type { Header, SipMessage } from '../../message/sip-message';

const COOKIE = 'z9hG4bK';
const SEAL_BYTES = 12;
const SEAL_CHARS = 16;
const NONCE_CHARS = 16;

/** What a branch is bound to: all of it comes back in the answer. */
interface Bound {
  readonly next: Via | undefined;
  readonly callId: string;
  readonly cseq: number;
}

/**
 * Makes the branches of our Vias: unique, and bound by HMAC-SHA-256 (96 bits) to the Via below, Call-ID and CSeq.
 * An answer that belongs to no transaction is forwarded by its second Via only if its first carries such a branch, so nobody
 * can have us send packets where we never had a request from. No state is needed: it works for a process that took over,
 * too, if it has the same keys.
 */
export class BranchSeal {
  readonly #keys: readonly KeyObject[];
  readonly #first: KeyObject;

  constructor(keys: readonly (string | Uint8Array)[]) {
    this.#keys = keys.map((key) => createSecretKey(typeof key === 'string' ? Buffer.from(key) : key));
    const [first] = this.#keys;
    if (!first) throw new RangeError('a branch seal needs at least one key');
    this.#first = first;
  }

  /** A new branch for a request about to leave with these headers, our Via not yet among them. */
  fresh(headers: readonly Header[]): string {
    const nonce = randomUUID().replaceAll('-', '').slice(0, NONCE_CHARS);
    return this.#branch(nonce, boundOf(headers));
  }

  /** The branch of a request that is forwarded without state: the same each time, and for its ACK and CANCEL (RFC 3261 §16.11). */
  stateless(request: SipMessage): string {
    return this.#branch('', boundOf(request.headers));
  }

  /** Whether an answer's topmost Via carries a branch that we gave to its request. */
  fits(answer: SipMessage): boolean {
    const branch = answer.via?.branch;
    if (!branch?.startsWith(COOKIE)) return false;
    const nonce = branch.slice(COOKIE.length, -SEAL_CHARS);
    const given = Buffer.from(branch.slice(-SEAL_CHARS), 'base64url');
    const { callId, cseq } = answer;
    if (given.length !== SEAL_BYTES || callId === undefined || !cseq) return false;
    const bound = { next: answer.vias[1], callId, cseq: cseq.number };
    return this.#keys.some((key) => timingSafeEqual(given, mac(key, nonce, bound)));
  }

  #branch(nonce: string, bound: Bound): string {
    return `${COOKIE}${nonce}${mac(this.#first, nonce, bound).toString('base64url')}`;
  }
}

function boundOf(headers: readonly Header[]): Bound {
  let next: Via | undefined;
  let callId = '';
  let cseq = 0;
  for (const { key, value } of headers) {
    if (key === 'via') next ??= parseVia(splitList(value)[0] ?? '');
    else if (key === 'call-id') callId = value;
    else if (key === 'cseq') cseq = Number.parseInt(value, 10);
  }
  return { next, callId, cseq };
}

function mac(key: KeyObject, nonce: string, { next, callId, cseq }: Bound): Buffer {
  const where = next
    ? `${next.transport}|${next.host}|${next.port ?? ''}|${next.branch ?? ''}|${next.received ?? ''}|${String(next.rport)}`
    : '';
  return createHmac('sha256', key)
    .update(`${nonce}\n${callId}\n${cseq}\n${where}`, 'latin1')
    .digest()
    .subarray(0, SEAL_BYTES);
}
