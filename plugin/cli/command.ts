/** Exit codes of every command; docs/cli.md and `dsbc help` explain them. */
export const EXIT = {
  /** Done. */
  ok: 0,
  /** It was tried and failed, or a check did not pass. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The configuration is missing or not valid. */
  config: 3,
  /** A port or address that is needed is taken or not there. */
  port: 4,
  /** The running instance can't be reached, or does not accept the token. */
  unreachable: 5,
} as const;

/** What a command talks through, so that tests can listen. Text is written as it is: commands add line ends. */
export interface Io {
  out(text: string): void;
  err(text: string): void;
  /** Aborted when the user wants the command to end (SIGINT, SIGTERM). */
  readonly signal: AbortSignal;
  /** True if `out` is a terminal: progress bars and the like make sense. */
  readonly isTerminal: boolean;
}

/** One command of `dsbc`. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The whole help text: usage line, what it does, options, examples, exit codes beyond the common ones. */
  readonly usage: string;
  /** Resolves with an exit code. May throw UsageError or DsbcError: main turns them into text and code. */
  run(argv: readonly string[], io: Io): Promise<number>;
}

/** The command line is wrong; main shows the message, how to get help, and exits 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}
