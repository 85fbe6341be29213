import { nearest } from '../config/nearest';
import { EXIT, UsageError, type Command } from './command';

/** What `dsbc`, `dsbc help` and `dsbc --help` show. */
export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => command.name.length));
  const lines = commands.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`);
  return `dsbc - a dispatching session border controller for the drachtio SIP server

Usage: dsbc COMMAND [OPTIONS]

Commands:
${lines.join('\n')}

dsbc help COMMAND explains one. First steps:
  dsbc demo                                      see it work, nothing else needed
  dsbc check -c config-examples/embedded.yaml    validate a configuration, see the shares
  dsbc run -c config-examples/embedded.yaml      serve

Exit codes:
  0  done
  1  failed, or a check did not pass
  2  the command line is wrong
  3  the configuration is missing or not valid
  4  a port or address that is needed is taken or not there
  5  the running instance can't be reached, or does not accept the token
`;
}

/** Says that there is no such command, and which may have been meant. */
export function noCommand(word: string, commands: readonly Command[]): string {
  const near = nearest(
    word,
    commands.map(({ name }) => name),
  );
  return `there is no command "${word}"${near === undefined ? '' : `: did you mean ${near}?`}`;
}

/** `dsbc help [COMMAND]`. */
export function helpCommand(commands: () => readonly Command[]): Command {
  return {
    name: 'help',
    summary: 'Explain dsbc, or one command',
    usage: `Usage: dsbc help [COMMAND]

Lists the commands, or explains one: what it does, its options, and examples.`,
    run(argv, io) {
      const [name, ...rest] = argv;
      if (rest.length > 0) throw new UsageError(`unexpected "${rest[0] ?? ''}"`);
      if (name === undefined) {
        io.out(overview(commands()));
        return Promise.resolve(EXIT.ok);
      }
      const command = commands().find((each) => each.name === name);
      if (command === undefined) throw new UsageError(noCommand(name, commands()));
      io.out(`${command.usage}\n`);
      return Promise.resolve(EXIT.ok);
    },
  };
}
