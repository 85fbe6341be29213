import { getSystemErrorName } from 'node:util';
import { DsbcError } from '../errors';

/** What was tried, for an error that says so. */
export interface Attempt {
  readonly operation: string;
  readonly interface?: string;
  readonly address?: string;
}

const nameOf = (errno: number): string => {
  try {
    return getSystemErrorName(-errno);
  } catch {
    return `errno ${errno}`;
  }
};

/** What usually lies behind an errno. */
const HINTS: Readonly<Record<string, string>> = {
  EPERM:
    'the process needs CAP_NET_ADMIN and CAP_NET_RAW (ambient capabilities are enough, root is not needed)',
  EACCES: 'IPv6 may be switched off on the interface (sysctl disable_ipv6)',
  ENODEV: 'there is no such network interface',
  ENETDOWN: 'the network interface is down',
};

/** What the kernel says of an address, or of its route, that is not there; an interface that is gone has none. */
export const ADDRESS_GONE: readonly string[] = ['EADDRNOTAVAIL', 'ENODEV'];
export const ROUTE_GONE: readonly string[] = ['ESRCH', 'ENODEV'];

/** DSBC_NETWORK_FAILED for a kernel's refusal; `details.errno` is its name, as `ENOENT`. */
export function networkFailure(attempt: Attempt, errno: number | string, cause?: unknown): DsbcError {
  const name = typeof errno === 'number' ? nameOf(errno) : errno;
  const where = [attempt.address, attempt.interface].filter((part) => part !== undefined).join(' on ');
  const hint = HINTS[name];
  const message = `${attempt.operation}${where === '' ? '' : ` ${where}`}: ${name}${hint === undefined ? '' : `; ${hint}`}`;
  return new DsbcError('DSBC_NETWORK_FAILED', message, { cause, details: { ...attempt, errno: name } });
}

/** Tries all, then throws the first failure. */
export function tryAll<T>(items: readonly T[], attempt: (item: T) => DsbcError | undefined): void {
  let first: DsbcError | undefined;
  for (const item of items) {
    const failure = attempt(item);
    first ??= failure;
  }
  if (first !== undefined) throw first;
}
