import type { FastifyInstance } from 'fastify';
import { describe } from '../describe';
import type { Operation } from '../operation';
import { problem, sendProblem } from '../problem';

const INTERVAL_MS = 1000;
/** Each open page costs a little every second. */
const MAX_LISTENERS = 50;

/** What the page shows, once a second, as server-sent events; nothing is computed while nobody listens. */
export function liveRoutes(scope: FastifyInstance, operation: Operation): void {
  const listeners = new Set<(text: string) => void>();
  let timer: NodeJS.Timeout | undefined;
  const snapshot = async (): Promise<string> => {
    const [status, sites, group] = await Promise.all([
      operation.status(),
      operation.sites(),
      operation.group?.group() ?? null,
    ]);
    return JSON.stringify({ status, sites, group, cache: operation.cache(), flows: operation.flows(0, '') });
  };
  const tellAll = async (): Promise<void> => {
    try {
      const text = await snapshot();
      for (const listener of listeners) listener(text);
    } catch (error) {
      scope.log.error({ err: error }, 'live page');
    }
  };
  const leave = (listener: (text: string) => void): void => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
  scope.addHook('onClose', (_instance, done) => {
    clearInterval(timer);
    listeners.clear();
    done();
  });

  scope.get(
    '/v1/live',
    {
      sse: true,
      schema: describe('Everything on the page, once a second (server-sent events)', {
        tag: 'status',
        failures: { 406: 'The Accept header takes no text/event-stream.', 503: 'Too many listen already.' },
      }),
      // Whoever takes anything (curl) gets the stream, too.
      onRequest: async (request, reply) => {
        const takes = request.headers.accept ?? '*/*';
        if (listeners.size >= MAX_LISTENERS)
          return sendProblem(reply, problem(503, `${MAX_LISTENERS} listen already.`));
        if (!/text\/event-stream|text\/\*|\*\/\*/.test(takes))
          return sendProblem(reply, problem(406, 'This is a stream: send "Accept: text/event-stream".'));
        request.headers.accept = 'text/event-stream';
      },
    },
    async (_request, reply) => {
      let taken = true;
      const send = (text: string): void => {
        // Who has not taken the last one gets no other: a page that is asleep would have them all kept for it.
        if (!taken) return;
        taken = false;
        const sent = (): void => {
          taken = true;
        };
        reply.sse.send({ data: text }).then(sent, () => leave(send));
      };
      listeners.add(send);
      reply.sse.onClose(() => leave(send));
      reply.sse.keepAlive();
      send(await snapshot());
      if (listeners.size === 1) timer = setInterval(() => void tellAll(), INTERVAL_MS);
      return reply;
    },
  );
}
