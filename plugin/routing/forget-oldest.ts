/**
 * Keeps a map that is in the order of age at no more than `max` entries. When one is over, one in 64 of the oldest go at
 * once: the way to the first entry leads past all that were deleted before it, a hundred thousand of them in a large map.
 */
export function forgetOldest(map: Map<unknown, unknown>, max: number): void {
  if (map.size <= max) return;
  let over = map.size - max + (max >> 6);
  for (const oldest of map.keys()) {
    map.delete(oldest);
    over -= 1;
    if (over <= 0) return;
  }
}
