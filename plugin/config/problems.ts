import type { z } from 'zod';
import { isSecret, knownKeys, schemasAt } from './json-schema';
import { nearest } from './nearest';

type Path = readonly PropertyKey[];
type Issue = z.core.$ZodIssue;

/** One thing that is wrong with a configuration. */
export interface ConfigProblem {
  readonly file?: string;
  readonly line?: number;
  /** Such as `systems.source.sites.main.nodes[0].uri`; empty for the whole. */
  readonly path: string;
  readonly expected: string;
  /** What stands there; a secret is never shown. */
  readonly found: string;
  /** All of it in one line. */
  readonly text: string;
}

/** Where values come from: lets a file add line numbers and show `${NAME}` instead of what it stood for. */
export interface Origin {
  readonly file?: string;
  lineOf?(path: Path): number | undefined;
  /** The text as written, if it differs from the value. */
  written?(path: Path): string | undefined;
}

/** Turns the validator's issues into problems that say what was expected and found. */
export function problemsOf(issues: readonly Issue[], input: unknown, origin: Origin = {}): ConfigProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => problem([...issue.path, key], unknownKey(issue.path, key), key, origin));
    const inside = insideUnion(issue);
    if (inside.length > 0) return problemsOf(inside, input, origin);
    const found = foundAt(issue, input, origin);
    return [problem(issue.path, expectedBy(issue), found, origin)];
  });
}

/** What is wrong deeper down, where the value fits one of several forms as a whole: a map of percentages with one bad one. */
function insideUnion(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [];
  const fitting = issue.errors.filter((form) => form.every(({ path }) => path.length > 0));
  const [only, another] = fitting;
  if (only === undefined || another !== undefined) return [];
  return only.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** A problem made by hand, for what is not found by the schema. */
export function problem(path: Path, expected: string, found: string, origin: Origin = {}): ConfigProblem {
  const at = formatPath(path);
  const line = origin.lineOf?.(path);
  const place = [origin.file, line].filter((part) => part !== undefined).join(':');
  const text = `${place === '' ? '' : `${place}: `}${at === '' ? '' : `${at}: `}expected ${expected}; found ${found}`;
  return {
    ...(origin.file === undefined ? {} : { file: origin.file }),
    ...(line === undefined ? {} : { line }),
    path: at,
    expected,
    found,
    text,
  };
}

/** `a.b[0].c`; keys that are not plain words are quoted. */
export function formatPath(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      const word = String(step);
      if (!/^[A-Za-z0-9_-]+$/.test(word)) return `[${JSON.stringify(word)}]`;
      return index === 0 ? word : `.${word}`;
    })
    .join('');
}

function unknownKey(path: Path, key: string): string {
  const all = knownKeys(path);
  const known = all.filter((name) => name !== key);
  if (known.length < all.length)
    return `one of the keys ${known.join(', ')} ("${key}" goes with another kind of this entry)`;
  const near = nearest(key, known);
  const hint = near === undefined ? '' : ` (did you mean "${near}"?)`;
  return `one of the keys ${known.join(', ')}${hint}`;
}

function expectedBy(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'object' ? mapAt(issue.path) : (TYPES[issue.expected] ?? issue.expected);
    case 'invalid_value':
      return oneOf(issue.values);
    case 'invalid_union':
      if ('options' in issue && Array.isArray(issue.options)) return oneOf(issue.options);
      return issue.message;
    case 'too_small':
      return issue.origin === 'string' || issue.origin === 'array' ? issue.message : bounds(issue);
    case 'too_big':
      return issue.origin === 'string' || issue.origin === 'array' ? issue.message : bounds(issue);
    case 'invalid_key':
      return issue.issues[0]?.message ?? issue.message;
    default:
      // invalid_format and custom: values.ts writes what was expected as the message.
      return issue.message;
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  record: 'a map by name',
};

/** The keys that a map must have and may have, and what it is there for if only one kind of its parent has it. */
function mapAt(path: Path): string {
  const all = path.length === 0 ? [] : schemasAt(path).flatMap((schema) => schema.required ?? []);
  const required = [...new Set(all)];
  if (required.length === 0) return 'a map of keys';
  const others = knownKeys(path).filter((key) => !required.includes(key));
  const optional = others.length === 0 ? '' : `, and perhaps ${others.join(', ')}`;
  return `a map of keys${kindWith(path)}: ${required.join(', ')}${optional}`;
}

function kindWith(path: Path): string {
  const kinds = schemasAt(path.slice(0, -1));
  const those = kinds.filter(({ properties = {} }) => String(path.at(-1)) in properties);
  const [only] = those;
  if (only === undefined || those.length > 1 || kinds.length === 1) return '';
  const mark = Object.entries(only.properties ?? {}).find(([, schema]) => schema.const !== undefined);
  return mark === undefined ? '' : `, which ${mark[0]}: ${String(mark[1].const)} needs`;
}

function oneOf(values: readonly unknown[]): string {
  const shown = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return shown.length === 1 ? (shown[0] ?? '') : `one of ${shown.join(', ')}`;
}

type Bound = number | bigint;

/** Says both bounds, whichever was broken. */
function bounds(issue: { readonly path: Path } & ({ minimum: Bound } | { maximum: Bound })): string {
  const schema = schemasAt(issue.path).find(
    (each) => each.minimum !== undefined || each.maximum !== undefined,
  );
  const least = schema?.minimum ?? ('minimum' in issue ? issue.minimum : undefined);
  const most = schema?.maximum ?? ('maximum' in issue ? issue.maximum : undefined);
  if (least !== undefined && most !== undefined) return `a number from ${String(least)} to ${String(most)}`;
  return least !== undefined
    ? `a number of at least ${String(least)}`
    : `a number of at most ${String(most)}`;
}

function foundAt(issue: Issue, input: unknown, origin: Origin): string {
  if (issue.code === 'custom') {
    const found: unknown = issue.params?.['found'];
    if (typeof found === 'string') return found;
  }
  if (issue.code === 'invalid_key') return JSON.stringify(issue.path.at(-1));
  let value: unknown = input;
  for (const step of issue.path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return 'nothing';
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  if (value === undefined || value === null) return 'nothing';
  if (isSecret(issue.path)) return describeSecret(value);
  return show(value, issue.path, origin);
}

/** Says what kind of thing a secret is, so that the mistake can be found, and nothing else. */
function describeSecret(value: unknown): string {
  return typeof value === 'string'
    ? `${value.length} characters (not shown)`
    : `${kindOf(value)} (not shown)`;
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return typeof value === 'boolean' ? 'true or false' : 'a number';
}

/** Of lists and maps so many items or keys are shown. */
const FEW = 6;

/** What stands there; what came from the environment as it was written. */
function show(value: unknown, path: Path, origin: Origin): string {
  const written = origin.written?.(path);
  if (written !== undefined) return written;
  if (Array.isArray(value)) {
    if (value.length === 0) return 'an empty list';
    const items: readonly unknown[] = value;
    if (items.length > FEW || items.some((item) => typeof item === 'object' && item !== null))
      return `a list of ${items.length}`;
    return `the list [${items.map((item, at) => show(item, [...path, at], origin)).join(', ')}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const keys = Object.keys(value);
    if (keys.length === 0) return 'a map without keys';
    return `a map of ${keys.slice(0, FEW).join(', ')}${keys.length > FEW ? ', …' : ''}`;
  }
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}
