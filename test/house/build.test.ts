import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

describe('npm run build', () => {
  let folder: string;
  const build = resolve('scripts/build.mjs');
  const dist = (): string => readFileSync(join(folder, 'dist/cli/main.js'), 'utf8');
  const leftovers = (): string[] => readdirSync(folder).filter((name) => name.startsWith('.dist-'));

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dsbc-build-'));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    mkdirSync(join(folder, 'plugin/cli'), { recursive: true });
    mkdirSync(join(folder, 'dist/cli'), { recursive: true });
    writeFileSync(join(folder, 'dist/cli/main.js'), 'the old one');
    writeFileSync(join(folder, 'dist/gone.js'), 'of a source that is gone');
    writeFileSync(join(folder, 'tsconfig.json'), readFileSync('tsconfig.json'));
    writeFileSync(join(folder, 'plugin/cli/main.ts'), 'export const made: string = "new";\n');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('puts a whole new dist in the place of the old one', () => {
    execFileSync(process.execPath, [build], { cwd: folder });
    expect(dist()).toContain('made = "new"');
    expect(JSON.parse(readFileSync(join(folder, 'dist/cli/main.js.map'), 'utf8'))).toMatchObject({
      sources: ['../../plugin/cli/main.ts'],
    });
    expect(existsSync(join(folder, 'dist/gone.js'))).toBe(false);
    expect(leftovers()).toEqual([]);
  });

  it('leaves the old one where the sources do not compile', () => {
    writeFileSync(join(folder, 'plugin/cli/main.ts'), 'export const made: number = "new";\n');
    expect(() => execFileSync(process.execPath, [build], { cwd: folder, stdio: 'pipe' })).toThrow();
    expect(dist()).toBe('the old one');
    expect(leftovers()).toEqual([]);
  });

  it('leaves the old one when it is interrupted, and the next build tidies up', async () => {
    const child = spawn(process.execPath, [build], { cwd: folder, detached: true });
    const ended = new Promise((done) => child.once('exit', done));
    while (leftovers().length === 0) await new Promise((done) => setTimeout(done, 5));
    process.kill(-(child.pid ?? 0), 'SIGKILL');
    await ended;
    expect(dist()).toBe('the old one');
    expect(leftovers()).toHaveLength(1);
    execFileSync(process.execPath, [build], { cwd: folder });
    expect(dist()).toContain('made = "new"');
    expect(leftovers()).toEqual([]);
  });
});
