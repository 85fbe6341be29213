import { createHmac, timingSafeEqual, type BinaryLike } from 'node:crypto';
import { param } from '../../message/name-addr';
import type { SipMessage } from '../../message/sip-message';

/** The URI parameter of our Record-Route that binds it to one dialog. */
export const SEAL_PARAMETER = 'dsbc';

const SEAL_BYTES = 12;

const tagOf = (message: SipMessage, side: 'from' | 'to'): string | undefined => {
  const tag = message[side] && param(message[side].params, 'tag');
  return typeof tag === 'string' && tag !== '' ? tag : undefined;
};

/**
 * Seals Record-Route values, so that a request with our Route is forwarded only when we put that Route into
 * the dialog ourselves: HMAC-SHA-256 over Call-ID and the caller's tag, cut to 96 bits. No state is kept, so a dialog survives the
 * process, and any server with the same keys forwards for it. The first key seals, all keys are accepted.
 */
export class DialogSeal {
  readonly #keys: readonly BinaryLike[];

  constructor(keys: readonly BinaryLike[]) {
    if (keys.length === 0) throw new RangeError('a dialog seal needs at least one key');
    this.#keys = keys;
  }

  /** For the request that opens the dialog, or one inside it from the caller. */
  seal(request: SipMessage): string {
    const [key] = this.#keys;
    return key === undefined
      ? ''
      : this.#mac(key, request.callId ?? '', tagOf(request, 'from') ?? '').toString('base64url');
  }

  /** Whether the seal belongs to the dialog of this request, whichever side sent it. */
  fits(seal: string, request: SipMessage): boolean {
    const given = Buffer.from(seal, 'base64url');
    const { callId } = request;
    if (given.length !== SEAL_BYTES || callId === undefined) return false;
    const tags = [tagOf(request, 'from'), tagOf(request, 'to')];
    return this.#keys.some((key) =>
      tags.some((tag) => tag !== undefined && timingSafeEqual(given, this.#mac(key, callId, tag))),
    );
  }

  #mac(key: BinaryLike, callId: string, tag: string): Buffer {
    // A line end can stand in neither, so the two can't be shifted against each other.
    return createHmac('sha256', key).update(`${callId}\n${tag}`, 'latin1').digest().subarray(0, SEAL_BYTES);
  }
}
