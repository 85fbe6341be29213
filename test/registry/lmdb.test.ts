import { execFile, execFileSync } from 'node:child_process';
import {
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openLmdbRegistry } from '../../plugin/registry/lmdb';
import type { Registry, RegistryChange } from '../../plugin/registry/registry';
import { describeWith } from '../fixtures/needs';

const ROOT = join(__dirname, '../..');
let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'dsbc-lmdb-'));
  path = join(dir, 'registry.lmdb');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function fill(rows: number, to = path): Promise<void> {
  const registry = await openLmdbRegistry({ path: to });
  await registry.putAll(
    Array.from({ length: rows }, (_, n) => ({
      kind: 'account' as const,
      value: `${n}`,
      system: 'source',
      customer: `c${n % 10}`,
    })),
  );
  await registry.close();
}

describe('an LMDB file', () => {
  it('keeps what was put across a restart', async () => {
    await fill(100);
    const registry = await openLmdbRegistry({ path });
    expect(await registry.lookup({ kind: 'account', value: '42' })).toEqual({
      kind: 'account',
      system: 'source',
      customer: 'c2',
    });
    await registry.close();
  });

  it('that is no LMDB file is refused as damaged', async () => {
    writeFileSync(path, 'this is not a database\n'.repeat(2000));
    await expect(openLmdbRegistry({ path })).rejects.toMatchObject({ code: 'DSBC_REGISTRY_DAMAGED' });
  });

  it.each([0.3, 0.6, 0.95])(
    'that was cut to %d of its size is refused, and the process lives',
    async (part) => {
      await fill(20_000);
      truncateSync(path, Math.floor(statSync(path).size * part));
      await expect(openLmdbRegistry({ path })).rejects.toMatchObject({
        code: 'DSBC_REGISTRY_DAMAGED',
        message: expect.stringContaining(path),
      });
    },
  );

  it('whose pages were overwritten is refused or read, and the process lives', async () => {
    await fill(20_000);
    const file = openSync(path, 'r+');
    for (let at = 16_384; at < statSync(path).size; at += 4096)
      writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, at);
    closeSync(file);
    await expect(openLmdbRegistry({ path })).rejects.toMatchObject({ code: 'DSBC_REGISTRY_DAMAGED' });
  });

  it('in a folder that does not exist is refused with its path', async () => {
    const missing = join(dir, 'no-such-folder/registry.lmdb');
    await expect(openLmdbRegistry({ path: missing })).rejects.toMatchObject({
      code: 'DSBC_REGISTRY_UNAVAILABLE',
      details: { path: missing },
    });
  });

  it('tells of writes made by another process, also when that one let the file grow', async () => {
    await fill(10);
    const registry = await openLmdbRegistry({ path });
    const heard: RegistryChange[] = [];
    registry.onChange((change) => heard.push(change));
    const program = `
      const { openLmdbRegistry } = require('./plugin/registry/lmdb.ts');
      void (async () => {
        const registry = await openLmdbRegistry({ path: ${JSON.stringify(path)} });
        for (let batch = 0; batch < 20; batch += 1)
          await registry.putAll(Array.from({ length: 2000 }, (_, n) => (
            { kind: 'did', value: '+1202' + batch + '/' + n, system: 'target', customer: 'x'.repeat(200) })));
        await registry.delete({ kind: 'account', value: '5' });
        await registry.close();
      })();`;
    await promisify(execFile)(
      process.execPath,
      ['--require', './test/fixtures/typescript.cjs', '-e', program],
      {
        cwd: ROOT,
      },
    );
    expect(await registry.lookup({ kind: 'account', value: '5' })).toBeNull();
    expect((await registry.lookup({ kind: 'did', value: '+120219/1999' }))?.system).toBe('target');
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(heard).toHaveLength(40_001);
    expect(heard.at(-1)).toEqual({ type: 'entry', key: { kind: 'account', value: '5' } });
    await registry.close();
  });

  it('of a process that was away for more changes than are kept answers "all"', async () => {
    const one = await openLmdbRegistry({ path, pollMs: 3_600_000 });
    const other = await openLmdbRegistry({ path, pollMs: 50 });
    const put = (n: number) => one.put({ kind: 'account', value: `${n % 50}`, system: 'source' });
    for (let n = 0; n < 21_000; n += 1000)
      await Promise.all(Array.from({ length: 1000 }, (_, m) => put(n + m)));
    // It begins to look only when somebody listens.
    const heard: RegistryChange[] = [];
    other.onChange((change) => heard.push(change));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(heard).toContainEqual({ type: 'all' });
    await one.close();
    await other.close();
  });
});

describeWith(['root'], 'an LMDB file on a full disk', () => {
  it('rejects the write, leaves no rejection unhandled, keeps what was there and recovers', async () => {
    const mount = join(dir, 'small');
    execFileSync('mkdir', [mount]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', mount]);
    // lmdb prints the fault of the disk itself.
    const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    let registry: Registry | undefined;
    try {
      registry = await openLmdbRegistry({ path: join(mount, 'registry.lmdb') });
      await registry.put({ kind: 'account', value: 'first', system: 'source' });
      const big = Array.from({ length: 20_000 }, (_, n) => ({
        kind: 'account' as const,
        value: `${n}`.padStart(200, '0'),
        system: 'source',
      }));
      await expect(registry.putAll(big)).rejects.toMatchObject({ code: 'DSBC_REGISTRY_UNAVAILABLE' });
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(unhandled).toEqual([]);
      expect((await registry.lookup({ kind: 'account', value: 'first' }))?.system).toBe('source');
      execFileSync('mount', ['-o', 'remount,size=64m', mount]);
      await registry.putAll(big.slice(0, 5000));
      expect(await registry.lookup({ kind: 'account', value: big[4999]!.value })).not.toBeNull();
    } finally {
      process.off('unhandledRejection', note);
      printed.mockRestore();
      await registry?.close();
      execFileSync('umount', [mount]);
    }
  });
});
