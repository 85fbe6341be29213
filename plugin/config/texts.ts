/** Every text in a configuration, with its path. */
export function* textsIn(
  value: unknown,
  path: readonly PropertyKey[] = [],
): Generator<readonly [path: readonly PropertyKey[], text: string]> {
  if (typeof value === 'string') yield [path, value];
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value))
      yield* textsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]);
}
