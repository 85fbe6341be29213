import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ERRORS } from '../../plugin/errors';

const root = resolve(__dirname, '../..');
const text = readFileSync(join(root, 'docs/errors.md'), 'utf8');
const sections = [...text.matchAll(/^### (\S+)\n\n(.+)\n\n([\s\S]*?)(?=^##|$(?![\s\S]))/gm)];

describe('the documented errors', () => {
  it('are exactly those of the table, with the same words', () => {
    const documented = Object.fromEntries(sections.map(([, code = '', message = '']) => [code, message]));
    expect(documented).toEqual(ERRORS);
  });

  it('stand together, those about one thing under one heading', () => {
    const headings = new Map<string, Set<string>>();
    let heading = '';
    for (const [, level, title = ''] of text.matchAll(/^(##+) (.+)$/gm)) {
      if (level === '##') heading = title;
      const subject = level === '##' ? undefined : title.split('_')[1];
      if (subject !== undefined) headings.set(subject, (headings.get(subject) ?? new Set()).add(heading));
    }
    expect([...headings].filter(([, under]) => under.size > 1)).toEqual([]);
    expect([...(headings.get('HOOK') ?? [])]).toEqual(['Hooks']);
  });

  it('say what to do', () => {
    for (const [, code = '', , advice = ''] of sections)
      expect([code, advice.length > 40]).toEqual([code, true]);
  });

  it('are each raised somewhere', () => {
    const files = readdirSync(join(root, 'plugin'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && file !== 'errors.ts')
      .map((file) => readFileSync(join(root, 'plugin', file), 'utf8'))
      .join('\n');
    for (const code of Object.keys(ERRORS)) expect([code, files.includes(`'${code}'`)]).toEqual([code, true]);
  });
});
