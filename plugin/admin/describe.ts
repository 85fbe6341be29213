import { z } from 'zod';

type Schema = Record<string, unknown>;

/** JSON Schema of a view or order, for fastify and the OpenAPI document. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output' = 'output'): Schema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
}

/** What OpenAPI and fastify are told about a route. */
export function describe(
  summary: string,
  options: {
    readonly answer?: z.ZodType;
    readonly body?: z.ZodType;
    readonly params?: Schema;
    readonly query?: Schema;
    readonly failures?: Readonly<Record<number, string>>;
    readonly tag: string;
    /** Needs no token. */
    readonly open?: boolean;
  },
): Schema {
  const { answer, body, params, query, failures = {}, tag, open = false } = options;
  return {
    summary,
    tags: [tag],
    ...(open ? { security: [] } : {}),
    ...(params === undefined ? {} : { params: objectOf(params) }),
    ...(query === undefined ? {} : { querystring: objectOf(query) }),
    ...(body === undefined ? {} : { body: jsonSchema(body, 'input') }),
    response: {
      ...(answer === undefined ? {} : { 200: { description: 'Done.', ...jsonSchema(answer) } }),
      ...Object.fromEntries(
        Object.entries(failures).map(([status, description]) => [status, { description, ...PROBLEM }]),
      ),
    },
  };
}

const objectOf = (properties: Schema): Schema => ({
  type: 'object',
  properties,
  additionalProperties: false,
});

const PROBLEM = {
  type: 'object',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string' },
  },
};
