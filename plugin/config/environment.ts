/** The environment variables that a configuration may refer to. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Text with its references filled in. */
export interface Substituted {
  readonly text: string;
  /** True if at least one reference was there. */
  readonly changed: boolean;
  /** Variables that are not set and have no default. */
  readonly missing: readonly string[];
  /** References that can't be read, such as `${` without an end. */
  readonly malformed: readonly string[];
}

// `$${` is a literal `${`; `${NAME}` and `${NAME:-default}` as in a shell: the default also stands in for an empty value.
const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{[^}]*\}?/g;

/** Fills in `${NAME}` and `${NAME:-default}`. Works on one scalar, so a value can never add keys to the file. */
export function substitute(text: string, environment: Environment): Substituted {
  const missing: string[] = [];
  const malformed: string[] = [];
  let changed = false;
  const result = text.replace(REFERENCE, (whole: string, name?: string, fallback?: string) => {
    changed = true;
    if (whole === '$${') return '${';
    if (name === undefined) {
      malformed.push(whole);
      return whole;
    }
    const value = environment[name];
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) missing.push(name);
    return value ?? '';
  });
  return { text: result, changed, missing, malformed };
}
