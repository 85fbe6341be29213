import { adviceReference } from '../../plugin/config/advice-table';
import { COMMANDS } from '../../plugin/cli/commands';
import { EXIT } from '../../plugin/cli/command';
import { overview } from '../../plugin/cli/help';
import { fillBlock, itIsCurrent } from '../fixtures/generated';

const commands = [
  `\`\`\`text\n${overview(COMMANDS).trim()}\n\`\`\``,
  ...COMMANDS.map(({ name, usage }) => `## dsbc ${name}\n\n\`\`\`text\n${usage.trim()}\n\`\`\``),
].join('\n\n');

describe('the documented commands', () => {
  itIsCurrent('docs/cli.md', (before) =>
    fillBlock(fillBlock(before, 'commands', commands), 'advice', adviceReference()),
  );

  it('each say how they are used, with options and an example where there are any', () => {
    for (const { name, usage, summary } of COMMANDS) {
      expect(usage).toMatch(new RegExp(`^Usage: dsbc ${name}`));
      expect(summary).toMatch(/^[A-Z].*[^.]$/);
      for (const line of usage.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
    }
  });

  it('name every exit code', () => {
    const text = overview(COMMANDS);
    for (const code of Object.values(EXIT)) expect(text).toMatch(new RegExp(`^  ${code}  `, 'm'));
  });
});
