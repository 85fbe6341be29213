import { splitList } from '../message/name-addr';

/** What routing reads of a digest header (RFC 7616 §3.3, §3.4): never the response, which only the site checks. */
export interface DigestFact {
  readonly nonce?: string;
  readonly username?: string;
}

const PARAMETER = /^\s*(?:digest\s+)?([A-Za-z0-9-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))\s*$/i;

/**
 * Reads the nonce and user name of a challenge or of credentials: WWW-Authenticate, Proxy-Authenticate,
 * Authorization, Proxy-Authorization. Another scheme, or text that is neither, gives an empty fact.
 */
export function readDigest(value: string): DigestFact {
  if (!/^\s*digest\s/i.test(value)) return {};
  const fact: { nonce?: string; username?: string } = {};
  for (const part of splitList(value)) {
    const match = PARAMETER.exec(part);
    const name = match?.[1]?.toLowerCase();
    const text = match?.[2]?.replace(/\\(.)/g, '$1') ?? match?.[3];
    if (text === undefined || text === '') continue;
    if (name === 'nonce') fact.nonce ??= text;
    else if (name === 'username') fact.username ??= text;
  }
  return fact;
}
