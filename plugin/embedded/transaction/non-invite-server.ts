import type { Timer } from '../clock';
import type { Flow } from '../transport/flow';
import type { Inbound } from '../wire/inbound';
import type { ServerEnvironment, ServerStart, ServerTransaction, ServerUser } from './server-transaction';
import { TRANSACTION_MS } from './timers';

/**
 * The non-INVITE server transaction (RFC 3261 §17.2.2).
 *
 *     trying ──1xx──▶ proceeding ──final──▶ completed ──J──▶ terminated
 *
 * The client gives up after 64 × T1, so a request that nobody answered by then is forgotten without an answer
 * (RFC 4320 §4.2).
 */
export class NonInviteServer implements ServerTransaction {
  readonly id: string;
  readonly method: string;
  readonly answerFlow: Flow;
  readonly source: string;
  readonly size: number;
  readonly toTag: string;
  user: ServerUser = {};
  readonly #key: string;
  readonly #environment: ServerEnvironment;
  #request: Inbound | undefined;
  #final = false;
  #status = 0;
  #latest: string | undefined;
  #ended = false;
  #end: Timer;

  constructor(start: ServerStart, environment: ServerEnvironment) {
    this.id = start.id;
    this.method = start.request.message.method;
    this.answerFlow = start.answerFlow;
    this.source = start.request.flow.address;
    this.size = start.request.size;
    this.toTag = start.toTag;
    this.#key = start.key;
    this.#request = start.request;
    this.#environment = environment;
    this.#end = environment.after(TRANSACTION_MS, () => this.#terminate());
  }

  get request(): Inbound | undefined {
    return this.#request;
  }

  get status(): number {
    return this.#status;
  }

  respond(status: number, text: string): boolean {
    if (this.#final || this.#ended) return false;
    this.#status = status;
    this.#latest = text;
    if (status >= 200) {
      this.#final = true;
      this.#request = undefined;
    }
    this.#send();
    if (!this.#final) return true;
    if (this.answerFlow.transport !== 'udp') this.#terminate();
    else {
      this.#end.cancel();
      this.#end = this.#environment.after(TRANSACTION_MS, () => this.#terminate());
    }
    return true;
  }

  repeated(): void {
    if (this.#latest === undefined) return;
    this.#environment.countRetransmission();
    this.#send();
  }

  close(): void {
    this.user = {};
    this.#terminate();
  }

  swallow(): void {
    this.#final = true;
    this.#request = undefined;
    this.#latest = undefined;
  }

  #send(): void {
    if (this.#latest === undefined) return;
    this.#environment.send(this.answerFlow, this.#latest, (error) => {
      if (error) this.user.failed?.(error);
    });
  }

  #terminate(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#latest = undefined;
    this.#request = undefined;
    this.#end.cancel();
    this.#environment.ended(this, this.#key);
    this.user.ended?.();
  }
}
