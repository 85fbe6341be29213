import type { FastifyReply, FastifyRequest } from 'fastify';
import { DsbcError, type ErrorCode } from '../errors';
import type { Logger } from '../telemetry/logger';
import { BODY_TYPE } from './json-bodies';
import { OrderRefused } from './operation';

/** Problem details by RFC 9457. */
export interface Problem {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** A code of docs/errors.md, where there is one. */
  readonly code?: ErrorCode;
}

/** Every status that a request can fail with, but for 500. */
export const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  431: 'Request Header Fields Too Large',
  503: 'Service Unavailable',
};

/** Status of coded errors that an order can end with. */
const STATUS_BY_CODE: Partial<Record<ErrorCode, number>> = {
  DSBC_CONFIG_INVALID: 422,
  DSBC_CONFIG_UNREADABLE: 422,
  DSBC_REGISTRY_UNAVAILABLE: 503,
  DSBC_REGISTRY_INVALID: 400,
};

export function problem(status: number, detail: string, code?: ErrorCode): Problem {
  const title = TITLES[status] ?? 'Internal Server Error';
  return { type: 'about:blank', title, status, detail, ...(code === undefined ? {} : { code }) };
}

/** Sends a problem as `application/problem+json`. */
export async function sendProblem(reply: FastifyReply, what: Problem): Promise<void> {
  // As text: the route's own response schema must not cut it.
  await reply.code(what.status).header('content-type', 'application/problem+json').send(JSON.stringify(what));
}

/** Turns what a handler threw into a problem. Unexpected faults are logged and say nothing to the caller. */
export function problemOf(error: unknown, log: Logger, request: FastifyRequest): Problem {
  const { method, url } = request;
  if (error instanceof OrderRefused) {
    const what = problem(error.kind === 'not_found' ? 404 : 409, error.message);
    if (method !== 'GET') log.info({ method, url, ...what }, 'admin order refused');
    return what;
  }
  if (error instanceof DsbcError) {
    const status = STATUS_BY_CODE[error.code] ?? 500;
    if (status >= 500) log.warn({ err: error, url }, 'admin request failed');
    else if (method !== 'GET') log.info({ method, url, status, err: error }, 'admin order refused');
    return problem(status, error.message, error.code);
  }
  const refused = clientFault(error, request);
  if (refused !== undefined) return refused;
  log.error({ err: error, url }, 'admin request failed');
  return problem(500, 'An unexpected fault; the log says more.');
}

/** What fastify itself refuses: it says so by `statusCode`, on objects that are not always built as native errors. */
function clientFault(error: unknown, { headers }: FastifyRequest): Problem | undefined {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return undefined;
  const { statusCode } = error;
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499) return undefined;
  if (statusCode === 415)
    return problem(415, `Send the body as ${BODY_TYPE}, not as ${headers['content-type'] ?? 'nothing'}.`);
  return problem(statusCode, 'message' in error ? String(error.message) : '');
}
