import { DISPATCHED_METHODS } from '../link/create-link';
import { reasonPhrase } from '../message/build';
import type { Decision, Step } from '../routing/decision';

type ServerKind = 'embedded' | 'drachtio';

/** What a server says to a method it asks no application about; absent: nothing. Measured on drachtio-server 0.9. */
const ANSWERS: Readonly<Record<ServerKind, (method: string) => number | undefined>> = {
  embedded: (method) => {
    if (method === 'ACK') return undefined;
    return WITHIN.has(method) ? 481 : 501;
  },
  drachtio: (method) => (WITHIN.has(method) && !SILENT.has(method) ? 481 : undefined),
};

/** Methods that belong to a dialog or transaction, which the SIP server carries by itself. */
const WITHIN: ReadonlySet<string> = new Set(['ACK', 'BYE', 'CANCEL', 'PRACK', 'UPDATE']);
const SILENT: ReadonlySet<string> = new Set(['ACK', 'PRACK']);

/** Methods we carry that drachtio-server tells no application of outside of a dialog. */
const UNTOLD: ReadonlySet<string> = new Set(['REFER']);

/** What becomes of a request whose method the DSBC does not dispatch; undefined if it does. */
export function uncarried(method: string, server: ServerKind, steps: Step[]): Decision | undefined {
  const isOurs = DISPATCHED_METHODS.some((each) => each.toUpperCase() === method);
  if (isOurs && !(server === 'drachtio' && UNTOLD.has(method))) return undefined;
  const status = ANSWERS[server](method);
  if (status === undefined) {
    const because = `${words(method, server)} gives no answer`;
    steps.push({ step: 'method', because });
    return { kind: 'drop', because, steps };
  }
  const reason = reasonPhrase(status);
  const because = `${words(method, server)} answers ${status} ${reason}`;
  steps.push({ step: 'method', because });
  return { kind: 'answer', status, reason, because, steps };
}

/** Why we are not asked, up to the name of the server that decides. */
function words(method: string, server: ServerKind): string {
  if (WITHIN.has(method)) {
    const name = server === 'embedded' ? 'the embedded server' : 'drachtio-server';
    return `${method} belongs to a dialog or call under way, which ${name} knows by itself: it is not asked of us. Without one ${name}`;
  }
  return server === 'embedded'
    ? `${method} is not a method we carry, unless an application with routes of its own takes it: the embedded server`
    : `${method} outside of a dialog is told to no application: drachtio-server`;
}
