import { readFileSync } from 'node:fs';
import { join } from 'node:path';

let version: string | undefined;

/** Version of this package, from its package.json (two levels above, in the sources and when built). */
export function packageVersion(): string {
  version ??= (JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8')) as { version: string })
    .version;
  return version;
}
