import type { FastifySchemaValidationError } from 'fastify';

/**
 * Says what is wrong with the first thing that a route's schema refuses, with what would do.
 * @param part `body`, `querystring` or `params`
 */
export function whatIsWrong(errors: readonly FastifySchemaValidationError[], part: string): string {
  const [error] = errors;
  if (error === undefined) return `${part} is not valid`;
  const { keyword, params, instancePath, message = 'is not valid' } = error;
  return `${part}${instancePath} ${words(keyword, params) ?? message}`;
}

function words(keyword: string, params: FastifySchemaValidationError['params']): string | undefined {
  switch (keyword) {
    case 'enum':
      return Array.isArray(params['allowedValues'])
        ? `must be one of ${params['allowedValues'].join(', ')}`
        : undefined;
    case 'additionalProperties':
      return `must not have "${String(params['additionalProperty'])}"`;
    default:
      return undefined;
  }
}
