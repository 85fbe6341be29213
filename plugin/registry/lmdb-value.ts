import type { RegistryEntry, RegistryKey } from './registry';

/** Names can't hold a control character (entry.ts), so a tab separates; empty fields at the end are left out. */
const SEPARATOR = '\t';
const BLOCKED = 'b';

/** `system, customer, account, site, flags`: most entries have no more than the first two. */
export function encodeEntry({ system, customer, account, site, blocked }: RegistryEntry): string {
  const fields = [system, customer ?? '', account ?? '', site ?? '', blocked === true ? BLOCKED : ''];
  while (fields.at(-1) === '') fields.pop();
  return fields.join(SEPARATOR);
}

export function decodeEntry({ kind, value }: RegistryKey, stored: string): RegistryEntry {
  if (!stored.includes(SEPARATOR)) return { kind, value, system: stored };
  const [system = '', customer, account, site, flags] = stored.split(SEPARATOR);
  return {
    kind,
    value,
    system,
    ...(account ? { account } : {}),
    ...(site ? { site } : {}),
    ...(customer ? { customer } : {}),
    ...(flags === BLOCKED ? { blocked: true } : {}),
  };
}
