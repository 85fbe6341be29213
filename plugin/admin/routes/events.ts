import type { FastifyInstance } from 'fastify';
import { describe } from '../describe';
import type { Operation } from '../operation';
import { problem, sendProblem } from '../problem';

/**
 * Provisioning events in the form of PortaOne's ESPF webhooks: `{"event_type":"Account/New","variables":{…}}`. 200 only
 * when the change is durable and the local cache clean; anything else makes the sender try again.
 */
export function eventRoutes(scope: FastifyInstance, operation: Operation): void {
  scope.post<{ Querystring: { system?: string } }>(
    '/espf/events',
    {
      bodyLimit: 1_048_576,
      schema: describe('A provisioning event', {
        tag: 'provisioning',
        query: {
          system: { type: 'string', description: 'The system that sends, if the event does not say it.' },
        },
        failures: { 400: 'Not an event of this kind.', 404: 'Events are not taken here.', 503: 'Try again.' },
      }),
    },
    async ({ body, query }, reply) => {
      if (operation.event === undefined) {
        await sendProblem(reply, problem(404, 'This instance takes no provisioning events.'));
        return reply;
      }
      const answer = await operation.event(body, query.system);
      // As text: no response schema may cut it.
      return reply.code(answer.status).headers(answer.headers).send(JSON.stringify(answer.body));
    },
  );
}
