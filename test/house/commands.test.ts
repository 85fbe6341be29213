import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { main } from '../../plugin/cli/main';
import { RecordedIo } from '../fixtures/io';

/** What people copy commands from. */
const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  ...['docs', 'config-examples'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((name) => statSync(name).isFile() && !name.endsWith('.json') && !/\.lmdb/.test(name)),
  ),
];

interface Shown {
  readonly page: string;
  /** The words behind `dsbc`. */
  readonly words: readonly string[];
  /** Said in the middle of a sentence, where a command may be named without what it needs. */
  readonly named: boolean;
}

/** What may stand before `dsbc` on a line or in a code span. */
const BEFORE =
  /^(?:# *)?(?:[A-Z][A-Za-z ]*: +)?(?:ExecStart=\/usr\/bin\/env )?(?:docker compose exec \S+ )?(?:npx )?dsbc (?=[a-z])/;

/** Every command on a page: in code spans, and on lines of their own in code blocks, comments and unit files. */
function commandsOf(page: string): Shown[] {
  const text = readFileSync(page, 'utf8');
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '');
  // The usage lines are grammar, and so is the list of first lines of docs/cli.md.
  const lines = text.split('\n').filter((line) => !/`|^Usage: |^ {7}dsbc|^## dsbc|^dsbc - /.test(line));
  const shown = (source: string, inText: boolean): Shown[] =>
    source
      .split(/&&|;|\|(?=\s)/)
      .map((part) => part.trim())
      .filter((part) => BEFORE.test(part))
      .map((part) => part.replace(BEFORE, '').replace(/\s+#.*|\s{3,}.*$| > .*/, ''))
      .flatMap(alternatives)
      .map(wordsOf)
      .filter((words) => !words.includes('COMMAND'))
      .map((words) => ({ page, words, named: inText && words.every((word) => !word.startsWith('-')) }));
  return [...spans.flatMap((span) => shown(span, true)), ...lines.flatMap((line) => shown(line, false))];
}

/** `customer export|rollback` stands for two. */
function alternatives(command: string): string[] {
  const choice = /(\S+?)\|(\S+)/.exec(command);
  if (choice === null) return [command];
  return [choice[1], choice[2]].map((one) => command.replace(choice[0], one ?? ''));
}

/** Words as a shell splits them. */
const wordsOf = (command: string): string[] =>
  [...command.trim().matchAll(/"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '');

const NO_CONFIG = 'test/none.yaml';

/** Runs it with a configuration that is not there: what is wrong with the words shows before that is read. */
async function tried(words: readonly string[]): Promise<string> {
  const [name = ''] = words;
  // Files that a reader makes first.
  const told = words
    .map((word) => (/^FILE$|\.(csv|jsonl)$/.test(word) ? 'package.json' : word))
    .map((word, at) => (/^(-c|--config)$/.test(words[at - 1] ?? '') ? NO_CONFIG : word));
  const config = words.some((word) => /^(-c|--config)$/.test(word)) ? [] : ['-c', NO_CONFIG];
  const io = new RecordedIo();
  const code = await main([...told, ...(['help', 'version'].includes(name) ? [] : config)], io);
  return code === 2 && !io.stderr.includes('there is no plan') ? io.stderr : '';
}

const all = PAGES.flatMap(commandsOf);

describe('every command shown on a page', () => {
  it('is found: dozens of them, the one in the comments of embedded.yaml too', () => {
    expect(all.length).toBeGreaterThan(60);
    expect(all).toContainEqual(
      expect.objectContaining({
        page: 'config-examples/embedded.yaml',
        words: expect.arrayContaining(['put', '1001', '--kind']),
      }),
    );
  });

  it('parses, with its options and words', async () => {
    const wrong: string[] = [];
    for (const { page, words, named } of all) {
      // The demo would run; it takes no words, and its options are tried in its own test.
      if (words[0] === 'demo') continue;
      const answer = await tried(words);
      if (
        answer === '' ||
        (named && /dsbc: missing: |say what to do|say which site|is needed|are needed/.test(answer))
      )
        continue;
      wrong.push(`${page}: dsbc ${words.join(' ')}: ${answer}`);
    }
    expect(wrong).toEqual([]);
  });
});
