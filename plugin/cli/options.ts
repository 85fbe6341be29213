import { existsSync } from 'node:fs';
import { parseArgs, types, type ParseArgsConfig } from 'node:util';
import { UsageError } from './command';

type Options = NonNullable<ParseArgsConfig['options']>;

type Parsed<T extends Options> = ReturnType<
  typeof parseArgs<{ options: T; args: string[]; allowPositionals: true; strict: true }>
>;

/**
 * Reads a command's options (node:util parseArgs).
 * @param words what the words without `--` are, as the usage line writes them: `KEY`, or `[KEY]` where it may be left out
 * @throws UsageError for an option that is unknown or lacks its value, and for too few or too many words
 */
export function parseOptions<T extends Options>(
  argv: readonly string[],
  options: T,
  words: readonly string[] = [],
): Parsed<T> {
  const parsed = parse(argv, options);
  const { positionals } = parsed;
  const unexpected = positionals[words.length];
  if (unexpected !== undefined) throw new UsageError(`unexpected "${unexpected}"`);
  const missing = words.slice(positionals.length).filter((word) => !word.startsWith('['));
  if (missing.length > 0) throw new UsageError(`missing: ${missing.join(' ')}`);
  return parsed;
}

function parse<T extends Options>(argv: readonly string[], options: T): Parsed<T> {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!types.isNativeError(error)) throw error;
    // Node's own words, less the hint about `--` that helps nobody here.
    throw new UsageError((error.message.split('. To specify')[0] ?? error.message).replace(/\n[\s\S]*/, ''));
  }
}

/** `-c FILE`, `--config FILE`, as every command that reads the configuration takes it. */
export const configOption = { config: { type: 'string', short: 'c' } } as const;

/** Where the examples and the unit file have the configuration of a server. */
const SYSTEM_FILE = '/etc/dsbc/dsbc.yaml';

/** The given file; else dsbc.yaml in the working directory, or where there is none the one of the server. */
export function configFile(
  values: { readonly config?: string | undefined },
  [here, system]: readonly [here: string, system: string] = ['dsbc.yaml', SYSTEM_FILE],
): string {
  return values.config ?? (!existsSync(here) && existsSync(system) ? system : here);
}
