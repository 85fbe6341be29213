import { z } from 'zod';
import { problemsOf } from '../../config/problems';
import { isNewName } from '../entry';

/** Event types that change the registry; any other is answered 202 and counted. */
export const EVENT_TYPES = [
  'Account/New',
  'Account/Updated',
  'Account/Deleted',
  'Account/ID/Changed',
  'Account/Blocked',
  'Account/Unblocked',
  'DID/Provisioned',
  'DID/Released',
  'DID/Moved',
  'Customer/Exported',
  'Customer/RolledBack',
  'Customer/Deleted',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

const name = z.string().refine((text) => isNewName(text), 'a text that can be stored as a key');
/** PortaBilling's numbers may come as text. */
const id = z.union(
  [name, z.number().int().nonnegative().transform(String)],
  'a text that can be stored as a key, or a whole number',
);
const flag = z.union(
  [z.boolean(), z.enum(['Y', 'N', 'y', 'n', 'true', 'false']).transform((text) => /^(y|true)$/i.test(text))],
  'true, false, Y or N',
);
const TIME = 'a date and time, or seconds since 1970';
/** ISO 8601, `YYYY-MM-DD hh:mm:ss` in UTC, or seconds since 1970; as milliseconds. */
const time = z.union([z.number().nonnegative(), z.string()], TIME).transform((given, context) => {
  const text = typeof given === 'number' || /^\d+$/.test(given) ? undefined : given.trim();
  if (text === undefined) return Number(given) * 1000;
  const iso = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text) ? `${text.replace(' ', 'T')}Z` : text;
  const parsed = Date.parse(iso);
  if (!Number.isNaN(parsed)) return parsed;
  context.addIssue({ code: 'custom', message: TIME });
  return z.NEVER;
});
const eventNumber = z
  .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], 'a whole number')
  .pipe(z.int().min(1));

const common = { i_event: eventNumber, system: name, event_time: time.optional() };
/** `null` clears one; left out it stays as it is. */
const attributes = {
  customer: id.nullable().optional(),
  site: name.nullable().optional(),
};
const accountFields = { ...common, account: id, ...attributes, blocked: flag.optional() };
const didFields = { ...common, did: id, account: id.nullable().optional(), ...attributes };
const customerFields = { ...common, customer: id, source: name.optional(), target: name.optional() };

const SCHEMAS = {
  'Account/New': z.object(accountFields),
  'Account/Updated': z.object(accountFields),
  'Account/Deleted': z.object({ ...common, account: id }),
  'Account/ID/Changed': z.object({ ...accountFields, new_account: id }),
  'Account/Blocked': z.object({ ...common, account: id }),
  'Account/Unblocked': z.object({ ...common, account: id }),
  'DID/Provisioned': z.object({ ...didFields, blocked: flag.optional() }),
  'DID/Released': z.object({ ...common, did: id }),
  'DID/Moved': z.object({ ...didFields, to_system: name }),
  'Customer/Exported': z.object(customerFields),
  'Customer/RolledBack': z.object(customerFields),
  'Customer/Deleted': z.object(customerFields),
} as const satisfies Record<EventType, z.ZodType>;

export type ProvisioningEvent = {
  [T in EventType]: { readonly type: T } & Readonly<z.output<(typeof SCHEMAS)[T]>>;
}[EventType];

export interface FieldProblem {
  /** Where in the request, e.g. `variables.i_event`. */
  readonly field: string;
  readonly expected: string;
  /** What stands there. */
  readonly found: string;
}

export type ReadEvent =
  | { readonly kind: 'event'; readonly event: ProvisioningEvent }
  | { readonly kind: 'unknown'; readonly type: string }
  | { readonly kind: 'invalid'; readonly problems: readonly FieldProblem[] };

const envelope = z.object({ event_type: z.string().min(1), variables: z.record(z.string(), z.unknown()) });

/** Other names that fields come under. */
const ALIASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Account: { id: 'account', new_id: 'new_account', i_customer: 'customer' },
  DID: { number: 'did', target_system: 'to_system', i_customer: 'customer' },
  Customer: { id: 'customer', i_customer: 'customer', source_system: 'source', target_system: 'target' },
};

function withOwnNames(type: string, variables: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const aliases = ALIASES[type.split('/', 1)[0] ?? ''] ?? {};
  const named: Record<string, unknown> = { ...variables };
  for (const [alias, own] of Object.entries(aliases)) {
    if (!(own in named) && alias in named) named[own] = named[alias];
  }
  return named;
}

/** What is wrong with a part of an event that stands at the given place in it. */
function fieldProblems(error: z.ZodError, input: unknown, under: readonly string[] = []): FieldProblem[] {
  const issues = error.issues.map((issue) => ({ ...issue, path: [...under, ...issue.path] }));
  const whole = under.reduceRight((inner: unknown, name) => ({ [name]: inner }), input);
  return problemsOf(issues, whole).map(({ path, expected, found }) => ({ field: path, expected, found }));
}

/**
 * Reads an event in the form of PortaOne's ESPF webhook.
 * @param systems known systems; an event that names another one is not valid
 * @param sender the system that sends, if that is known otherwise (e.g. by its token)
 */
export function readEvent(body: unknown, systems?: readonly string[], sender?: string): ReadEvent {
  const outer = envelope.safeParse(body);
  if (!outer.success) return { kind: 'invalid', problems: fieldProblems(outer.error, body) };
  const { event_type: type, variables } = outer.data;
  const known = EVENT_TYPES.find((each) => each === type);
  if (known === undefined) return { kind: 'unknown', type };
  const named = withOwnNames(type, variables);
  if (sender !== undefined && !('system' in named)) named['system'] = sender;
  const inner = SCHEMAS[known].safeParse(named);
  if (!inner.success) return { kind: 'invalid', problems: fieldProblems(inner.error, named, ['variables']) };
  const event = { type: known, ...inner.data } as ProvisioningEvent;
  const problems = systems === undefined ? [] : unknownSystems(named, systems);
  return problems.length > 0 ? { kind: 'invalid', problems } : { kind: 'event', event };
}

function unknownSystems(
  named: Readonly<Record<string, unknown>>,
  systems: readonly string[],
): FieldProblem[] {
  return ['system', 'to_system', 'source', 'target']
    .filter((field) => typeof named[field] === 'string' && !systems.includes(named[field]))
    .map((field) => ({
      field: `variables.${field}`,
      expected: `one of ${systems.join(', ')}`,
      found: JSON.stringify(named[field]),
    }));
}
