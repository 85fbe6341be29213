import { configInvalid } from '../config/config';
import { problem } from '../config/problems';
import type { DsbcOptions } from './dsbc-options';

interface Rule {
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const has =
  (...methods: readonly string[]): Rule['fits'] =>
  (value) =>
    isObject(value) && methods.every((name) => typeof value[name] === 'function');

/** Every option; what stands in `config` and what `srf` is are looked at where they are used. */
const RULES: Readonly<Record<keyof DsbcOptions, Rule>> = {
  config: { expected: 'a configuration', fits: isObject },
  srf: { expected: 'an instance of drachtio-srf', fits: () => true },
  hooks: { expected: 'an object of hooks by name', fits: isObject },
  logger: {
    expected: 'a logger with debug, info, warn, error and child',
    fits: has('debug', 'info', 'warn', 'error', 'child'),
  },
  registry: { expected: 'an open registry', fits: has('lookup') },
};

/** The options of `createDsbc`; docs/middleware.md lists them, a test keeps the two equal. */
export const DSBC_OPTIONS: readonly string[] = Object.keys(RULES);

/**
 * Refuses options that are unknown or of the wrong kind.
 * @throws DsbcError DSBC_CONFIG_INVALID; `details.problems` lists every problem
 */
export function checkOptions(options: unknown): void {
  if (!isObject(options))
    throw configInvalid([problem(['createDsbc'], 'an object of options', kindOf(options))]);
  const problems = Object.entries(options).flatMap(([key, value]) => {
    const rule = Object.hasOwn(RULES, key) ? RULES[key as keyof DsbcOptions] : undefined;
    if (rule === undefined) return [problem(['createDsbc', key], `one of ${DSBC_OPTIONS.join(', ')}`, key)];
    return value === undefined || rule.fits(value)
      ? []
      : [problem(['createDsbc', key], rule.expected, kindOf(value))];
  });
  if (problems.length > 0) throw configInvalid(problems);
}

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : value === undefined ? 'nothing' : typeof value;
