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

/** Whether a range of package.json's `engines` (alternatives of `^20`, `>=20.1`, `20 || >=22`, `18.x`) takes a version. */
function takes(range: string, [major, minor, patch]: readonly [number, number, number]): boolean {
  return range.split('||').some((part) =>
    part
      .trim()
      .replace(/>= +/g, '>=')
      .split(/ +/)
      .every((bound) => {
        const [, sign = '', ...numbers] =
          /^(>=|\^|~|)\s*v?(\d+)(?:\.(\d+|x))?(?:\.(\d+|x))?$/.exec(bound) ?? [];
        if (numbers.length === 0) throw new Error(`"${range}" cannot be read`);
        const [least = 0, atMinor = 0, atPatch = 0] = numbers.map((text) => Number(text) || 0);
        const isAbove =
          major !== least ? major > least : minor !== atMinor ? minor > atMinor : patch >= atPatch;
        return sign === '>=' ? isAbove : isAbove && major === least;
      }),
  );
}

describe('the npm package', () => {
  it('installs on the oldest Node it names, with all it depends on', () => {
    const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
      packages: Record<string, { dev?: boolean; engines?: { node?: string } }>;
    };
    const own = lock.packages['']?.engines?.node ?? '';
    expect(own).toBe('>=20.19');
    const refusing = Object.entries(lock.packages)
      .filter(([, { dev, engines }]) => dev !== true && engines?.node !== undefined)
      .filter(([, { engines }]) => !takes(engines?.node ?? '', [20, 19, 0]));
    expect(refusing).toEqual([]);
  });

  it('is named by its version where pages say how to install it', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const named = ['README.md', 'docs/cli.md', 'docs/topologies.md'].map(
      (page) => /drachtio-dsbc-[\d.]+\.tgz/.exec(readFileSync(page, 'utf8'))?.[0],
    );
    expect(new Set(named)).toEqual(new Set([`drachtio-dsbc-${version}.tgz`]));
  });

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
