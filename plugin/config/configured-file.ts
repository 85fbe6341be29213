import { readFileSync } from 'node:fs';
import { types } from 'node:util';
import { configInvalid } from './config';
import { problem } from './problems';

/**
 * The content of a file that the configuration names at `path`, such as `['admin', 'cert_file']`.
 * @throws DsbcError DSBC_CONFIG_INVALID if it cannot be read
 */
export function readConfiguredFile(path: readonly PropertyKey[], file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    const reason = types.isNativeError(cause) ? cause.message : String(cause);
    throw configInvalid([problem(path, 'a file that can be read', reason)]);
  }
}
