import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import bearerAuth from '@fastify/bearer-auth';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { problem, sendProblem } from './problem';

export interface AccessOptions {
  /**
   * The token of the moment: a reload may change it. None: whoever reaches the port may use it, which config/ allows on
   * loopback only.
   */
  readonly token: () => string | undefined;
}

/**
 * Guards all routes of this scope. With a token: `Authorization: Bearer TOKEN`, compared in constant time. Without
 * one the API is on loopback, where web pages of any origin can still send requests from the operator's own browser:
 * so the Host must be an address or localhost (against DNS rebinding) and requests from another origin are refused.
 */
export async function guard(scope: FastifyInstance, { token }: AccessOptions): Promise<void> {
  await scope.register(bearerAuth, {
    keys: new Set<string>(),
    auth: (given) => isSame(given, token() ?? ''),
    addHook: false,
    contentType: 'application/problem+json',
    errorResponse: () => ({
      ...problem(401, 'Send "Authorization: Bearer TOKEN" with the configured admin.token.'),
      error: 'Unauthorized',
    }),
    verifyErrorLogLevel: 'debug',
  });
  scope.addHook('onRequest', (request, reply, done) => {
    if (token() !== undefined) {
      scope.verifyBearerAuth?.(request, reply, done);
      return;
    }
    const detail = strangerOf(request);
    if (detail === undefined) done();
    else void sendProblem(reply, problem(403, detail));
  });
}

/** In constant time, whatever the lengths. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
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
