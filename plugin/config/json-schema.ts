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
  readonly writeOnly?: boolean;
}

let made: JsonSchema | undefined;

/**
 * The JSON Schema of the configuration, for editors: what a YAML file may say. References and sums between
 * parts (crossCheck) can't be told in it. Shipped as config-examples/dsbc.schema.json.
 */
export function configJsonSchema(): JsonSchema {
  made ??= {
    ...(z.toJSONSchema(configStructure, { io: 'input' }) as JsonSchema),
    title: 'drachtio-dsbc configuration',
  };
  return made;
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
