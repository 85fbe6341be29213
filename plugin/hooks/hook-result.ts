import { headerKey } from '../message/header-name';
import { opensDialog } from '../routing/relay-choice';
import type { HookContext, HookName } from './hook-types';
import { isProtected } from './protected-headers';

/** What a hook may return, by name. */
const KEYS: Readonly<Record<HookName, readonly string[]>> = {
  onRequest: ['respond'],
  beforeLookup: ['respond', 'keys'],
  beforeRoute: ['respond', 'answer'],
  beforeRelay: ['respond', 'plan', 'add', 'remove'],
  onResponse: ['add'],
  onError: [],
};

type Fields = Readonly<Record<string, unknown>>;

const TOKEN = /^[A-Za-z0-9!%'*+\-.^_`|~]+$/;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** What is wrong with a hook's result: what was expected where, and what was found; undefined: nothing. */
export function faultOf(name: HookName, result: unknown, method: string): string | undefined {
  if (!isFields(result) || Array.isArray(result)) return `${allowed(name)}, found ${kindOf(result)}`;
  const foreign = Object.keys(result).find((key) => !KEYS[name].includes(key));
  if (foreign !== undefined) return `${allowed(name)}, found '${foreign}'`;
  if (Object.keys(result).length === 0) return `${allowed(name)}, found an empty object`;
  return (
    respondFault(result['respond'], method) ??
    listFault('keys', result['keys'], keyFault) ??
    answerFault(result['answer']) ??
    listFault('plan', result['plan'], nodeFault) ??
    listFault('add', result['add'], freeHeaderFault, true) ??
    listFault('remove', result['remove'], freeNameFault, true)
  );
}

/** Two results of hooks of one name, one after the other: headers add up, else the later one holds. */
export function merged(before: object | undefined, result: object): object {
  if (before === undefined) return result;
  const lists = ['add', 'remove'].flatMap((key) => {
    const all = [before, result].flatMap((each) => ((each as Fields)[key] as unknown[] | undefined) ?? []);
    return all.length === 0 ? [] : [[key, all] as const];
  });
  return { ...before, ...result, ...Object.fromEntries(lists) };
}

/** What the next hook of the name is called with: it sees what this one changed. */
export function withResult<Context extends Omit<HookContext, 'signal'>>(
  context: Context,
  result: object,
): Context {
  const { keys, answer, plan } = result as Fields;
  if (keys !== undefined) return { ...context, keys };
  if (answer !== undefined) return { ...context, answer: answer ?? undefined };
  if (plan !== undefined && 'decision' in context)
    return { ...context, decision: { ...(context.decision as object), plan } };
  return context;
}

const allowed = (name: HookName): string =>
  KEYS[name].length === 0 ? 'expected nothing' : `expected nothing or an object of ${KEYS[name].join(', ')}`;

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : typeof value;
}

function respondFault(respond: unknown, method: string): string | undefined {
  if (respond === undefined) return undefined;
  if (!isFields(respond)) return `respond: expected { status, reason?, headers? }, found ${kindOf(respond)}`;
  const unknown = unknownIn(respond, ['status', 'reason', 'headers']);
  if (unknown !== undefined) return `respond: expected { status, reason?, headers? }, found '${unknown}'`;
  const { status, reason, headers } = respond;
  // A 2xx would open a dialog that nobody holds.
  const least = opensDialog(method) ? 300 : 200;
  if (!Number.isInteger(status) || (status as number) < least || (status as number) > 699)
    return `respond.status: expected a status from ${least} to 699 for ${method}, found ${String(status)}`;
  if (reason !== undefined && (typeof reason !== 'string' || !isLine(reason)))
    return `respond.reason: expected latin1 text without line ends, found ${kindOf(reason)}`;
  return listFault('respond.headers', headers, answerHeaderFault, true);
}

const unknownIn = (fields: Fields, known: readonly string[]): string | undefined =>
  Object.keys(fields).find((key) => !known.includes(key));

/** What the registry may say, `kind` included, so that its own answer can be given back with a change. */
const ANSWER_TEXTS = ['system', 'account', 'site', 'customer'] as const;
const ANSWER_KEYS = [...ANSWER_TEXTS, 'blocked', 'kind'];

function answerFault(answer: unknown): string | undefined {
  if (answer === undefined || answer === null) return undefined;
  if (!isFields(answer) || !isText(answer['system']))
    return `answer: expected { system, … } or null, found ${kindOf(answer)}`;
  const unknown = unknownIn(answer, ANSWER_KEYS);
  if (unknown !== undefined)
    return `answer: expected { system, account?, site?, customer?, blocked? }, found '${unknown}'`;
  const wrong = ANSWER_TEXTS.find((key) => answer[key] !== undefined && !isText(answer[key]));
  if (wrong !== undefined) return `answer.${wrong}: expected text, found ${kindOf(answer[wrong])}`;
  const { blocked } = answer;
  return blocked === undefined || typeof blocked === 'boolean'
    ? undefined
    : `answer.blocked: expected true or false, found ${kindOf(blocked)}`;
}

function listFault(
  path: string,
  list: unknown,
  faultOfItem: (item: unknown) => string | undefined,
  mayBeEmpty = false,
): string | undefined {
  if (list === undefined) return undefined;
  if (!Array.isArray(list)) return `${path}: expected a list, found ${kindOf(list)}`;
  if (list.length === 0 && !mayBeEmpty) return `${path}: expected at least one, found an empty list`;
  for (const [index, item] of list.entries()) {
    const fault = faultOfItem(item);
    if (fault !== undefined) return `${path}[${index}]: ${fault}`;
  }
  return undefined;
}

function keyFault(key: unknown): string | undefined {
  const isKey = isFields(key) && (key['kind'] === 'account' || key['kind'] === 'did') && isText(key['value']);
  const unknown = isKey ? unknownIn(key, ['kind', 'value']) : kindOf(key);
  return unknown === undefined
    ? undefined
    : `expected { kind: 'account' or 'did', value }, found ${isKey ? `'${unknown}'` : unknown}`;
}

const NODE_PARTS = ['system', 'site', 'node'];

function nodeFault(node: unknown): string | undefined {
  const isNode = isFields(node) && NODE_PARTS.every((part) => isText(node[part]));
  // The rest is what a destination of the decision's own plan has.
  const unknown = isNode ? unknownIn(node, [...NODE_PARTS, 'uri', 'tcp']) : kindOf(node);
  return unknown === undefined
    ? undefined
    : `expected { system, site, node }, found ${isNode ? `'${unknown}'` : unknown}`;
}

function headerFault(header: unknown): string | undefined {
  if (!Array.isArray(header) || header.length !== 2) return `expected [name, value], found ${kindOf(header)}`;
  const [name, value] = header as readonly unknown[];
  const wrongName = nameFault(name);
  if (wrongName !== undefined) return wrongName;
  if (typeof value !== 'string')
    return `expected text as the value of ${String(name)}, found ${kindOf(value)}`;
  return isLine(value)
    ? undefined
    : `expected latin1 text, one char per byte, and no line end in the value of ${String(name)}`;
}

/** A char beyond latin1 would become another byte on its way, even a line end. */
const isLine = (text: string): boolean => /^[\x01-\x09\x0b\x0c\x0e-\xff]*$/.test(text);

const freeNameFault = (name: unknown): string | undefined =>
  nameFault(name) ?? (isProtected(name as string) ? protectedFault(name as string) : undefined);

const freeHeaderFault = (header: unknown): string | undefined =>
  headerFault(header) ?? freeNameFault((header as readonly unknown[])[0]);

/** Contact is free here: a redirection says where to (RFC 3261 §8.3), the answer to REGISTER what is bound (§10.3). */
const answerHeaderFault = (header: unknown): string | undefined =>
  headerFault(header) ??
  (headerKey((header as readonly string[])[0] ?? '') === 'contact'
    ? undefined
    : freeNameFault((header as readonly unknown[])[0]));

const protectedFault = (name: string): string => `${name} is a protected header, not for hooks to change`;

const nameFault = (name: unknown): string | undefined =>
  typeof name === 'string' && TOKEN.test(name) ? undefined : `expected a header name, found ${kindOf(name)}`;
