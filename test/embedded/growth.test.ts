import type { Application } from '../../plugin/embedded/control/application';
import { ApplicationRequests } from '../../plugin/embedded/core/application-requests';
import type { PendingRequest } from '../../plugin/embedded/core/pending-request';
import { DialogTable } from '../../plugin/embedded/dialog/dialog-table';
import { ServerDialogs } from '../../plugin/embedded/dialog/server-dialogs';
import { DEFAULT_LIMITS } from '../../plugin/embedded/limits';
import { TransactionLayer } from '../../plugin/embedded/transaction/transaction-layer';
import type { Flow } from '../../plugin/embedded/transport/flow';
import type { Inbound } from '../../plugin/embedded/wire/inbound';
import { parseMessage } from '../../plugin/message/parse';
import { growth } from '../fixtures/growth';
import { FakeClock } from './fake-clock';
import { requestOf } from './sip-peer';

const PHONE = '192.0.2.33:5060';
const flow: Flow = {
  transport: 'udp',
  entry: { address: '198.51.100.10', port: 5060, transports: ['udp'] },
  address: '192.0.2.33',
  port: 5060,
};
const inbound = (text: string): Inbound => {
  const parsed = parseMessage(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return { message: parsed.message, flow, size: text.length };
};
const ignore = (): void => undefined;

/** So many calls ring, each with a provisional answer that waits for its PRACK; the work acknowledges them all. */
function ringing(calls: number): () => void {
  const clock = new FakeClock();
  const application = { connected: true, tell: ignore } as unknown as Application;
  const requests = new ApplicationRequests(clock);
  const transactions = new TransactionLayer({
    send: ignore,
    clock,
    limits: DEFAULT_LIMITS,
    sink: { request: ignore, ack: ignore, cancel: ignore, answer: ignore },
  });
  const dialogs = new ServerDialogs({
    clock,
    table: new DialogTable(DEFAULT_LIMITS.dialogs),
    requests,
    transactions: () => transactions,
    refuse: () => {
      throw new Error('it was refused');
    },
    hangUp: ignore,
  });
  const pracks = Array.from({ length: calls }, (_, call) => {
    const callId = `call-${call}`;
    const invite = inbound(
      requestOf('INVITE', 'sip:us@example.com', PHONE, { callId, lines: [`Contact: <sip:a@${PHONE}>`] }),
    );
    const transaction = transactions.accept(invite);
    if (transaction === undefined) throw new Error('it was not accepted');
    requests.offer(transaction, invite, application);
    const pending: PendingRequest | undefined = requests.find(transaction.id, application);
    if (pending === undefined) throw new Error('it is not pending');
    pending.reliableSequence = 1;
    dialogs.answered(pending, invite, { status: 183, text: '', contact: undefined, reliable: 1 });
    return inbound(
      requestOf('PRACK', `sip:us@example.com`, PHONE, { callId, cseq: 2, toTag: transaction.toTag }),
    );
  });
  return () => {
    for (const prack of pracks) if (!dialogs.receive(prack)) throw new Error('it belongs to no dialog');
  };
}

it('a PRACK costs the same however many calls ring', () => {
  expect(growth(ringing, 50)).toBeLessThan(35);
});
