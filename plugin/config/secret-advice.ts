import type { Advice } from './advice';
import { ADVICE } from './advice-table';
import { isSecret } from './json-schema';
import { formatPath } from './problems';
import { textsIn } from './texts';
import type { Config } from './types';

/** How the secrets of config-examples begin; a test looks that all of them do. */
const SHIPPED = /^(change-me|embedded-example-only)/i;

/** Looks for secrets that were taken over from the examples: whoever has read those knows them. */
export function secretAdvice(config: Config): readonly Advice[] {
  const found: Advice[] = [];
  for (const [path, text] of textsIn(config))
    if (SHIPPED.test(text) && isSecret(path))
      found.push({
        code: 'secret_shipped',
        path: formatPath(path),
        about: 'of the examples',
        ...ADVICE.secret_shipped,
      });
  return found;
}
