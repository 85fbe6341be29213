import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { types } from 'node:util';
import type { Advice } from './advice';
import { ADVICE, type AdviceCode } from './advice-table';
import { formatPath } from './problems';
import { textsIn } from './texts';
import type { Config } from './types';

/** Looks whether the files that a configuration names are there for the one who asks: true only of this machine. */
export function fileAdvice(config: Config): readonly Advice[] {
  const found: Advice[] = [];
  const give = (code: AdviceCode, path: string, about: string): void => {
    found.push({ code, path, about, ...ADVICE[code] });
  };
  for (const [path, file] of filesOf(config)) {
    const fault = faultOf(() => {
      if (!readFileSync(file, 'latin1').includes('-----BEGIN ')) throw new Error('it is not PEM');
    });
    if (fault !== undefined) give('file_unreadable', path, fault);
  }
  const { registry } = config;
  if (registry.driver === 'lmdb') {
    const { R_OK, W_OK } = constants;
    const { path } = registry;
    // The file with the locks is made with the other one: where somebody else made it, neither can be used.
    const there = [path, `${path}-lock`].filter((file) => existsSync(file));
    const fault = faultOf(() => {
      for (const file of there.length === 0 ? [dirname(path)] : there) accessSync(file, R_OK | W_OK);
      if (existsSync(path) && statSync(path).isDirectory())
        throw new Error(`${path} is a folder, not a file`);
    });
    if (fault !== undefined) give('registry_unwritable', 'registry.path', fault);
  }
  return found;
}

/** Every value whose key ends in `_file`, with its path. All of them are PEM. */
const filesOf = (config: Config): (readonly [path: string, file: string])[] =>
  [...textsIn(config)]
    .filter(([path]) => String(path.at(-1)).endsWith('_file'))
    .map(([path, file]) => [formatPath(path), file]);

/** What is wrong, in the words of the system; undefined if nothing is. */
function faultOf(look: () => void): string | undefined {
  try {
    look();
    return undefined;
  } catch (error) {
    return types.isNativeError(error) ? error.message : String(error);
  }
}
