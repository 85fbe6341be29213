import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock';
import type { Limits } from '../limits';
import { isSameAddress, SendError, type Flow, type Sent } from '../transport/flow';
import type { QuotedRequest } from '../transport/udp-errors';
import { answerFlow, type Inbound } from '../wire/inbound';
import { newTag } from '../wire/text';
import type { ClientEnvironment, ClientTransaction, ClientUser } from './client-transaction';
import { InviteClient } from './invite-client';
import { InviteServer } from './invite-server';
import { NonInviteClient } from './non-invite-client';
import { NonInviteServer } from './non-invite-server';
import { cancelOf, type Outgoing } from './outgoing';
import type { ServerEnvironment, ServerTransaction } from './server-transaction';
import { SourceCount } from './source-count';
import { StreamClients } from './stream-clients';
import { clientKey, serverKey } from './transaction-key';

/** What the transaction layer can't do itself. */
export interface TransactionSink {
  /** A request that belongs to no transaction; whoever wants one calls `accept`. */
  request(inbound: Inbound): void;
  /** An ACK that ends no refusal: it acknowledges a 2xx, or nothing. */
  ack(inbound: Inbound): void;
  /** A CANCEL, to be answered; `known` says whether its INVITE is here (which is then told by the layer). */
  cancel(inbound: Inbound, known: boolean): void;
  /** An answer without a request here. */
  answer(inbound: Inbound): void;
}

export interface TransactionCounts {
  readonly servers: number;
  readonly clients: number;
  /** Messages sent again by timers or for requests that came again, since the start. */
  readonly retransmissions: number;
  /** INVITEs refused because whoever had to answer was gone, since the start: each one is a defect of this server. */
  readonly abandoned: number;
}

const ignore: ClientUser = { answer: () => undefined, failed: () => undefined };

/** All transactions of the server (RFC 3261 §17). */
export class TransactionLayer {
  readonly #servers = new Map<string, InviteServer | NonInviteServer>();
  readonly #clients = new Map<string, ClientTransaction>();
  readonly #streamClients = new StreamClients();
  readonly #sources = new SourceCount();
  readonly #bytes = new SourceCount();
  readonly #limits: Limits;
  readonly #sink: TransactionSink;
  readonly #serverEnvironment: ServerEnvironment;
  readonly #clientEnvironment: ClientEnvironment;
  #retransmissions = 0;
  #abandoned = 0;

  constructor(environment: {
    send: (flow: Flow, text: string, sent?: Sent) => void;
    clock: Clock;
    limits: Limits;
    sink: TransactionSink;
  }) {
    this.#limits = environment.limits;
    this.#sink = environment.sink;
    const { send, clock } = environment;
    const shared = {
      send,
      after: (milliseconds: number, callback: () => void) => clock.after(milliseconds, callback),
      countRetransmission: () => {
        this.#retransmissions += 1;
      },
    };
    this.#serverEnvironment = {
      ...shared,
      countAbandoned: () => {
        this.#abandoned += 1;
      },
      ended: ({ source, size }, key) => {
        if (!this.#servers.delete(key)) return;
        this.#sources.remove(source);
        this.#bytes.remove(source, size);
      },
    };
    this.#clientEnvironment = {
      ...shared,
      sendCancel: (invite, extra) => {
        if (invite instanceof InviteClient && invite.request)
          this.send(cancelOf(invite.request, extra), invite.flow, ignore);
      },
      ended: (client) => {
        this.#clients.delete(clientKey(client.branch, client.method));
        this.#streamClients.remove(client);
      },
    };
  }

  get counts(): TransactionCounts {
    return {
      servers: this.#servers.size,
      clients: this.#clients.size,
      retransmissions: this.#retransmissions,
      abandoned: this.#abandoned,
    };
  }

  receive(inbound: Inbound): void {
    const { message } = inbound;
    if (message.kind === 'response') {
      const branch = message.via?.branch ?? '';
      const client = this.#clients.get(clientKey(branch, message.cseq?.method ?? ''));
      if (client) client.receive(message, inbound.flow);
      else this.#sink.answer(inbound);
      return;
    }
    const key = serverKey(message);
    if (key === undefined) return;
    const known = this.#servers.get(key);
    if (message.method === 'ACK') {
      // The refusal's ACK ends here; that of a 2xx may carry the same branch, though it should not.
      if (known instanceof InviteServer) known.acknowledge(inbound);
      else this.#sink.ack(inbound);
    } else if (known) known.repeated();
    else if (message.method === 'CANCEL') this.#cancel(inbound);
    else this.#sink.request(inbound);
  }

  /** Opens the server transaction of a request; undefined when there are too many, in all or of its source. */
  accept(inbound: Inbound): ServerTransaction | undefined {
    const key = serverKey(inbound.message);
    if (key === undefined || this.#full()) return undefined;
    const source = inbound.flow.address;
    if (this.#isFullFor(source, inbound.size)) return undefined;
    const start = {
      id: randomUUID(),
      key,
      request: inbound,
      answerFlow: answerFlow(inbound.message, inbound.flow),
      toTag: newTag(),
    };
    const transaction =
      inbound.message.method === 'INVITE'
        ? new InviteServer(start, this.#serverEnvironment)
        : new NonInviteServer(start, this.#serverEnvironment);
    this.#servers.set(key, transaction);
    this.#sources.add(source);
    this.#bytes.add(source, inbound.size);
    return transaction;
  }

  /**
   * Sends a request by a client transaction of its own. `patience` in milliseconds is how long a request other than
   * INVITE waits for its final answer (timer F by default). Undefined when there are too many transactions.
   */
  send(request: Outgoing, flow: Flow, user: ClientUser, patience?: number): ClientTransaction | undefined {
    if (this.#full()) return undefined;
    const transaction =
      request.method === 'INVITE'
        ? new InviteClient(request, flow, user, this.#clientEnvironment)
        : new NonInviteClient(request, flow, user, this.#clientEnvironment);
    this.#clients.set(clientKey(request.branch, request.method), transaction);
    this.#streamClients.add(transaction);
    transaction.start(patience);
    return transaction;
  }

  /** A request over UDP to that address and port did not arrive. True if it waited for its answer. */
  undelivered(
    { method, branch }: QuotedRequest,
    to: { readonly address: string; readonly port: number },
    error: SendError,
  ): boolean {
    const client = this.#clients.get(clientKey(branch, method));
    if (client?.flow.transport !== 'udp' || client.flow.port !== to.port) return false;
    if (!isSameAddress(client.flow.address, to.address)) return false;
    return client.undelivered(error);
  }

  /** A connection is gone: what was sent by it and has no answer, or an INVITE that has but a 100, will get none. */
  flowClosed(flow: Flow, reason: string): void {
    for (const client of this.#streamClients.of(flow)) {
      const failure = client.flow.existingOnly === true ? 'flow_failed' : 'refused';
      client.flowClosed(new SendError(failure, reason));
    }
  }

  /** Ends all timers; nothing is sent any more. */
  close(): void {
    for (const server of [...this.#servers.values()]) server.close();
    for (const client of [...this.#clients.values()]) client.close();
  }

  #full(): boolean {
    return this.#servers.size + this.#clients.size >= this.#limits.transactions;
  }

  #isFullFor(source: string, size: number): boolean {
    const { transactionsPerSource, transactionBytes, transactionBytesPerSource } = this.#limits;
    return (
      this.#sources.of(source) >= transactionsPerSource ||
      this.#bytes.total + size > transactionBytes ||
      this.#bytes.of(source) + size > transactionBytesPerSource
    );
  }

  #cancel(inbound: Inbound): void {
    const inviteKey = serverKey(inbound.message, 'INVITE');
    const invite = inviteKey === undefined ? undefined : this.#servers.get(inviteKey);
    const known = invite instanceof InviteServer;
    this.#sink.cancel(inbound, known);
    if (known) invite.cancel(inbound);
  }
}
