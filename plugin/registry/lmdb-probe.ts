import { spawn } from 'node:child_process';
import { DsbcError } from '../errors';

/**
 * The program of the child. It opens the file read-only and touches every page of it that is in use, so that
 * damage kills this child (SIGBUS, SIGSEGV) and not the process that handles calls. Plain text, because a child
 * has to run the same from TypeScript and from the built package.
 */
const PROGRAM = `
const { open } = require(process.argv[1]);
const path = process.argv[2], limit = Date.now() + Number(process.argv[3]);
const { statSync } = require('node:fs');
try {
  const root = open({ path, noSubdir: true, readOnly: true, maxDbs: 16 });
  const { lastPageNumber, pageSize } = root.getStats();
  const size = statSync(path).size;
  if ((lastPageNumber + 1) * pageSize > size)
    throw new Error('the file is cut: ' + size + ' bytes of ' + (lastPageNumber + 1) * pageSize);
  let seen = 0;
  for (const name of [...root.getKeys()]) {
    if (typeof name !== 'string') throw new Error('a table has no name');
    const db = root.openDB({ name, encoding: 'binary' });
    for (const { value } of db.getRange({ snapshot: true })) {
      seen += value.length;
      if (Date.now() > limit) process.exit(0);
    }
  }
  process.exit(0);
} catch (error) {
  process.stderr.write(String(error && error.message));
  process.exit(3);
}
`;

export interface ProbeOptions {
  /** How long the child may read, in milliseconds; what is not read by then is taken to be sound. */
  readonly limitMs?: number;
}

/**
 * Reads an LMDB file in a child process. Rejects with DSBC_REGISTRY_DAMAGED if the child was killed by a signal,
 * refused the file, or did not end in time.
 */
export async function probeLmdbFile(path: string, { limitMs = 10_000 }: ProbeOptions = {}): Promise<void> {
  const child = spawn(process.execPath, ['-e', PROGRAM, require.resolve('lmdb'), path, String(limitMs)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(0, 500);
  });
  const hung = setTimeout(() => child.kill('SIGKILL'), limitMs + 5000);
  try {
    const { code, signal } = await new Promise<{ code: number | null; signal: string | null }>(
      (resolve, reject) => {
        child.once('error', reject);
        child.once('close', (code, signal) => resolve({ code, signal }));
      },
    );
    if (code === 0) return;
    const why =
      signal === null ? said || `exit code ${code ?? 'none'}` : `reading it ends a process with ${signal}`;
    throw new DsbcError(
      'DSBC_REGISTRY_DAMAGED',
      `the registry file ${path} is damaged (${why}): restore it from an export, or move it away and import again`,
      { details: { path, why } },
    );
  } finally {
    clearTimeout(hung);
  }
}
