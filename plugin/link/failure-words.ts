/** A failure of a connection in one line: where both addresses of a name were tried, each says its own. */
export function failureWords(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(failureWords))].join('; ');
  return error instanceof Error ? error.message : String(error);
}
