import { readFileSync } from 'node:fs';
import { HOOK_POLICIES, HOOKS, PROTECTED_HEADERS } from '../../plugin/hooks';

describe('docs/hooks.md', () => {
  const text = readFileSync('docs/hooks.md', 'utf8');

  it('has one row for each hook, in the order they are called', () => {
    const rows = [...text.matchAll(/^\| `(\w+)` /gm)].map((match) => match[1]);
    expect(rows).toEqual([...HOOKS]);
  });

  it('lists the protected headers', () => {
    const list =
      /^- Protected headers [^]*?(`Via`[^]*?) and all that begin with `X-DSBC-`/m.exec(text)?.[1] ?? '';
    expect([...list.matchAll(/`([\w-]+)`/g)].map((match) => match[1])).toEqual([...PROTECTED_HEADERS]);
  });

  it('names every policy', () => {
    for (const policy of HOOK_POLICIES) expect(text).toContain(`\`${policy}\``);
  });
});
