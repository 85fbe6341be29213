import { DISPATCHED_METHODS } from '../link/create-link';
import { reasonPhrase } from '../message/build';
import type { Decision, Step } from '../routing/decision';

type ServerKind = 'embedded' | 'drachtio';

/** What a server says to a method it asks no application about; absent: nothing. Measured on drachtio-server 0.9. */
const ANSWERS: Readonly<Record<ServerKind, (method: string) => number | undefined>> = {
  embedded: (method) => {
    if (method === 'ACK') return undefined;
    if (WITHIN.has(method)) return 481;
    return method === 'REFER' ? 503 : 501;
  },
  drachtio: (method) => (WITHIN.has(method) && !SILENT.has(method) ? 481 : undefined),
};

/** Methods that belong to a dialog or transaction, which the SIP server carries by itself. */
const WITHIN: ReadonlySet<string> = new Set(['ACK', 'BYE', 'CANCEL', 'PRACK', 'UPDATE']);
const SILENT: ReadonlySet<string> = new Set(['ACK', 'PRACK']);

/** What becomes of a request whose method the DSBC does not dispatch; undefined if it does. */
export function uncarried(method: string, server: ServerKind, steps: Step[]): Decision | undefined {
  if (DISPATCHED_METHODS.some((each) => each.toUpperCase() === method)) return undefined;
  const name = server === 'embedded' ? 'the embedded server' : 'drachtio-server';
  const status = ANSWERS[server](method);
  const alone = WITHIN.has(method)
    ? `${method} belongs to a dialog or call under way, which ${name} knows by itself: it is not asked of us. Without one`
    : `${method} is not a method we carry, unless an application with routes of its own takes it:`;
  if (status === undefined) {
    const because = `${alone} ${name} gives no answer`;
    steps.push({ step: 'method', because });
    return { kind: 'drop', because, steps };
  }
  const reason = reasonPhrase(status);
  const because = `${alone} ${name} answers ${status} ${reason}`;
  steps.push({ step: 'method', because });
  return { kind: 'answer', status, reason, because, steps };
}
