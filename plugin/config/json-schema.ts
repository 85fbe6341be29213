import { z } from 'zod';
import { configStructure } from './schema';

/** The parts of JSON Schema (2020-12) that ours is made of. */
export interface JsonSchema {
  readonly $schema?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly writeOnly?: boolean;
}

let made: JsonSchema | undefined;

/**
 * The JSON Schema of the configuration: what it may say once the environment is filled in. References and sums between
 * parts (crossCheck) can't be told in it.
 */
export function configJsonSchema(): JsonSchema {
  made ??= {
    ...(z.toJSONSchema(configStructure, { io: 'input' }) as JsonSchema),
    title: 'drachtio-dsbc configuration',
  };
  return made;
}

/** What stands for a value of the environment in a file. */
const REFERENCE: JsonSchema = { type: 'string', pattern: String.raw`\$\{` };

/**
 * The same for editors: what the text of a file may say, where `${NAME}` may stand for every value. Shipped as
 * config-examples/dsbc.schema.json.
 */
export function editorSchema(): JsonSchema {
  const { $schema = '', ...schema } = configJsonSchema();
  return { $schema, ...withReferences(schema) };
}

function withReferences(schema: JsonSchema): JsonSchema {
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) {
    // A reference may stand for any of them: more than one form may fit.
    const { oneOf: _, ...rest } = schema;
    return { ...rest, anyOf: forms.map(withReferences) };
  }
  if (schema.type === 'object') {
    const { properties, additionalProperties: others } = schema;
    return {
      ...schema,
      ...(properties === undefined
        ? {}
        : {
            properties: Object.fromEntries(
              Object.entries(properties).map(([k, v]) => [k, withReferences(v)]),
            ),
          }),
      ...(typeof others === 'object' ? { additionalProperties: withReferences(others) } : {}),
    };
  }
  if (schema.type === 'array')
    return schema.items === undefined ? schema : { ...schema, items: withReferences(schema.items) };
  const { title, description, default: fallback, writeOnly, ...value } = schema;
  const about = { title, description, default: fallback, writeOnly };
  const said = Object.fromEntries(Object.entries(about).filter(([, each]) => each !== undefined));
  return { ...said, anyOf: [value, REFERENCE] };
}

/** The schemas that apply at a path: several where the structure has alternatives, none off the structure. */
export function schemasAt(path: readonly PropertyKey[]): readonly JsonSchema[] {
  let here: readonly JsonSchema[] = alternatives(configJsonSchema());
  for (const step of path) here = here.flatMap((schema) => stepInto(schema, step)).flatMap(alternatives);
  return here;
}

/** True if what stands at this path, or above it, is a secret. */
export function isSecret(path: readonly PropertyKey[]): boolean {
  return path.some((_, index) =>
    schemasAt(path.slice(0, index + 1)).some((schema) => schema.writeOnly === true),
  );
}

/** The keys that are known at a path. */
export function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  return [...new Set(schemasAt(path).flatMap((schema) => Object.keys(schema.properties ?? {})))];
}

function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  const inner = schema.anyOf ?? schema.oneOf;
  return inner === undefined ? [schema] : inner.flatMap(alternatives);
}

function stepInto(schema: JsonSchema, step: PropertyKey): readonly JsonSchema[] {
  if (typeof step === 'number') return schema.items === undefined ? [] : [schema.items];
  const properties = schema.properties ?? {};
  const inner = Object.hasOwn(properties, step) ? properties[String(step)] : undefined;
  if (inner !== undefined) return [inner];
  return typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : [];
}
