import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DsbcError } from '../errors';

/** Whether there is a registry file: opening an absent or empty one would make a new registry. */
export const isLmdbThere = (path: string): boolean =>
  (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

/** The file and the one with the locks beside it, as far as they are there. */
const filesOf = (path: string): string[] => [path, `${path}-lock`].filter((file) => existsSync(file));

/**
 * Refuses with DSBC_REGISTRY_UNAVAILABLE a path that lmdb would fail on with words that name no cause, or would try for ever.
 */
export function checkLmdbPath(path: string): void {
  const fault = faultOf(path);
  if (fault !== undefined) throw new DsbcError('DSBC_REGISTRY_UNAVAILABLE', fault, { details: { path } });
}

function faultOf(path: string): string | undefined {
  // lmdb would make the folder, or try for ever where it can't be made.
  if (!existsSync(dirname(path))) return `the folder of the registry file ${path} does not exist`;
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    return `the registry ${path} is a folder: registry.path names a file`;
  const closed = filesOf(path).find((file) => !isOpenTo(file));
  if (closed !== undefined)
    return `the registry file ${closed} cannot be read and written by this user: it, and the one with its locks beside it, have to belong to the user that runs dsbc`;
  return undefined;
}

function isOpenTo(file: string): boolean {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
