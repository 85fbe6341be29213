import { z } from 'zod';

/** What a system can say of an account, DID or customer. */
export const CLAIM_FIELDS = [
  'present',
  'customer',
  'site',
  'account',
  'blocked',
  'moved_to',
  'exported',
  'source',
  'target',
] as const;
export type ClaimField = (typeof CLAIM_FIELDS)[number];
export type ClaimValue = string | boolean | null;
export type ClaimValues = Partial<Record<ClaimField, ClaimValue>>;

/** When something was said: by the number of the event in its system, and by its time if it told one. */
export interface Stamp {
  readonly event: number;
  readonly timeMs?: number | undefined;
}

const claim = z.object({
  value: z.union([z.string(), z.boolean(), z.null()]),
  event: z.number(),
  /** Order of arrival here, for systems that don't tell the time. */
  arrival: z.number(),
  timeMs: z.number().optional(),
});
export type Claim = Readonly<z.output<typeof claim>>;

const activeSchema = z.object({
  customer: z.string(),
  /** null: the registry does not know the customer as one of two systems. */
  system: z.string().nullable(),
});
/** The customer of an account or DID, and the system in which that customer is active. */
export type ActiveAt = Readonly<z.output<typeof activeSchema>>;

const recordSchema = z.object({
  arrivals: z.number(),
  /** As it was when the last event came; absent: it has no customer. */
  active: activeSchema.optional(),
  systems: z.record(
    z.string(),
    z.object({
      /** Latest event first. Earlier ones are needed when an account gets another id and the news of it comes late. */
      fields: z.partialRecord(z.enum(CLAIM_FIELDS), z.array(claim)),
      /** Under what id this account went on, and by which event. */
      renames: z.array(z.object({ event: z.number(), to: z.string() })),
    }),
  ),
});

/** Claims kept of one field. */
const KEPT = 16;

/**
 * What every system said of one entity, each field with the event that said it last. Two events of one system are
 * ordered by their numbers, whenever they arrive; so applying the same events in any order, any number of times, gives the
 * same record but for `arrival`, which counts only between systems that tell no time.
 */
export type ClaimRecord = z.output<typeof recordSchema>;
type SystemClaims = ClaimRecord['systems'][string];

export const emptyRecord = (): ClaimRecord => ({ arrivals: 0, systems: {} });

export const readRecord = (text: string | null): ClaimRecord =>
  text === null ? emptyRecord() : recordSchema.parse(JSON.parse(text));

function systemOf(record: ClaimRecord, system: string): SystemClaims {
  return (record.systems[system] ??= { fields: {}, renames: [] });
}

/** What a system said last in a field. */
export const current = (record: ClaimRecord, system: string, field: ClaimField): Claim | undefined =>
  record.systems[system]?.fields[field]?.[0];

/** The systems that said something in a field, and what each said last. */
export function claimsOf(record: ClaimRecord, field: ClaimField): [system: string, claim: Claim][] {
  return Object.keys(record.systems).flatMap((system): [string, Claim][] => {
    const claim = current(record, system, field);
    return claim === undefined ? [] : [[system, claim]];
  });
}

/** The customers that the systems name, the one that was named last first: each system may have an id of its own. */
export const customersOf = (record: ClaimRecord): string[] =>
  claimsOf(record, 'customer')
    .sort(([, a], [, b]) => (isLater(a, b) ? -1 : 1))
    .flatMap(([, { value }]) => (typeof value === 'string' ? [value] : []));

/** Notes what a system said. */
export function claimFields(record: ClaimRecord, system: string, values: ClaimValues, stamp: Stamp): void {
  const { fields } = systemOf(record, system);
  const { event, timeMs } = stamp;
  for (const field of CLAIM_FIELDS) {
    const value = values[field];
    if (value === undefined) continue;
    const said = (fields[field] ??= []);
    if (said.some((each) => each.event === event)) continue;
    record.arrivals += 1;
    said.push({ value, event, arrival: record.arrivals, ...(timeMs === undefined ? {} : { timeMs }) });
    said.sort((a, b) => b.event - a.event).splice(KEPT);
  }
}

export function claimRename(record: ClaimRecord, system: string, to: string, event: number): void {
  const { renames } = systemOf(record, system);
  if (renames.some((each) => each.event === event)) return;
  renames.push({ event, to });
  renames.sort((a, b) => a.event - b.event);
}

/** Ids an account got after the event: what was said before holds for them too, where nothing later was said. */
export const renamesAfter = (record: ClaimRecord, system: string, event: number): readonly string[] =>
  (record.systems[system]?.renames ?? []).filter((each) => each.event > event).map(({ to }) => to);

/** Attributes that an account had just before the event, with their own stamps; it takes them along to a new id. */
export function attributesBefore(record: ClaimRecord, system: string, event: number): [ClaimValues, Stamp][] {
  const fields = record.systems[system]?.fields ?? {};
  return (['customer', 'site', 'account', 'blocked'] as const).flatMap((field): [ClaimValues, Stamp][] => {
    const found = fields[field]?.find((each) => each.event < event);
    return found === undefined ? [] : [[{ [field]: found.value }, found]];
  });
}

/** Which of two systems' claims is the later one: by time if both tell it, else by arrival. */
export const isLater = (a: Claim, b: Claim): boolean =>
  a.timeMs !== undefined && b.timeMs !== undefined && a.timeMs !== b.timeMs
    ? a.timeMs > b.timeMs
    : a.arrival > b.arrival;
