import { configJsonSchema, type JsonSchema } from './json-schema';

/** One configurable value, as the reference shows it. */
export interface KeyReference {
  /** `sip_servers[].entry.port`, `systems.<name>.affinity`. */
  readonly path: string;
  readonly type: string;
  /**
   * As in YAML; empty if the key may be left out; `required` if there is none and it must be given, and behind it
   * `with` the section or kind that may itself be left out.
   */
  readonly fallback: string;
  readonly meaning: string;
}

/** Every key of the configuration, in the order of the schema. */
export function configKeys(): readonly KeyReference[] {
  return keysOf(configJsonSchema(), '');
}

/** The reference as Markdown: one table per top-level key. */
export function configReference(): string {
  const all = configKeys();
  const top = all.filter((key) => !/[.[]/.test(key.path) && !all.some((other) => isBelow(other, key)));
  const groups = all.filter((key) => !/[.[]/.test(key.path) && !top.includes(key));
  const sections = groups.map((group) => {
    const rows = all.filter((key) => isBelow(key, group));
    return `### ${group.path}\n\n${group.meaning}\n\n${table(rows)}`;
  });
  return [`### Top level\n\n${table(top)}`, ...sections].join('\n');
}

function isBelow(key: KeyReference, group: KeyReference): boolean {
  return key.path.startsWith(`${group.path}.`) || key.path.startsWith(`${group.path}[`);
}

function table(keys: readonly KeyReference[]): string {
  const rows = keys.map(
    (key) => `| \`${key.path}\` | ${cell(key.type)} | ${fallbackCell(key.fallback)} | ${cell(key.meaning)} |`,
  );
  return ['| key | type | default | meaning |', '| --- | --- | --- | --- |', ...rows, ''].join('\n');
}

function fallbackCell(fallback: string): string {
  if (fallback === '') return '';
  return isRequired(fallback) ? fallback.replace('required', '**required**') : `\`${cell(fallback)}\``;
}

const isRequired = (fallback: string): boolean => /^required( with .*)?$/.test(fallback);

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** @param of the section, if it may be left out: what it requires, is required with it */
function keysOf(schema: JsonSchema, prefix: string, of = ''): KeyReference[] {
  const inner = schema.anyOf ?? schema.oneOf;
  if (inner !== undefined) return merge(inner.flatMap((each) => keysOfKind(each, inner, prefix, of)));
  if (schema.items !== undefined) return keysOf(schema.items, `${prefix}[]`);
  if (typeof schema.additionalProperties === 'object') {
    const value = schema.additionalProperties;
    return value.properties === undefined && value.anyOf === undefined
      ? []
      : keysOf(value, `${prefix}.<name>`);
  }
  return Object.entries(schema.properties ?? {}).flatMap(([name, value]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const required = schema.required?.includes(name) ?? false;
    const here: KeyReference = {
      path,
      type: typeOf(value),
      fallback: required ? (of === '' ? 'required' : `required with \`${of}\``) : defaultOf(value),
      meaning: value.description ?? '',
    };
    return [here, ...keysOf(value, path, required || value.type === 'array' ? '' : name)];
  });
}

/** The keys of one kind of an entry (`driver: lmdb`): what only it requires, is required with it. */
function keysOfKind(
  kind: JsonSchema,
  all: readonly JsonSchema[],
  prefix: string,
  of: string,
): KeyReference[] {
  const label = Object.values(kind.properties ?? {}).find((each) => each.const !== undefined)?.const;
  const required = kind.required?.filter((name) => all.some((each) => !(name in (each.properties ?? {}))));
  const own = new Set(required?.map((name) => `${prefix}.${name}`));
  return keysOf(kind, prefix, of).map((key) =>
    own.has(key.path) && label !== undefined
      ? { ...key, fallback: `required with \`${literal(label)}\`` }
      : key,
  );
}

/** The same key in several alternatives (`driver`) is shown once, with all its values. */
function merge(keys: readonly KeyReference[]): KeyReference[] {
  const byPath = new Map<string, KeyReference>();
  for (const key of keys) {
    const before = byPath.get(key.path);
    if (before === undefined) byPath.set(key.path, key);
    else if (before.type !== key.type)
      byPath.set(key.path, {
        ...before,
        type: `${before.type}, ${key.type}`,
        meaning: `${meaningOf(before)} ${meaningOf(key)}`,
      });
  }
  return [...byPath.values()];
}

function meaningOf(key: KeyReference): string {
  return /^`[a-z]+`$/.test(key.type) ? `${key.type}: ${key.meaning}` : key.meaning;
}

function defaultOf(schema: JsonSchema): string {
  const { default: value } = schema;
  if (value === undefined) return '';
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const inner = JSON.stringify(value).replaceAll('"', '').replaceAll(':', ': ');
    return inner === '{}' ? '' : inner;
  }
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
}

function typeOf(schema: JsonSchema): string {
  const inner = schema.anyOf ?? schema.oneOf;
  if (inner !== undefined) return [...new Set(inner.map(typeOf))].join(' or ');
  if (schema.const !== undefined) return `\`${literal(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${literal(value)}\``).join(', ');
  switch (schema.type) {
    case 'integer':
    case 'number':
      return range(schema);
    case 'string':
      return schema.writeOnly === true ? 'secret' : 'text';
    case 'boolean':
      return '`true`, `false`';
    case 'array':
      return schema.items?.properties === undefined && schema.items?.oneOf === undefined
        ? `list of ${schema.items === undefined ? 'anything' : typeOf(schema.items)}`
        : 'list';
    case 'object':
      return typeof schema.additionalProperties === 'object'
        ? schema.additionalProperties.type === 'number'
          ? 'map of percentages'
          : 'map by name'
        : 'map';
    default:
      return schema.type ?? 'anything';
  }
}

function range(schema: JsonSchema): string {
  if (schema.minimum === undefined || schema.maximum === undefined) return 'number';
  return `${schema.minimum} … ${schema.maximum}`;
}

const literal = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
