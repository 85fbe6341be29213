import type { FastifyInstance } from 'fastify';
import { describe } from '../describe';
import type { Operation } from '../operation';
import { readinessView, statusView } from '../views';

/** For load balancers and supervisors: is it alive, can it serve. They need no token and say nothing secret. */
export function probeRoutes(scope: FastifyInstance, operation: Operation): void {
  scope.get(
    '/healthz',
    { schema: describe('Alive: the process answers', { tag: 'health', open: true }) },
    () => ({ status: 'ok' }),
  );

  scope.get(
    '/readyz',
    {
      schema: {
        ...describe('Ready to serve; 503 if not, with the reasons', {
          tag: 'health',
          answer: readinessView,
          open: true,
        }),
      },
    },
    async (_request, reply) => {
      const readiness = operation.readiness();
      if (readiness.status !== 'ready') reply.code(503);
      return reply.send(readiness);
    },
  );
}

/** How is it. */
export function healthRoutes(scope: FastifyInstance, operation: Operation): void {
  scope.get(
    '/metrics',
    { schema: describe('Metrics in Prometheus text', { tag: 'health' }) },
    async (_request, reply) => {
      const { contentType, text } = await operation.metrics();
      return reply.header('content-type', contentType).send(text);
    },
  );

  scope.get(
    '/v1/status',
    { schema: describe('This instance at a glance', { tag: 'status', answer: statusView }) },
    () => operation.status(),
  );
}
