import { types } from 'node:util';
import { DsbcError, type ErrorCode } from '../errors';
import { EXIT, UsageError } from './command';

/** Codes that end a command with something else than `failed`. */
const EXIT_BY_CODE: Partial<Record<ErrorCode, number>> = {
  DSBC_CONFIG_INVALID: EXIT.config,
  DSBC_CONFIG_UNREADABLE: EXIT.config,
  DSBC_PORT_TAKEN: EXIT.port,
  DSBC_ADMIN_UNREACHABLE: EXIT.unreachable,
};

/** The exit code and the text for what a command threw. Program faults keep their stack, the rest needs none. */
export function failureOf(error: unknown, command: string): { readonly exit: number; readonly text: string } {
  if (error instanceof UsageError)
    return {
      exit: EXIT.usage,
      text: `dsbc: ${error.message}\nTry: dsbc help${command === 'help' ? '' : ` ${command}`}`,
    };
  if (error instanceof DsbcError) {
    const [first = '', ...rest] = error.message.split('\n');
    const text = [`dsbc: ${first} (${error.code})`, ...rest].join('\n') + causeOf(error) + hintFor(error);
    return { exit: EXIT_BY_CODE[error.code] ?? EXIT.failed, text };
  }
  if (isOfTheSystem(error)) return { exit: EXIT.failed, text: `dsbc: ${error.message}` };
  const text = types.isNativeError(error) ? (error.stack ?? error.message) : String(error);
  return { exit: EXIT.failed, text: `dsbc: ${text}` };
}

/** A file or disk that can't be used: the message names it and the reason, and the stack would say no more. */
const isOfTheSystem = (error: unknown): error is NodeJS.ErrnoException =>
  types.isNativeError(error) && 'syscall' in error && 'path' in error;

/** What to do about it, where the command line can. */
function hintFor({ code, cause }: DsbcError): string {
  if (code !== 'DSBC_CONFIG_UNREADABLE' || (cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT')
    return '';
  return '\n  name the file with -c FILE; without it dsbc.yaml in the working directory is read, else /etc/dsbc/dsbc.yaml';
}

/** The cause's message, where the error does not already say it. */
function causeOf(error: DsbcError): string {
  const { cause } = error;
  if (!types.isNativeError(cause) || error.message.includes(cause.message)) return '';
  return `\n  because: ${cause.message}`;
}
