import type { FastifyInstance } from 'fastify';

interface KnownRoute {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
}

/** Which methods there are at a path, of all routes that are added behind it: for 405 and its Allow (RFC 9110 §15.5.6). */
export class KnownRoutes {
  readonly #routes: KnownRoute[] = [];

  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ method, url }) => {
      this.#routes.push({ pattern: patternOf(url), methods: [method].flat() });
    });
  }

  /** Empty: there is nothing at this path. */
  methodsAt(path: string): readonly string[] {
    const found = this.#routes.filter(({ pattern }) => pattern.test(path));
    return [...new Set(found.flatMap(({ methods }) => methods))];
  }
}

/** `/v1/customers/:id` with any one segment for `:id`. */
const patternOf = (url: string): RegExp => {
  const parts = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  return new RegExp(`^${parts.join('/')}$`);
};
