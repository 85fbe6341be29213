import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { types } from 'node:util';
import type { Advice } from './advice';
import { ADVICE, type AdviceCode } from './advice-table';
import { tlsProblems } from './tls-files';
import type { Config } from './types';

/** Looks whether the files that a configuration names are there for the one who asks: true only of this machine. */
export function fileAdvice(config: Config): readonly Advice[] {
  const found: Advice[] = [];
  const give = (code: AdviceCode, path: string, about: string): void => {
    found.push({ code, path, about, ...ADVICE[code] });
  };
  for (const { path, found: fault } of tlsProblems(config)) give('file_unreadable', path, fault);
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

/** What is wrong, in the words of the system; undefined if nothing is. */
function faultOf(look: () => void): string | undefined {
  try {
    look();
    return undefined;
  } catch (error) {
    return types.isNativeError(error) ? error.message : String(error);
  }
}
