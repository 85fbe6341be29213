/**
 * Every fault the product can raise, in one table. Expected SIP outcomes (404, busy) are values, not errors.
 * docs/errors.md says for each what it means and what to do; a test keeps the two equal.
 */
export const ERRORS = {
  DSBC_CONFIG_INVALID: 'the configuration is not valid',
  DSBC_CONFIG_UNREADABLE: 'the configuration file cannot be read',
  DSBC_LINK_LOST: 'the connection to the SIP server was lost',
  DSBC_LINK_TIMEOUT: 'the SIP server did not answer in time',
  DSBC_LINK_REFUSED: 'the SIP server refused the command',
  DSBC_LINK_AUTH: 'the SIP server refused the secret',
  DSBC_HEADER_UNSAFE: 'a header would carry a bare line end',
  DSBC_REGISTRY_UNAVAILABLE: 'the forwarding registry cannot be asked now',
  DSBC_REGISTRY_DAMAGED: 'the registry file is damaged',
  DSBC_REGISTRY_INVALID: 'a registry entry is not valid',
  DSBC_PORT_TAKEN: 'a port the program needs is taken',
  DSBC_STOPPED: 'this instance has been stopped',
  DSBC_HOOK_UNKNOWN: 'there is no hook of that name',
  DSBC_HOOK_TIMEOUT: 'a hook did not finish in its time',
  DSBC_HOOK_RESULT: 'a hook returned something that it may not',
  DSBC_NETWORK_FAILED: 'an address, announcement or link operation failed',
  DSBC_GROUP_INVALID: 'the settings of the group are not valid',
  DSBC_GROUP_REFUSED: 'the group cannot do that now',
  DSBC_ADMIN_UNREACHABLE: 'the running instance cannot be reached over its admin API',
  DSBC_NATIVE_REQUIRED: 'the native addon is required but cannot be loaded',
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** An error of the product: a code of the table, what it is about, and the cause if there is one. */
export class DsbcError extends Error {
  readonly code: ErrorCode;
  /** Facts that help whoever reads it: path, expected, found, host, port. Never a secret. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message?: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(message ?? ERRORS[code], options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DsbcError';
    this.code = code;
    this.details = Object.freeze({ ...options.details });
  }
}
