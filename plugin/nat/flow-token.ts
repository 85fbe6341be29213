import { createHmac, createSecretKey, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { NatKeyConfig } from '../config/types';
import { packFlow, unpackFlow, type Flow } from './flow';

const VERSION = 1;
/** In the byte of the version: the endpoint is behind NAT, wherever its Contact says it is. */
const BEHIND_NAT = 0x80;
/** RFC 5626 §5.2 asks for at least 80 bits of HMAC; 96 keep an IPv4 token at 36 characters. */
const MAC_BYTES = 12;
const HEAD_BYTES = 2;
/** Version, key id, 37 bytes of an IPv6 flow, HMAC: 51 bytes. */
const MAX_CHARACTERS = 68;

/** What reading a token ends with. Anything but `ok` is answered 403 (RFC 5626 §5.3.1). */
export type TokenOutcome =
  | {
      readonly kind: 'ok';
      readonly flow: Flow;
      /** It was issued for an endpoint that was seen to be behind NAT. */
      readonly behindNat: boolean;
      readonly keyId: number;
    }
  /** Not a token of ours, damaged, or made up. */
  | { readonly kind: 'bad_token' }
  /** It has the form of one, but was signed with a key that is not, or no longer, configured. */
  | { readonly kind: 'unknown_key'; readonly keyId: number };

interface Key {
  readonly id: number;
  readonly key: KeyObject;
}

/**
 * Flow tokens: the user part of our Path, which says how to reach the endpoint that registered. Stateless and signed,
 * so that any instance with the same keys can use one, and nobody else can make one.
 *
 * Bytes: version and whether the endpoint is behind NAT, key id, flow (packFlow), HMAC-SHA-256 over all before it cut to 96 bits; base64url: 36
 * characters for IPv4, 68 for IPv6, all allowed in a SIP user part without escapes.
 */
export class FlowTokens {
  readonly #keys: readonly Key[];
  readonly #issued: Key;

  readonly #onRejected: (reason: 'bad_token' | 'unknown_key') => void;

  /**
   * The first key is issued, all are accepted. None: a random one, which no other instance and no next run knows.
   * @param onRejected told of each token that is not taken, for the metrics
   */
  constructor(
    keys: readonly NatKeyConfig[],
    onRejected: (reason: 'bad_token' | 'unknown_key') => void = () => undefined,
  ) {
    this.#onRejected = onRejected;
    this.#keys = keys.map(({ id, secret }) => ({ id, key: createSecretKey(secret, 'utf8') }));
    this.#issued = this.#keys[0] ?? { id: 0, key: createSecretKey(randomBytes(32)) };
    if (this.#keys.length === 0) this.#keys = [this.#issued];
  }

  /**
   * The token of a flow, always the same for the same flow, key and `behindNat`. That an endpoint is behind NAT has to be
   * said: a phone that writes the address of its NAT into its Contact, as it learnt it from our answers, looks public.
   * @throws TypeError if an address is no IP address.
   */
  issue(flow: Flow, behindNat = false): string {
    const version = behindNat ? VERSION | BEHIND_NAT : VERSION;
    const body = Buffer.concat([Buffer.from([version, this.#issued.id]), packFlow(flow)]);
    return Buffer.concat([body, macOf(this.#issued, body)]).toString('base64url');
  }

  /** What a token says, if it is one of ours. Takes the same time for every wrong HMAC. */
  read(token: string): TokenOutcome {
    const outcome = this.#read(token);
    if (outcome.kind !== 'ok') this.#onRejected(outcome.kind);
    return outcome;
  }

  #read(token: string): TokenOutcome {
    if (token.length > MAX_CHARACTERS) return BAD_TOKEN;
    const bytes = Buffer.from(token, 'base64url');
    // Node skips what is not base64url; a token has one spelling only.
    if (bytes.length <= HEAD_BYTES + MAC_BYTES || bytes.toString('base64url') !== token) return BAD_TOKEN;
    const version = bytes[0] ?? 0;
    if ((version & ~BEHIND_NAT) !== VERSION) return BAD_TOKEN;
    const body = bytes.subarray(0, bytes.length - MAC_BYTES);
    const flow = unpackFlow(body.subarray(HEAD_BYTES));
    if (flow === undefined) return BAD_TOKEN;
    const keyId = bytes[1] ?? 0;
    const key = this.#keys.find(({ id }) => id === keyId);
    if (key === undefined) return { kind: 'unknown_key', keyId };
    if (!timingSafeEqual(macOf(key, body), bytes.subarray(body.length))) return BAD_TOKEN;
    return { kind: 'ok', flow, behindNat: (version & BEHIND_NAT) !== 0, keyId };
  }
}

const BAD_TOKEN: TokenOutcome = Object.freeze({ kind: 'bad_token' });

function macOf({ key }: Key, body: Buffer): Buffer {
  return createHmac('sha256', key).update(body).digest().subarray(0, MAC_BYTES);
}
