import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/types';

/** Sections that are read once, at the start. */
const READ_AT_START = ['instance', 'sip_servers', 'registry', 'cache', 'ha', 'admin', 'log'] as const;

/** What a reload did not apply, since it needs a restart: sections of the configuration. */
export interface ReloadResult {
  readonly needsRestart: readonly string[];
}

/** The configuration to go on with: the next one, but for the sections that are read once. */
export function reloaded(before: Config, next: Config): ReloadResult & { readonly config: Config } {
  const needsRestart = READ_AT_START.filter((section) => !isDeepStrictEqual(before[section], next[section]));
  const kept = Object.fromEntries(READ_AT_START.map((section) => [section, before[section]]));
  return { needsRestart, config: Object.freeze({ ...next, ...kept }) };
}

/** True when the keys of the flow tokens were changed. */
export const keysDiffer = (before: Config, next: Config): boolean =>
  !isDeepStrictEqual(before.nat.keys, next.nat.keys);
