import { open } from 'node:fs/promises';
import { types } from 'node:util';
import { DsbcError } from '../errors';

/**
 * Larger than any configuration, 17,000 peers: what is larger is another file, a log that was written over it, say. Parsing
 * holds up every request, a second for so much; a twentyfold of it ended the process for want of memory.
 */
export const MAX_CONFIG_BYTES = 1_048_576;

/**
 * The text of a configuration file.
 * @throws DsbcError DSBC_CONFIG_UNREADABLE, also if it is larger than MAX_CONFIG_BYTES
 */
export async function readConfigText(file: string): Promise<string> {
  try {
    return await upToTheLimit(file);
  } catch (cause) {
    const reason = types.isNativeError(cause) ? cause.message : String(cause);
    throw new DsbcError('DSBC_CONFIG_UNREADABLE', `the configuration file cannot be read: ${reason}`, {
      cause,
      details: { file },
    });
  }
}

/** What a file says of its size is not asked: a pipe or a device has none. */
async function upToTheLimit(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const bytes = Buffer.alloc(MAX_CONFIG_BYTES + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length);
      length += bytesRead;
      if (length > MAX_CONFIG_BYTES) throw new RangeError(`it is larger than ${MAX_CONFIG_BYTES} bytes`);
      if (bytesRead === 0) return bytes.toString('utf8', 0, length);
    }
  } finally {
    await handle.close();
  }
}
