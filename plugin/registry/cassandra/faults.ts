import { errors, types } from 'cassandra-driver';
import { DsbcError } from '../../errors';
import type { CassandraOptions } from './options';

/** Answers of Cassandra that mean "not now"; its other errors mean that the question was wrong. */
const NOT_NOW: ReadonlySet<number> = new Set([
  types.responseErrorCodes.serverError,
  types.responseErrorCodes.unavailableException,
  types.responseErrorCodes.overloaded,
  types.responseErrorCodes.isBootstrapping,
  types.responseErrorCodes.truncateError,
  types.responseErrorCodes.writeTimeout,
  types.responseErrorCodes.readTimeout,
  types.responseErrorCodes.readFailure,
  types.responseErrorCodes.writeFailure,
]);

/** Whether a failure says that the cluster can't be used now; a wrong query or a missing table does not. */
export function isOutage(error: unknown): boolean {
  return error instanceof errors.ResponseError ? NOT_NOW.has(error.code) : true;
}

const MISSING =
  /keyspace .* does not exist|unconfigured table|(table|keyspace) .* (does not exist|not found)/i;

/** Any failure of a query as the registry's error; an error of ours stays as it is. */
export function unavailable(
  error: unknown,
  options: Pick<CassandraOptions, 'contactPoints' | 'keyspace'>,
): DsbcError {
  if (error instanceof DsbcError) return error;
  const { contactPoints, keyspace } = options;
  const details = { contactPoints, keyspace };
  const nodes = innerErrors(error);
  const said = nodes === undefined ? textOf(error) : perNode(nodes);
  if (MISSING.test(said)) {
    const text = `the registry's tables are not in Cassandra (${said}): run "dsbc registry init" once`;
    return new DsbcError('DSBC_REGISTRY_UNAVAILABLE', text, { cause: error, details });
  }
  return new DsbcError('DSBC_REGISTRY_UNAVAILABLE', `Cassandra cannot be asked now: ${said}`, {
    cause: error,
    details: { ...details, nodes },
  });
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).trim();

/** What each node said, when all failed; the driver's own text has the first one's as an object of many lines. */
function innerErrors(error: unknown): Record<string, string> | undefined {
  if (!(error instanceof errors.NoHostAvailableError)) return undefined;
  const inner = error.innerErrors as Record<string, unknown> | undefined;
  const nodes = Object.entries(inner ?? {}).map(([node, cause]) => [node, textOf(cause)] as const);
  return nodes.length === 0 ? undefined : Object.fromEntries(nodes);
}

const perNode = (nodes: Record<string, string>): string =>
  Object.entries(nodes)
    .sort()
    .map(([node, text]) => (text.includes(node) ? text : `${node}: ${text}`))
    .join('; ');
