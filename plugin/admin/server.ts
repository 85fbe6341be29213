import type { AddressInfo } from 'node:net';
import sse from '@fastify/sse';
import swagger from '@fastify/swagger';
import createFastify, { type FastifyInstance } from 'fastify';
import { readTlsFiles, type TlsMaterial } from '../config/tls-files';
import type { AdminConfig } from '../config/types';
import { DsbcError } from '../errors';
import type { Logger } from '../telemetry/logger';
import { guard } from './access';
import { BODY_TYPE, takeJsonBodies } from './json-bodies';
import { KnownRoutes } from './known-routes';
import type { Operation } from './operation';
import { PAGE } from './page';
import { problem, problemOf, sendProblem } from './problem';
import { whatIsWrong } from './schema-fault';
import { eventRoutes } from './routes/events';
import { groupRoutes } from './routes/group';
import { healthRoutes, probeRoutes } from './routes/health';
import { liveRoutes } from './routes/live';
import { registryRoutes } from './routes/registry';
import { siteRoutes } from './routes/sites';
import { answerUnread } from './unread';

export interface AdminOptions {
  readonly config: AdminConfig;
  /** The token of the moment; default: that of `config`. */
  readonly token?: () => string | undefined;
  readonly operation: Operation;
  readonly version: string;
  readonly log: Logger;
}

/** The admin API, listening. */
export interface AdminServer {
  readonly address: string;
  readonly port: number;
  /** Ends open requests and streams. Idempotent. */
  close(): Promise<void>;
}

/**
 * Starts the admin API.
 * @throws DsbcError DSBC_PORT_TAKEN; DSBC_CONFIG_INVALID if certificate or key can't be read, or don't fit
 */
export async function startAdmin(options: AdminOptions): Promise<AdminServer> {
  const app = await buildAdmin(options);
  const { address, port } = options.config;
  try {
    await app.listen({ host: address, port });
  } catch (cause) {
    await app.close();
    throw new DsbcError('DSBC_PORT_TAKEN', `the admin API cannot listen on ${address} port ${port}`, {
      cause,
      details: { address, port, what: 'admin' },
    });
  }
  const bound = app.server.address() as AddressInfo;
  return { address: bound.address, port: bound.port, close: () => app.close() };
}

/** The application without a listener, for tests and the OpenAPI document. */
export async function buildAdmin(options: AdminOptions): Promise<FastifyInstance> {
  const { operation, config, log } = options;
  const app: FastifyInstance = createFastify({
    logger: false,
    bodyLimit: 65_536,
    // A page left open must not keep the process from ending.
    forceCloseConnections: true,
    ajv: { customOptions: { coerceTypes: true, removeAdditional: false } },
    schemaErrorFormatter: (errors, part) => new Error(whatIsWrong(errors, part)),
    // Before a route is found there is no scope whose error handler would be asked.
    frameworkErrors: (error, request, reply) => void sendProblem(reply, problemOf(error, log, request)),
    clientErrorHandler: answerUnread,
    ...httpsOptions(config),
  });
  app.setErrorHandler((error, request, reply) => sendProblem(reply, problemOf(error, log, request)));
  takeJsonBodies(app);
  const routes = new KnownRoutes(app);
  app.setNotFoundHandler((request, reply) => {
    const [path = ''] = request.url.split('?');
    const allowed = routes.methodsAt(path).join(', ');
    if (allowed === '') return sendProblem(reply, problem(404, `There is nothing at ${path}.`));
    const detail = `${path} takes ${allowed}, not ${request.method}.`;
    return sendProblem(reply.header('allow', allowed), problem(405, detail));
  });
  app.addHook('onSend', async (_request, reply) => {
    reply.headers({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
  });
  await app.register(swagger, openapi(options));
  // What is sent is JSON text already, made once for all listeners.
  await app.register(sse, { serializer: (text: string) => text });
  // The page holds no data: it asks for the token and then for the data.
  app.get('/', { schema: { hide: true } }, (_request, reply) =>
    reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy':
          "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'",
      })
      .send(PAGE),
  );
  probeRoutes(app, operation);
  await app.register(async (scope) => {
    await guard(scope, { token: options.token ?? (() => config.token) });
    healthRoutes(scope, operation);
    siteRoutes(scope, operation);
    registryRoutes(scope, operation);
    groupRoutes(scope, operation);
    eventRoutes(scope, operation);
    liveRoutes(scope, operation);
    scope.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  });
  await app.ready();
  return app;
}

function openapi({ version, config }: AdminOptions): object {
  return {
    transformObject: ({ openapiObject }: { readonly openapiObject: ApiDocument }) =>
      withOptionalBodies(openapiObject),
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'drachtio-dsbc admin API',
        version,
        description: 'Operates one instance of drachtio-dsbc.',
      },
      ...(config.token === undefined
        ? {}
        : {
            components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
            security: [{ token: [] }],
          }),
    },
  };
}

interface ApiDocument {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: ApiBody }>>>>;
}

interface ApiBody {
  required?: boolean;
  readonly content?: Readonly<
    Record<string, { readonly schema?: { readonly required?: readonly string[] } }>
  >;
}

/** A body without a required field need not be sent; the library says of each that it must. */
function withOptionalBodies(document: ApiDocument): ApiDocument {
  for (const path of Object.values(document.paths ?? {}))
    for (const { requestBody } of Object.values(path))
      if (requestBody !== undefined)
        requestBody.required = (requestBody.content?.[BODY_TYPE]?.schema?.required ?? []).length > 0;
  return document;
}

function httpsOptions(config: AdminConfig): { https?: TlsMaterial } {
  const { cert_file, key_file } = config;
  if (cert_file === undefined || key_file === undefined) return {};
  return { https: readTlsFiles(['admin'], { cert_file, key_file }) };
}
