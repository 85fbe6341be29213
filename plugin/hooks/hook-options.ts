import { DsbcError } from '../errors';
import { HOOK_POLICIES, type HookName, type HookOptions } from './hook-types';

interface Rule {
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
}

/** The bounds of `hooks.timeout_ms`. */
const MAX_TIMEOUT_MS = 10_000;

const RULES: Readonly<Record<keyof HookOptions, Rule>> = {
  onError: {
    expected: HOOK_POLICIES.map((policy) => `'${policy}'`).join(' or '),
    fits: (value) => HOOK_POLICIES.some((policy) => policy === value),
  },
  timeoutMs: {
    expected: `a whole number from 1 to ${MAX_TIMEOUT_MS}`,
    fits: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_TIMEOUT_MS,
  },
  name: { expected: 'text', fits: (value) => typeof value === 'string' && value !== '' },
};

/**
 * The options of one hook, checked; a copy, so that nobody changes them later.
 * @throws DsbcError DSBC_CONFIG_INVALID with every problem: where, what was expected, what was found
 */
export function checkedOptions(name: HookName, options: HookOptions): HookOptions {
  const given: unknown = options;
  if (typeof given !== 'object' || given === null)
    throw invalid([problem(`addHook ${name}`, 'an object of options', given)]);
  const problems = Object.entries(given).flatMap(([key, value]: [string, unknown]) => {
    const path = `addHook ${name}.${key}`;
    const rule = Object.hasOwn(RULES, key) ? RULES[key as keyof HookOptions] : undefined;
    if (rule === undefined) return [problem(path, `one of ${Object.keys(RULES).join(', ')}`, key)];
    return value === undefined || rule.fits(value) ? [] : [problem(path, rule.expected, value)];
  });
  if (problems.length > 0) throw invalid(problems);
  return { ...options };
}

interface Problem {
  readonly path: string;
  readonly expected: string;
  readonly found: string;
  readonly text: string;
}

function problem(path: string, expected: string, value: unknown): Problem {
  const found =
    typeof value === 'string' ? value.slice(0, 40) : value === null ? 'null' : shown(value).slice(0, 40);
  return { path, expected, found, text: `${path}: expected ${expected}; found ${found}` };
}

const shown = (value: unknown): string =>
  typeof value === 'number' || typeof value === 'boolean' ? String(value) : typeof value;

const invalid = (problems: readonly Problem[]): DsbcError =>
  new DsbcError('DSBC_CONFIG_INVALID', problems.map(({ text }) => text).join('\n  '), {
    details: { problems },
  });
