import type { LookupCache } from '../registry/cache';
import type { KeyAnswer } from '../routing/deciding';
import type { LookupKey } from '../routing/decision';
import type { KeyList } from '../routing/keys';

/** What the call path uses of the cached registry. */
export type Registry = Pick<LookupCache, 'lookup' | 'peek'>;

/**
 * Asks the registry for one key after the other until one is known. A key that can't be asked for counts as
 * `unavailable`, and the next one is tried: it may be cached.
 */
export async function ask(
  registry: Registry,
  keys: KeyList,
  onFailure: (key: LookupKey, error: unknown) => void,
): Promise<KeyAnswer[]> {
  const answers: KeyAnswer[] = [];
  for (let place = 0; ; place++) {
    const key = keys.at(place)?.key;
    if (key === undefined) return answers;
    let answer: KeyAnswer | undefined = registry.peek(key);
    if (answer === undefined) {
      try {
        answer = await registry.lookup(key);
      } catch (error) {
        onFailure(key, error);
        answer = 'unavailable';
      }
    }
    answers.push(answer);
    if (answer !== null && answer !== 'unavailable') return answers;
  }
}
