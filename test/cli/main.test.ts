import { join } from 'node:path';
import { type Command, UsageError } from '../../plugin/cli/command';
import { COMMANDS } from '../../plugin/cli/commands';
import { main } from '../../plugin/cli/main';
import { configFile } from '../../plugin/cli/options';
import { DsbcError } from '../../plugin/errors';
import { RecordedIo } from '../fixtures/io';

const dsbc = async (argv: string[], commands = COMMANDS) => {
  const io = new RecordedIo();
  const code = await main(argv, io, commands);
  return { code, out: io.stdout, err: io.stderr };
};

const throwing = (error: Error): readonly Command[] => [
  {
    name: 'boom',
    summary: '',
    usage: '',
    run: () => Promise.reject(error),
  },
];

describe('dsbc', () => {
  it('without a command shows the overview and exits 2', async () => {
    const { code, err } = await dsbc([]);
    expect(code).toBe(2);
    for (const command of COMMANDS) expect(err).toContain(command.summary);
  });

  it.each([['help'], ['--help'], ['-h']])('%s shows the overview and exits 0', async (word) => {
    const { code, out } = await dsbc([word]);
    expect([code, out.includes('Usage: dsbc COMMAND')]).toEqual([0, true]);
  });

  it('explains each command by help COMMAND and by COMMAND --help', async () => {
    for (const command of COMMANDS) {
      expect(await dsbc(['help', command.name])).toMatchObject({ code: 0, out: `${command.usage}\n` });
      expect(await dsbc([command.name, '--help'])).toMatchObject({ code: 0, out: `${command.usage}\n` });
    }
  });

  it('names a command that is not there and exits 2', async () => {
    expect(await dsbc(['dance'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('no command "dance"'),
    });
    expect(await dsbc(['help', 'dance'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('no command "dance"'),
    });
  });

  it('says which command may have been meant', async () => {
    expect((await dsbc(['stat'])).err).toBe(
      'dsbc: there is no command "stat": did you mean status?\nTry: dsbc help\n',
    );
    expect((await dsbc(['help', 'chek'])).err).toMatch(/did you mean check\?\nTry: dsbc help\n$/);
    for (const word of ['dance', 'x', '-x']) expect((await dsbc([word])).err).not.toContain('did you mean');
  });

  it.each([['version'], ['--version'], ['-V'], ['-v']])('prints its version for %s', async (word) => {
    const { code, out } = await dsbc([word]);
    expect([code, /^drachtio-dsbc \d+\.\d+\.\d+ on Node \d+/.test(out)]).toEqual([0, true]);
  });

  it('says what is wrong with an option, how to get help, and exits 2', async () => {
    const { code, err } = await dsbc(['version', '--colour']);
    expect([code, err]).toEqual([2, "dsbc: Unknown option '--colour'\nTry: dsbc help version\n"]);
  });

  it.each<[Error, number, string]>([
    [new UsageError('no'), 2, 'dsbc: no\nTry: dsbc help boom\n'],
    [new DsbcError('DSBC_CONFIG_INVALID', 'bad file'), 3, 'dsbc: bad file (DSBC_CONFIG_INVALID)\n'],
    [new DsbcError('DSBC_CONFIG_UNREADABLE', 'no file'), 3, 'dsbc: no file (DSBC_CONFIG_UNREADABLE)\n'],
    [
      new DsbcError('DSBC_PORT_TAKEN', 'port 5060 is taken'),
      4,
      'dsbc: port 5060 is taken (DSBC_PORT_TAKEN)\n',
    ],
    [
      new DsbcError('DSBC_REGISTRY_DAMAGED', 'it is damaged', { cause: new Error('bad page') }),
      1,
      'dsbc: it is damaged (DSBC_REGISTRY_DAMAGED)\n  because: bad page\n',
    ],
  ])('turns %s into exit code %i', async (error, code, text) => {
    expect(await dsbc(['boom'], throwing(error))).toEqual({ code, out: '', err: text });
  });

  it('keeps the stack of a program fault', async () => {
    const { code, err } = await dsbc(['boom'], throwing(new RangeError('oops')));
    expect([code, /RangeError: oops\n\s+at /.test(err)]).toEqual([1, true]);
  });
});

it('reads dsbc.yaml here, else the one of the server, and no other', () => {
  const here = join(__dirname, 'main.test.ts');
  const none = join(__dirname, 'none.yaml');
  expect(configFile({ config: 'x.yaml' }, [here, here])).toBe('x.yaml');
  expect(configFile({}, [here, __filename])).toBe(here);
  expect(configFile({}, [none, here])).toBe(here);
  expect(configFile({}, [none, none])).toBe(none);
});
