import type { FastifyInstance } from 'fastify';

/** What bodies of requests are. */
export const BODY_TYPE = 'application/json';

/**
 * Takes JSON bodies and no others (415). No body, also under the name of JSON, is an order with nothing in it: what has to be
 * there is then asked for by name, and what is optional is left at its default.
 */
export function takeJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(BODY_TYPE, { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else void parse(request, body as string, done);
  });
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined && request.routeOptions.schema?.body !== undefined) request.body = {};
    done();
  });
}
