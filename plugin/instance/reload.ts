import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/types';

/** Sections that are read once, at the start; of `admin` all but the token. */
const READ_AT_START = ['instance', 'sip_servers', 'registry', 'cache', 'ha', 'admin', 'log'] as const;

/** What a reload did not apply, since it needs a restart: sections of the configuration. */
export interface ReloadResult {
  readonly needsRestart: readonly string[];
}

/** The configuration to go on with: the next one, but for the sections that are read once. */
export function reloaded(before: Config, next: Config): ReloadResult & { readonly config: Config } {
  // A new token is taken at once; to do without one is not, as the address it was needed for stays.
  const { token = before.admin.token } = next.admin;
  const admin = Object.freeze({ ...before.admin, ...(token === undefined ? {} : { token }) });
  const used: Config = { ...before, admin };
  const needsRestart = READ_AT_START.filter((section) => !isDeepStrictEqual(used[section], next[section]));
  const kept = Object.fromEntries(READ_AT_START.map((section) => [section, used[section]]));
  return { needsRestart, config: Object.freeze({ ...next, ...kept }) };
}

/** True when the keys of the flow tokens were changed. */
export const keysDiffer = (before: Config, next: Config): boolean =>
  !isDeepStrictEqual(before.nat.keys, next.nat.keys);
