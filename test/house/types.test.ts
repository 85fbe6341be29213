import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const own = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };

/** What the recipes take for given. */
const GIVEN = `declare const dsbc: import('drachtio-dsbc').Dsbc;
declare function whereIs(number: string, options: { signal: AbortSignal }): Promise<string | undefined>;
`;

/** The lines of JavaScript that a document shows, as a user of TypeScript writes them. */
const snippetsOf = (from: string): { from: string; lines: string }[] =>
  [...(from.endsWith('.md') ? readFileSync(from, 'utf8') : '').matchAll(/^```(?:js|ts)\n([^]*?)^```/gm)].map(
    ([, lines = '']) => ({
      from,
      lines: `${lines.includes('const dsbc =') ? '' : GIVEN}export {};\n${lines.replace(
        /^const (.+) = require\((.+)\);$/gm,
        (_, names: string, module: string) =>
          names.startsWith('{') ? `import ${names} from ${module};` : `import ${names} = require(${module});`,
      )}`,
    }),
  );

describe('the published types', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'dsbc-types-'));
    const there = join(folder, 'node_modules');
    // What a user's npm puts there, and nothing that only we develop with.
    for (const name of Object.keys(own.dependencies)) {
      mkdirSync(dirname(join(there, name)), { recursive: true });
      symlinkSync(resolve('node_modules', name), join(there, name));
    }
    cpSync('dist', join(there, 'drachtio-dsbc/dist'), { recursive: true });
    cpSync('package.json', join(there, 'drachtio-dsbc/package.json'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('fit drachtio-srf’s own, and what the documents show', () => {
    writeFileSync(
      join(folder, 'middleware.ts'),
      `import { createDsbc } from 'drachtio-dsbc';
import Srf from 'drachtio-srf';
const srf = new Srf();
const dsbc = createDsbc({ config: {} as never, srf });
srf.use(dsbc.middleware());
srf.use('invite', dsbc.middleware());
srf.invite(dsbc.middleware());
`,
    );
    const shown = ['README.md', ...readdirSync('docs').map((name) => join('docs', name))].flatMap(snippetsOf);
    expect(shown.map(({ from }) => from)).toEqual(expect.arrayContaining(['README.md', 'docs/hooks.md']));
    const files = shown.map(({ from, lines }, index) => {
      const name = `${from.replace(/\W/g, '-')}-${index}.ts`;
      writeFileSync(join(folder, name), lines);
      return name;
    });
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--esModuleInterop'];
    const { stdout } = spawnSync(
      process.execPath,
      [
        resolve('node_modules/typescript/bin/tsc'),
        ...options,
        ...['--module', 'node16', '--target', 'es2022', '--types', 'node', 'middleware.ts', ...files],
      ],
      { cwd: folder, encoding: 'utf8' },
    );
    expect(stdout).toBe('');
  }, 120_000);

  it('compile strictly, checked themselves, for a user who has no types of Node', () => {
    writeFileSync(
      join(folder, 'app.ts'),
      `import { createDsbc, loadConfig, type Dsbc, type Hook, type HookName, type HookSet } from 'drachtio-dsbc';
export const hook: Hook<'onRequest'> = ({ message }) =>
  message.get('user-agent') === 'scanner' ? { respond: { status: 403 } } : undefined;
// Not as blocks alone: of those that end without a return TypeScript 6 infers undefined, 5 infers void.
declare function note(what: unknown): void;
declare function noteLater(what: unknown): Promise<void>;
export function addThoseThatReturnNothing(dsbc: Dsbc, name: HookName): void {
${['onRequest', 'beforeLookup', 'beforeRoute', 'beforeRelay', 'onResponse', 'onError', 'name']
  .map((name) => (name === 'name' ? name : `'${name}'`))
  .flatMap((name) => [
    `  dsbc.addHook(${name}, ({ id }) => { note(id); });`,
    `  dsbc.addHook(${name}, async ({ id }) => { await noteLater(id); });`,
    `  dsbc.addHook(${name}, ({ id }) => note(id));`,
    `  dsbc.addHook(${name}, note);`,
    `  dsbc.addHook(${name}, noteLater);`,
  ])
  .join('\n')}
}
export const set: HookSet = {
  onRequest: ({ role }) => { if (role === 'site') return { respond: { status: 403 } }; },
  beforeLookup: async ({ keys }) => noteLater(keys),
  onResponse: note,
  onError: [({ error }) => note(error), async ({ error }) => { await noteLater(error); }],
};
export const start = async (): Promise<void> => {
  const dsbc = createDsbc({ config: await loadConfig('dsbc.yaml') });
  dsbc.addHook('onRequest', hook);
  await dsbc.start();
};
`,
    );
    const { stdout } = spawnSync(
      process.execPath,
      [
        resolve('node_modules/typescript/bin/tsc'),
        ...[
          '--noEmit',
          '--strict',
          '--skipLibCheck',
          'false',
          '--module',
          'node16',
          '--target',
          'es2022',
          'app.ts',
        ],
      ],
      { cwd: folder, encoding: 'utf8' },
    );
    expect(stdout).toBe('');
  }, 120_000);
});
