#!/usr/bin/env node
import { EXIT, type Command, type Io } from './command';
import { COMMANDS } from './commands';
import { failureOf } from './failure';
import { noCommand, overview } from './help';

/** Runs `dsbc` with these words (without `node` and the script); resolves with the exit code, never rejects. */
export async function main(argv: readonly string[], io: Io, commands = COMMANDS): Promise<number> {
  const [word, ...rest] = argv;
  if (word === undefined) {
    io.err(overview(commands));
    return EXIT.usage;
  }
  const name = ALIASES[word] ?? word;
  const command = commands.find((each) => each.name === name);
  if (command === undefined) {
    io.err(`dsbc: ${noCommand(word, commands)}\nTry: dsbc help\n`);
    return EXIT.usage;
  }
  if (wantsHelp(rest)) {
    io.out(`${command.usage}\n`);
    return EXIT.ok;
  }
  return runCommand(command, rest, io);
}

const ALIASES: Readonly<Record<string, string>> = {
  '--help': 'help',
  '-h': 'help',
  '--version': 'version',
  '-V': 'version',
  '-v': 'version',
};

/** `--help` anywhere before `--`. */
function wantsHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  return own.includes('--help') || own.includes('-h');
}

async function runCommand(command: Command, argv: readonly string[], io: Io): Promise<number> {
  try {
    return await command.run(argv, io);
  } catch (error) {
    const { exit, text } = failureOf(error, command.name);
    io.err(`${text}\n`);
    return exit;
  }
}

/** The process's own input and output. A second SIGINT or SIGTERM ends it at once. */
function processIo(): Io {
  const controller = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(signal === 'SIGINT' ? 130 : 143);
    controller.abort(signal);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // `dsbc … | head`: the reader is gone, nothing more to say.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    throw error;
  });
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    signal: controller.signal,
    isTerminal: process.stdout.isTTY,
  };
}

/** Milliseconds after a command's end at which nothing of it can be under way any more: connections to Cassandra take some. */
const LINGER_MS = 10_000;

/**
 * What still keeps the process is a write to a pipe that nobody reads: process.exit would wait for it, too. A service manager
 * takes an end by SIGTERM for a clean one.
 */
function endForced(): void {
  process.removeAllListeners('SIGTERM');
  process.kill(process.pid, 'SIGTERM');
}

/** Runs `dsbc` as this process. */
export function start(argv: readonly string[]): void {
  void main(argv, processIo()).then((code) => {
    // Not process.exit: what was written to a pipe must still get out.
    process.exitCode = code;
    setTimeout(endForced, LINGER_MS).unref();
  });
}

if (require.main === module) start(process.argv.slice(2));
