import { isIP } from 'node:net';
import bearerAuth from '@fastify/bearer-auth';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { problem, sendProblem } from './problem';

export interface AccessOptions {
  /** Absent: whoever reaches the port may use it, which config/ allows on loopback only. */
  readonly token?: string | undefined;
}

/**
 * Guards all routes of this scope. With a token: `Authorization: Bearer TOKEN`, compared in constant time. Without
 * one the API is on loopback, where web pages of any origin can still send requests from the operator's own browser:
 * so the Host must be an address or localhost (against DNS rebinding) and requests from another origin are refused.
 */
export async function guard(scope: FastifyInstance, { token }: AccessOptions): Promise<void> {
  if (token === undefined) {
    scope.addHook('onRequest', async (request, reply) => {
      const detail = strangerOf(request);
      if (detail !== undefined) await sendProblem(reply, problem(403, detail));
    });
    return;
  }
  await scope.register(bearerAuth, {
    keys: new Set([token]),
    addHook: 'onRequest',
    contentType: 'application/problem+json',
    errorResponse: () => ({
      ...problem(401, 'Send "Authorization: Bearer TOKEN" with the configured admin.token.'),
      error: 'Unauthorized',
    }),
    verifyErrorLogLevel: 'debug',
  });
}

function strangerOf(request: FastifyRequest): string | undefined {
  const host = hostName(request.headers.host ?? '');
  if (host !== 'localhost' && isIP(host) === 0) return `The host "${host}" is not this machine's address.`;
  const { origin } = request.headers;
  if (origin !== undefined && origin !== `http://${request.headers.host ?? ''}`)
    return `Requests from ${origin} are not taken.`;
  return undefined;
}

/** Without the port, and without the brackets of an IPv6 address. */
function hostName(header: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(header)?.[1] ?? header.replace(/:\d+$/, '');
}
