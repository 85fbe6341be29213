import type { FastifyInstance } from 'fastify';
import { describe } from '../describe';
import { OrderRefused, type GroupOperation, type Operation } from '../operation';
import { flowsView, groupView, handoverOrder, maintenanceOrder, reloadView } from '../views';

/** The group, the ways to endpoints, and the configuration. */
export function groupRoutes(scope: FastifyInstance, operation: Operation): void {
  const group = (): GroupOperation => {
    if (operation.group === undefined)
      throw new OrderRefused(
        'not_found',
        'This instance is not part of a group: no `ha` in the configuration, or it has not joined it yet.',
      );
    return operation.group;
  };

  scope.get(
    '/v1/ha',
    {
      schema: describe('The group and who is active', {
        tag: 'group',
        answer: groupView,
        failures: { 404: 'This instance stands alone.' },
      }),
    },
    () => group().group(),
  );

  scope.post(
    '/v1/ha/handover',
    {
      schema: describe('Hand the VIP over to another instance', {
        tag: 'group',
        body: handoverOrder,
        answer: groupView,
        failures: { 404: 'This instance stands alone.', 409: 'It is not active, or the other is not ready.' },
      }),
    },
    async ({ body }) => {
      await group().handOver(handoverOrder.parse(body).to);
      return group().group();
    },
  );

  scope.post(
    '/v1/ha/maintenance',
    {
      schema: describe('Keep this instance from serving, or let it again', {
        tag: 'group',
        body: maintenanceOrder,
        answer: groupView,
        failures: { 404: 'This instance stands alone.', 409: 'Nobody else could serve.' },
      }),
    },
    async ({ body }) => {
      await group().maintain(maintenanceOrder.parse(body).on);
      return group().group();
    },
  );

  scope.get<{ Querystring: { limit: number; search: string } }>(
    '/v1/flows',
    {
      schema: describe('Registrations that went through this instance', {
        tag: 'flows',
        query: {
          limit: { type: 'integer', minimum: 0, maximum: 10_000, default: 100 },
          search: { type: 'string', default: '', description: 'Part of the address of record.' },
        },
        answer: flowsView,
      }),
    },
    ({ query }) => operation.flows(query.limit, query.search),
  );

  scope.post(
    '/v1/reload',
    {
      schema: describe('Read the configuration file again', {
        tag: 'status',
        answer: reloadView,
        failures: {
          409: 'The DSBC is part of an application that gives it its configuration by itself.',
          422: 'The file is not valid, or cannot be read; nothing has changed.',
        },
      }),
    },
    () => operation.reload(),
  );
}
