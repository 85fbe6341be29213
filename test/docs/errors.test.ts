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
