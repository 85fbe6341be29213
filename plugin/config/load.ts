import { dirname, resolve } from 'node:path';
import { parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import { DsbcError } from '../errors';
import { configInvalid, type ConfigResult } from './config';
import { readConfigText } from './config-text';
import type { Environment } from './environment';
import { deepFreeze } from './freeze';
import { problem, problemsOf } from './problems';
import { admin } from './operation';
import { configSchema } from './schema';
import type { AdminConfig, Config } from './types';
import { readYaml, type YamlSource } from './yaml-source';

/**
 * Reads, fills in and validates a YAML file.
 * `${NAME}` and `${NAME:-default}` in a value come from `environment`; paths in the file are relative to it.
 * @throws DsbcError DSBC_CONFIG_UNREADABLE, or DSBC_CONFIG_INVALID with `details.problems` (file, line, path,
 * expected, found) for everything that is wrong.
 */
export async function loadConfig(file: string, environment: Environment = process.env): Promise<Config> {
  const result = readConfig(await readConfigText(file), file, environment);
  if (result.ok) return result.config;
  throw configInvalid(result.problems);
}

/** The section `admin` of a file, and what is wrong with the rest of it. */
export interface AdminSection {
  readonly admin: AdminConfig;
  /** Absent: the whole file is valid. */
  readonly fault?: DsbcError;
}

/**
 * Reads how to reach the admin API, for commands that talk to a running instance: where the file is being edited and
 * not valid, its section `admin` is enough.
 * @throws DsbcError as `loadConfig`, if that section is not valid either, or of a file that is no YAML can't be found
 */
export async function loadAdmin(file: string, environment: Environment = process.env): Promise<AdminSection> {
  try {
    return { admin: (await loadConfig(file, environment)).admin };
  } catch (fault) {
    if (!(fault instanceof DsbcError) || fault.code !== 'DSBC_CONFIG_INVALID') throw fault;
    const section = readAdmin(await readConfigText(file), file, environment);
    if (section === undefined) throw fault;
    return { admin: section, fault };
  }
}

/** The section alone: what the rest lacks (a variable that is not set, too) does not matter. */
function readAdmin(text: string, file: string, environment: Environment): AdminConfig | undefined {
  const found = valueOf(text) ?? valueOf(adminLines(text));
  if (typeof found !== 'object' || found === null) return undefined;
  const section = stringify({ admin: 'admin' in found ? found.admin : {} });
  const source = readYaml(section, file, environment);
  if (source.problems.length > 0) return undefined;
  const result = parseWithEnvironment(source, adminSection);
  return result.success ? deepFreeze(resolvePaths(result.data, dirname(file)).admin) : undefined;
}

/** What a text says as YAML; undefined if it is none. */
function valueOf(text: string): unknown {
  const document = parseDocument(text);
  if (document.errors.length > 0) return undefined;
  try {
    return document.toJS() as unknown;
  } catch {
    // An alias without its anchor.
    return undefined;
  }
}

/**
 * The section in a text that is no YAML as a whole: from its key to the next line that is not indented. Where the text
 * says nothing of it, its defaults hold.
 */
function adminLines(text: string): string {
  let isInside = false;
  const kept = text.split('\n').filter((line) => {
    if (/^[^\s#]/.test(line)) isInside = /^(admin|'admin'|"admin")\s*:/.test(line);
    return isInside;
  });
  if (kept.length === 0) return /\badmin\b/.test(text) ? '' : '{}';
  return kept.join('\n');
}

const adminSection = z.strictObject({ admin });

/** The same for a text that was read already; faults are values. */
export function readConfig(text: string, file: string, environment: Environment): ConfigResult {
  const source = readYaml(text, file, environment);
  if (source.problems.length > 0) return { ok: false, problems: source.problems };
  if (source.value === null || source.value === undefined)
    return { ok: false, problems: [problem([], 'a configuration', 'an empty file', source.origin)] };
  const result = parseWithEnvironment(source, configSchema);
  if (!result.success)
    return { ok: false, problems: problemsOf(result.error.issues, source.value, source.origin) };
  return { ok: true, config: deepFreeze(resolvePaths(result.data, dirname(file))) };
}

/**
 * The environment holds only text. Where the schema wants a number, true or false, and the text came from the
 * environment, it is read as such and the whole is tried once more.
 */
function parseWithEnvironment<Schema extends z.ZodType>(
  source: YamlSource,
  schema: Schema,
): z.ZodSafeParseResult<z.output<Schema>> {
  const first = schema.safeParse(source.value);
  if (first.success) return first;
  let converted = false;
  for (const issue of first.error.issues) {
    if (issue.code !== 'invalid_type' || !source.isFromEnvironment(issue.path)) continue;
    converted = convertAt(source.value, issue.path, issue.expected) || converted;
  }
  return converted ? schema.safeParse(source.value) : first;
}

function convertAt(root: unknown, path: readonly PropertyKey[], expected: string): boolean {
  let holder: unknown = root;
  for (const step of path.slice(0, -1)) holder = (holder as Record<PropertyKey, unknown>)[step];
  const last = path.at(-1);
  if (typeof holder !== 'object' || holder === null || last === undefined) return false;
  const slot = holder as Record<PropertyKey, unknown>;
  const text = slot[last];
  if (typeof text !== 'string') return false;
  if ((expected === 'number' || expected === 'int') && /^-?\d+(\.\d+)?$/.test(text))
    slot[last] = Number(text);
  else if (expected === 'boolean' && (text === 'true' || text === 'false')) slot[last] = text === 'true';
  else return false;
  return true;
}

/** Makes `path` and every `…_file` absolute, so that the working directory does not matter. */
function resolvePaths<T>(value: T, base: string): T {
  if (Array.isArray(value)) {
    for (const item of value) resolvePaths(item, base);
  } else if (typeof value === 'object' && value !== null) {
    const map = value as Record<string, unknown>;
    for (const [key, inner] of Object.entries(map)) {
      const isFile = key.endsWith('_file') || (key === 'path' && map['driver'] === 'lmdb');
      if (isFile && typeof inner === 'string') map[key] = resolve(base, inner);
      else resolvePaths(inner, base);
    }
  }
  return value;
}
