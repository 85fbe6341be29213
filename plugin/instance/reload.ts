import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/types';

/** Sections that are read once, at the start; of `admin` all but the token. */
export const READ_AT_START = [
  'instance',
  'sip_servers',
  'registry',
  'cache',
  'ha',
  'admin',
  'log',
  'native',
] as const;

/** What a reload did not apply, or not everywhere, since it needs a restart: sections or keys of the configuration. */
export interface ReloadResult {
  readonly needsRestart: readonly string[];
}

/** The configuration to go on with: the next one, but for the sections that are read once. */
export function reloaded(before: Config, next: Config): ReloadResult & { readonly config: Config } {
  // A new token is taken at once; to do without one is not, as the address it was needed for stays.
  const { token = before.admin.token } = next.admin;
  const admin = Object.freeze({ ...before.admin, ...(token === undefined ? {} : { token }) });
  const used: Config = { ...before, admin };
  const needsRestart: string[] = READ_AT_START.filter(
    (section) => !isDeepStrictEqual(used[section], next[section]),
  );
  // Tokens are signed with the new keys at once; the embedded server seals its routes with those of its start.
  const isEmbedded = before.sip_servers.some(({ server }) => server === 'embedded');
  if (isEmbedded && keysDiffer(before, next)) needsRestart.push('nat.keys');
  const kept = Object.fromEntries(READ_AT_START.map((section) => [section, used[section]]));
  return { needsRestart, config: Object.freeze({ ...next, ...kept }) };
}

/** True when the keys of the flow tokens were changed. */
export const keysDiffer = (before: Config, next: Config): boolean =>
  !isDeepStrictEqual(before.nat.keys, next.nat.keys);
