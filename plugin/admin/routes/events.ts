import type { FastifyInstance } from 'fastify';
import { describe } from '../describe';
import type { EventOutcome, Operation } from '../operation';
import { problem, sendProblem } from '../problem';

const STATUS: Readonly<Record<EventOutcome['outcome'], number>> = {
  applied: 200,
  duplicate: 200,
  ignored: 200,
  invalid: 400,
  failed: 503,
};

/**
 * Provisioning events in the form of PortaOne's ESPF webhooks: `{"event_type":"Account/New","variables":{…}}`. 200 only
 * when the change is durable and the local cache clean; anything else makes the sender try again.
 */
export function eventRoutes(scope: FastifyInstance, operation: Operation): void {
  scope.post(
    '/espf/events',
    {
      bodyLimit: 1_048_576,
      schema: describe('A provisioning event', {
        tag: 'provisioning',
        failures: { 400: 'Not an event of this kind.', 404: 'Events are not taken here.', 503: 'Try again.' },
      }),
    },
    async ({ body }, reply) => {
      if (operation.event === undefined) {
        await sendProblem(reply, problem(404, 'This instance takes no provisioning events.'));
        return reply;
      }
      const { outcome, detail = outcome } = await operation.event(body);
      const status = STATUS[outcome];
      if (status === 200) return { outcome };
      await sendProblem(reply, problem(status, detail));
      return reply;
    },
  );
}
