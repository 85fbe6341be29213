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

/** The side of a dialog: who opened it, or the other one. */
export type Side = 'caller' | 'callee';

/** What a seal that is right says about a request inside the dialog. */
export interface Unsealed {
  /** Which side sent the request. */
  readonly sender: Side;
  /** Whose flow the token in the user part of the same Route names; undefined where there is none. */
  readonly tokenOf: Side | undefined;
}

const LETTERS = { r: 'caller', e: 'callee', n: undefined } as const;
type Letter = keyof typeof LETTERS;
const isLetter = (text: string): text is Letter => text in LETTERS;
const letterOf = (side: Side | undefined): Letter =>
  side === undefined ? 'n' : side === 'caller' ? 'r' : 'e';

/**
 * Seals Record-Route values, so that a request with our Route is forwarded only when we put that Route into
 * the dialog ourselves: a letter that says whose flow its token names, and HMAC-SHA-256 over it, Call-ID and the caller's
 * tag, cut to 96 bits. No state is kept, so a dialog survives the process, and any server with the same keys forwards for
 * it. The first key seals, all keys are accepted.
 */
export class DialogSeal {
  readonly #keys: readonly BinaryLike[];

  constructor(keys: readonly BinaryLike[]) {
    if (keys.length === 0) throw new RangeError('a dialog seal needs at least one key');
    this.#keys = keys;
  }

  /** For the request that opens the dialog, or one inside it from the caller. */
  seal(request: SipMessage, tokenOf?: Side): string {
    const [key] = this.#keys;
    if (key === undefined) return '';
    const letter = letterOf(tokenOf);
    const mac = this.#mac(key, letter, request.callId ?? '', tagOf(request, 'from') ?? '');
    return `${letter}${mac.toString('base64url')}`;
  }

  /** What a seal says, if it belongs to the dialog of this request, whichever side sent it. */
  open(seal: string, request: SipMessage): Unsealed | undefined {
    const letter = seal.slice(0, 1);
    const given = Buffer.from(seal.slice(1), 'base64url');
    const { callId } = request;
    if (!isLetter(letter) || given.length !== SEAL_BYTES || callId === undefined) return undefined;
    const fits = (tag: string | undefined): boolean =>
      tag !== undefined &&
      this.#keys.some((key) => timingSafeEqual(given, this.#mac(key, letter, callId, tag)));
    const tokenOf = LETTERS[letter];
    if (fits(tagOf(request, 'from'))) return { sender: 'caller', tokenOf };
    if (fits(tagOf(request, 'to'))) return { sender: 'callee', tokenOf };
    return undefined;
  }

  #mac(key: BinaryLike, letter: Letter, callId: string, tag: string): Buffer {
    // A line end can stand in none of them, so they can't be shifted against each other.
    return createHmac('sha256', key)
      .update(`${letter}\n${callId}\n${tag}`, 'latin1')
      .digest()
      .subarray(0, SEAL_BYTES);
  }
}
