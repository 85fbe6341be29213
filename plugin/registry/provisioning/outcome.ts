import { activeSystem } from '../answer';
import type { Customer, RegistryEntry, RegistryKey } from '../registry';
import { claimsOf, current, isLater } from './claims';
import type { Claim, ClaimField, ClaimRecord } from './claims';

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

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

/** The system that has it: of several the one in which its customer is active, else the one that said so last. */
function holderOf(record: ClaimRecord): string | undefined {
  const having = claimsOf(record, 'present').filter(([, { value }]) => value === true);
  const active = having.find(([system]) => system === record.active?.system);
  return (active ?? latest(having))?.[0];
}

/** The entry that follows from what all systems said; `null`: none has it. */
export function entryFrom(key: RegistryKey, record: ClaimRecord): RegistryEntry | null {
  const present = holderOf(record);
  const moved = present === undefined ? movedTo(record) : undefined;
  const system = present ?? moved?.to;
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

/**
 * The customer that follows; `null`: deleted; `undefined`: nobody has said yet between which systems it moves. Only the
 * system in which it is active deletes it: the other one's clean-up after the move changes nothing.
 */
export function customerFrom(id: string, record: ClaimRecord): Customer | null | undefined {
  const value = (field: ClaimField) => latest(claimsOf(record, field))?.[1].value;
  const source = text(value('source'));
  const target = text(value('target'));
  if (source === undefined || target === undefined) return undefined;
  const said = latest(claimsOf(record, 'exported'));
  const customer: Customer = { id, source, target, exported: said?.[1].value === true };
  const active = activeSystem(customer);
  const last = current(record, active, 'present');
  if (last?.value !== false) return customer;
  // Who moved it said then that it is there: of one system, "deleted" is what it says last only if that came later.
  const isOver = said === undefined || said[0] === active || isLater(last, said[1]);
  return isOver ? null : customer;
}
