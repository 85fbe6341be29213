import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { describe } from '../describe';
import { OrderRefused, type Operation } from '../operation';
import { cacheView, customersView, customerView, lookupView, registryView } from '../views';

const limitQuery = { limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 100 } };

/** Whoever asks the registry can hear these. */
const AWAY = { 409: 'The registry is not open yet.', 503: 'The registry cannot be asked now.' };

/** The forwarding registry, its customers and its cache. */
export function registryRoutes(scope: FastifyInstance, operation: Operation): void {
  scope.get(
    '/v1/registry',
    { schema: describe('The registry and its look-ups', { tag: 'registry', answer: registryView }) },
    () => operation.registry(),
  );

  scope.get<{ Params: { kind: 'account' | 'did'; value: string } }>(
    '/v1/registry/:kind/:value',
    {
      schema: describe('Where an account or DID lives now; asks the registry, not the cache', {
        tag: 'registry',
        params: { kind: { type: 'string', enum: ['account', 'did'] }, value: { type: 'string' } },
        answer: lookupView,
        failures: { 404: 'The registry does not know it.', ...AWAY },
      }),
    },
    async ({ params }) => {
      const found = await operation.lookup(params.kind, params.value);
      if (found === null)
        throw new OrderRefused('not_found', `The registry does not know the ${params.kind} ${params.value}.`);
      return found;
    },
  );

  scope.get<{ Querystring: { limit: number } }>(
    '/v1/customers',
    {
      schema: describe('Customers that exist in two systems', {
        tag: 'customers',
        query: limitQuery,
        answer: customersView,
        failures: AWAY,
      }),
    },
    ({ query }) => operation.customers(query.limit),
  );

  scope.get<{ Params: { id: string } }>(
    '/v1/customers/:id',
    {
      schema: describe('One customer', {
        tag: 'customers',
        params: { id: { type: 'string' } },
        answer: customerView,
        failures: { 404: 'No such customer.', ...AWAY },
      }),
    },
    async ({ params }) => {
      const found = await operation.customer(params.id);
      if (found === null) throw new OrderRefused('not_found', `There is no customer ${params.id}.`);
      return found;
    },
  );

  const exportOrder = z.strictObject({ exported: z.boolean() });
  scope.put<{ Params: { id: string } }>(
    '/v1/customers/:id/exported',
    {
      schema: describe('Move a customer to its target system, or back', {
        tag: 'customers',
        params: { id: { type: 'string' } },
        body: exportOrder,
        answer: customerView,
        failures: {
          ...AWAY,
          404: 'No such customer.',
          409: 'That system is not configured, or the registry is not open yet.',
        },
      }),
    },
    ({ params, body }) => operation.exportCustomer(params.id, exportOrder.parse(body).exported),
  );

  scope.get(
    '/v1/cache',
    { schema: describe('The look-up cache', { tag: 'registry', answer: cacheView }) },
    () => operation.cache(),
  );

  scope.delete(
    '/v1/cache',
    { schema: describe('Forget all cached answers', { tag: 'registry', answer: cacheView }) },
    () => {
      operation.dropCache();
      return operation.cache();
    },
  );
}
