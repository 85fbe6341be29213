import type { Customer, RegistryEntry, RegistryKey } from '../registry';
import { current, isLater } from './claims';
import type { Claim, ClaimField, ClaimRecord } from './claims';

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The systems that say they have it, and what each said. */
function claimsOf(record: ClaimRecord, field: ClaimField): [system: string, claim: Claim][] {
  return Object.keys(record.systems).flatMap((system): [string, Claim][] => {
    const claim = current(record, system, field);
    return claim === undefined ? [] : [[system, claim]];
  });
}

const latest = (claims: readonly [string, Claim][]): [string, Claim] | undefined =>
  claims.reduce<[string, Claim] | undefined>(
    (best, each) => (best === undefined || isLater(each[1], best[1]) ? each : best),
    undefined,
  );

/** A system that another one gave it to, and that has not said anything later itself. */
function movedTo(record: ClaimRecord): { from: string; to: string } | undefined {
  const moves = claimsOf(record, 'moved_to').filter(([, move]) => {
    const to = text(move.value);
    if (to === undefined) return false;
    const own = current(record, to, 'present');
    if (own === undefined) return true;
    return own.timeMs !== undefined && move.timeMs !== undefined && move.timeMs > own.timeMs;
  });
  const move = latest(moves);
  const to = text(move?.[1].value);
  return move === undefined || to === undefined ? undefined : { from: move[0], to };
}

/** The entry that follows from what all systems said; `null`: none has it. */
export function entryFrom(key: RegistryKey, record: ClaimRecord): RegistryEntry | null {
  const present = latest(claimsOf(record, 'present').filter(([, { value }]) => value === true));
  const moved = present === undefined ? movedTo(record) : undefined;
  const system = present?.[0] ?? moved?.to;
  if (system === undefined) return null;
  const value = (field: ClaimField) => current(record, moved?.from ?? system, field)?.value;
  const account = text(value('account'));
  // A site of the system that gave it away means nothing on the other.
  const site = moved === undefined ? text(value('site')) : undefined;
  const customer = text(value('customer'));
  return {
    kind: key.kind,
    value: key.value,
    system,
    ...(account === undefined ? {} : { account }),
    ...(site === undefined ? {} : { site }),
    ...(customer === undefined ? {} : { customer }),
    ...(value('blocked') === true ? { blocked: true } : {}),
  };
}

/** The customer that follows; `null`: deleted; `undefined`: nobody has said yet between which systems it moves. */
export function customerFrom(id: string, record: ClaimRecord): Customer | null | undefined {
  const value = (field: ClaimField) => latest(claimsOf(record, field))?.[1].value;
  if (value('present') === false) return null;
  const source = text(value('source'));
  const target = text(value('target'));
  if (source === undefined || target === undefined) return undefined;
  return { id, source, target, exported: value('exported') === true };
}
