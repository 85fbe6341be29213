import { DsbcError } from '../errors';
import { deepFreeze } from './freeze';
import { problemsOf, type ConfigProblem } from './problems';
import { configSchema } from './schema';
import type { Config } from './types';

/** What validation ends with: the frozen configuration, or everything that is wrong with it. */
export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** Validates a configuration given as a value (not a file): no environment, no line numbers. */
export function checkConfig(input: unknown): ConfigResult {
  const result = configSchema.safeParse(input);
  if (result.success) return { ok: true, config: deepFreeze(result.data) };
  return { ok: false, problems: problemsOf(result.error.issues, input) };
}

/**
 * Validates a configuration given as a value and fills in defaults.
 * @throws DsbcError DSBC_CONFIG_INVALID; `details.problems` lists every problem.
 */
export function parseConfig(input: unknown): Config {
  const result = checkConfig(input);
  if (result.ok) return result.config;
  throw configInvalid(result.problems);
}

/** The error for a list of problems; its message shows them all, one a line. */
export function configInvalid(problems: readonly ConfigProblem[]): DsbcError {
  const lines = problems.map((problem) => problem.text);
  return new DsbcError('DSBC_CONFIG_INVALID', ['the configuration is not valid', ...lines].join('\n  '), {
    details: { problems },
  });
}
