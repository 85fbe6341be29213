import type { SipUri } from '../message/uri';
import { uriParam } from '../message/uri';
import type { LookupKey, RequestFacts } from './decision';
import { MAX_KEY_LENGTH, normaliseUser, otherSpelling } from './number';

/** A key to be looked up, and which part of the request it was. */
export interface KeyCandidate {
  readonly key: LookupKey;
  /** Words for the operator: `the From user`. */
  readonly part: string;
}

const isPhone = (uri: SipUri): boolean => uri.scheme === 'tel' || uriParam(uri, 'user') === 'phone';

/** RFC 3323 §4.1.1.3: the host that stands for "no name". */
const isAnonymous = (uri: SipUri): boolean => uri.host === 'anonymous.invalid';

/** The normalised user of a URI; undefined if it has none, or one that no registry can hold. */
export function keyUser(uri: SipUri | undefined): string | undefined {
  if (uri?.user === undefined || isAnonymous(uri)) return undefined;
  const user = normaliseUser(uri.user, isPhone(uri));
  return user === '' || user.length > MAX_KEY_LENGTH ? undefined : user;
}

/**
 * The keys of a request in the order they are asked for. Later ones are worked out only when those before them were
 * not known, which is the rare case.
 */
export class KeyList {
  readonly #keys: KeyCandidate[] = [];
  #sources: readonly ((keys: KeyList) => void)[];
  #nextSource = 0;

  constructor(sources: readonly ((keys: KeyList) => void)[]) {
    this.#sources = sources;
  }

  /** A list of given keys. */
  static of(given: readonly LookupKey[], part: string): KeyList {
    return new KeyList([(keys) => keys.#keys.push(...given.map((key) => ({ key, part })))]);
  }

  /** The key at this place; undefined behind the last one. */
  at(place: number): KeyCandidate | undefined {
    while (place >= this.#keys.length) {
      const source = this.#sources[this.#nextSource++];
      if (source === undefined) return undefined;
      source(this);
    }
    return this.#keys[place];
  }

  all(): readonly KeyCandidate[] {
    while (this.at(this.#keys.length) !== undefined);
    return this.#keys;
  }

  /** Adds an account, unless it is there already or no registry could hold it. */
  account(value: string | undefined, part: string): void {
    if (value === undefined || value === '' || value.length > MAX_KEY_LENGTH) return;
    for (const { key } of this.#keys) if (key.kind === 'account' && key.value === value) return;
    this.#keys.push({ key: { kind: 'account', value }, part });
  }

  did(value: string): void {
    this.#keys.push({ key: { kind: 'did', value }, part: 'the called number' });
  }
}

/** A digest user name is often `account@realm`. */
function digestAccount(username: string | undefined): string | undefined {
  const at = username?.lastIndexOf('@') ?? -1;
  return at < 0 ? username : username?.slice(0, at);
}

/** REGISTER: the address of record (RFC 3261 §10.2). */
export const registeredKeys = (facts: RequestFacts): KeyList =>
  new KeyList([(keys) => keys.account(keyUser(facts.to), 'the To user')]);

/**
 * The caller's account: From first, then the digest user name, so that a request and its retry with credentials give
 * the same key. A trunk that sends any From, or none, is known by its preferred identity, its Contact, or the
 * registration that came over the same flow.
 * @param called the called user, normalised, if it may decide where no caller is known
 */
export function callerKeys(facts: RequestFacts, called?: () => string | undefined): KeyList {
  return new KeyList([
    (keys) => keys.account(keyUser(facts.from), 'the From user'),
    (keys) => {
      for (const { username } of facts.credentials)
        keys.account(digestAccount(username), 'the digest user name');
      keys.account(keyUser(facts.preferredIdentity), 'the P-Preferred-Identity user');
      const contactUser = facts.contact?.user;
      if (contactUser !== undefined) keys.account(normaliseUser(contactUser, false), 'the Contact user');
      const registered = facts.registeredAs?.();
      if (registered !== undefined)
        keys.account(normaliseUser(registered, false), 'the account registered over this flow');
    },
    ...(called === undefined ? [] : [(keys: KeyList) => addCalled(keys, called(), true)]),
  ]);
}

/**
 * The called number: as DID, as the same DID written with or without its plus sign, then as account.
 * @param user normalised
 * @param accounts false: only numbers that mean the same everywhere are looked up
 */
export const calledKeys = (user: string | undefined, accounts: boolean): KeyList =>
  new KeyList([(keys) => addCalled(keys, user, accounts)]);

function addCalled(keys: KeyList, user: string | undefined, accounts: boolean): void {
  if (user === undefined) return;
  keys.did(user);
  const other = otherSpelling(user);
  if (other !== undefined) keys.did(other);
  if (accounts) keys.account(user, 'the called user');
}

/** What a peer dials, in our own form: its prefix taken off, ours put on. */
export function peerNumber(
  user: string,
  peer: { prefix_strip?: string | undefined; prefix_add?: string | undefined },
): string {
  const { prefix_strip: strip = '', prefix_add: add = '' } = peer;
  const bare = strip !== '' && user.startsWith(strip) ? user.slice(strip.length) : user;
  return add + bare;
}
