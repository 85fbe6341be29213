import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** What `npm pack` puts into the package. */
const packed = new Set(
  (
    JSON.parse(
      execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    ) as [{ files: { path: string }[] }]
  )[0].files.map(({ path }) => path),
);

describe('the npm package', () => {
  it('has every file and folder that its pages link to', () => {
    const has = (path: string): boolean =>
      packed.has(path) || [...packed].some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`));
    const pages = [...packed].filter((path) => path.endsWith('.md'));
    const links = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)].map((match) => ({
        page,
        link: match[1] ?? '',
      })),
    );
    expect(links.length).toBeGreaterThan(40);
    expect(links.filter(({ page, link }) => !has(normalize(join(dirname(page), link))))).toEqual([]);
  });

  it('has no registry that a trial of the examples left behind', () => {
    expect([...packed].filter((path) => path.includes('.lmdb'))).toEqual([]);
  });
});
