import type { Timer } from '../clock';
import type { Flow } from '../transport/flow';
import { answerText } from '../wire/answer';
import type { Inbound } from '../wire/inbound';
import type { ServerEnvironment, ServerStart, ServerTransaction, ServerUser } from './server-transaction';
import { T1, T2, T4, TRANSACTION_MS, WATCH_MS } from './timers';

/**
 * The INVITE server transaction (RFC 3261 §17.2.1 with RFC 6026).
 *
 *     proceeding ──2xx──▶ accepted ──L──▶ terminated
 *          ╰──300-699──▶ completed ──ACK──▶ confirmed ──I──▶ terminated
 *                            ╰──H──▶ terminated
 *
 * The RFC has no timer in proceeding: who took the request answers it, which may take as long as a phone rings. The last
 * resort, should its owner be gone without an answer, is 500 at the next look (WATCH_MS).
 */
export class InviteServer implements ServerTransaction {
  readonly method = 'INVITE';
  readonly id: string;
  readonly answerFlow: Flow;
  readonly source: string;
  readonly size: number;
  readonly toTag: string;
  user: ServerUser = {};
  readonly #key: string;
  readonly #environment: ServerEnvironment;
  #request: Inbound | undefined;
  #state: 'proceeding' | 'accepted' | 'completed' | 'confirmed' | 'terminated' = 'proceeding';
  #status = 0;
  #latest: string | undefined;
  #retransmit: Timer | undefined;
  #end: Timer | undefined;
  #cancelled = false;

  constructor(start: ServerStart, environment: ServerEnvironment) {
    this.id = start.id;
    this.answerFlow = start.answerFlow;
    this.source = start.request.flow.address;
    this.size = start.request.size;
    this.toTag = start.toTag;
    this.#key = start.key;
    this.#request = start.request;
    this.#environment = environment;
    this.#watch();
  }

  get request(): Inbound | undefined {
    return this.#request;
  }

  get status(): number {
    return this.#status;
  }

  respond(status: number, text: string): boolean {
    if (status < 300 && status >= 200) return this.#accept(status, text);
    if (this.#state !== 'proceeding') return false;
    this.#status = status;
    this.#latest = text;
    if (status >= 300) this.#refuse();
    this.#send(text);
    return true;
  }

  repeated(): void {
    if (this.#latest === undefined) return;
    // Accepted: whoever sent the 2xx repeats it until the ACK comes (RFC 6026 §7.1).
    if (this.#state !== 'proceeding' && this.#state !== 'completed') return;
    this.#environment.countRetransmission();
    this.#send(this.#latest);
  }

  close(): void {
    this.user = {};
    this.#terminate();
  }

  swallow(): void {
    if (this.#state !== 'proceeding') return;
    this.#state = 'confirmed';
    this.#latest = undefined;
    this.#release();
    this.#end?.cancel();
    this.#end = this.#environment.after(TRANSACTION_MS, () => this.#terminate());
  }

  /** The caller's CANCEL, answered by the layer. */
  cancel(cancel: Inbound): void {
    if (this.#state !== 'proceeding' || this.#cancelled) return;
    this.#cancelled = true;
    this.user.cancelled?.(cancel);
  }

  /** An ACK that matches by the transaction's key. */
  acknowledge(ack: Inbound): void {
    if (this.#state === 'accepted') this.user.acknowledged?.(ack);
    if (this.#state !== 'completed') return;
    this.#state = 'confirmed';
    this.#latest = undefined;
    this.#stopRetransmitting();
    this.#end?.cancel();
    if (this.answerFlow.transport === 'udp') this.#end = this.#environment.after(T4, () => this.#terminate());
    else this.#terminate();
  }

  #accept(status: number, text: string): boolean {
    if (this.#state === 'proceeding') {
      this.#state = 'accepted';
      this.#status = status;
      this.#latest = undefined;
      this.#release();
      this.#end?.cancel();
      this.#end = this.#environment.after(TRANSACTION_MS, () => this.#terminate());
    } else if (this.#state !== 'accepted') return false;
    // Every 2xx passes, also a second one from another branch.
    this.#send(text);
    return true;
  }

  #refuse(): void {
    this.#state = 'completed';
    this.#release();
    if (this.answerFlow.transport === 'udp') this.#armRetransmit(T1);
    this.#end?.cancel();
    this.#end = this.#environment.after(TRANSACTION_MS, () => {
      this.#terminate();
      this.user.failed?.('timeout');
    });
  }

  #watch(): void {
    this.#end = this.#environment.after(WATCH_MS, () => {
      if (this.user.waiting?.() === true) this.#watch();
      else this.#abandon();
    });
  }

  #abandon(): void {
    this.#environment.countAbandoned();
    const { request, toTag } = this;
    if (request) this.respond(500, answerText(request.message, { status: 500, toTag }));
    else this.#terminate();
  }

  #stopRetransmitting(): void {
    this.#retransmit?.cancel();
    this.#retransmit = undefined;
  }

  #armRetransmit(interval: number): void {
    this.#retransmit = this.#environment.after(interval, () => {
      if (this.#latest === undefined) return;
      this.#environment.countRetransmission();
      this.#send(this.#latest);
      this.#armRetransmit(Math.min(interval * 2, T2));
    });
  }

  #send(text: string): void {
    this.#environment.send(this.answerFlow, text, (error) => {
      if (error) this.user.failed?.(error);
    });
  }

  /** The request is not needed any more: memory for 32 s of calls is what counts. */
  #release(): void {
    this.#request = undefined;
  }

  #terminate(): void {
    if (this.#state === 'terminated') return;
    this.#state = 'terminated';
    this.#latest = undefined;
    this.#stopRetransmitting();
    this.#end?.cancel();
    this.#environment.ended(this, this.#key);
    this.user.ended?.();
  }
}
