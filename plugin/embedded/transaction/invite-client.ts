import type { SipMessage } from '../../message/sip-message';
import type { Timer } from '../clock';
import type { Flow, SendError } from '../transport/flow';
import type { Line } from '../wire/text';
import type { ClientEnvironment, ClientTransaction, ClientUser } from './client-transaction';
import { ackText, type Outgoing } from './outgoing';
import { T1, TIMER_D_MS, TRANSACTION_MS } from './timers';

/**
 * The INVITE client transaction (RFC 3261 §17.1.1 with RFC 6026).
 *
 *     calling ──1xx──▶ proceeding ──2xx──▶ accepted ──M──▶ terminated
 *        │                  │  ╰─300-699─▶ completed ──D──▶ terminated
 *        ╰─B, send failure─▶ terminated
 */
export class InviteClient implements ClientTransaction {
  readonly method = 'INVITE';
  readonly branch: string;
  readonly flow: Flow;
  /** Gone once a final answer came: nothing is sent again then but an ACK. */
  #request: Outgoing | undefined;
  readonly #user: ClientUser;
  readonly #environment: ClientEnvironment;
  #state: 'calling' | 'proceeding' | 'accepted' | 'completed' | 'terminated' = 'calling';
  #retransmit: Timer | undefined;
  #end: Timer | undefined;
  #ack: string | undefined;
  #cancelled: readonly Line[] | undefined;
  #cancelSent = false;
  /** A provisional answer other than 100 came: who gave it sends the final one over a connection anew (RFC 3261 §18.2.2). */
  #hasRung = false;

  constructor(request: Outgoing, flow: Flow, user: ClientUser, environment: ClientEnvironment) {
    this.#request = request;
    this.branch = request.branch;
    this.flow = flow;
    this.#user = user;
    this.#environment = environment;
  }

  get request(): Outgoing | undefined {
    return this.#request;
  }

  get pending(): boolean {
    return this.#state === 'calling' || this.#state === 'proceeding';
  }

  get proceeding(): boolean {
    return this.#state === 'proceeding';
  }

  start(): void {
    this.#end = this.#environment.after(TRANSACTION_MS, () => this.#fail('timeout'));
    if (this.flow.transport === 'udp') this.#armRetransmit(T1);
    this.#send();
  }

  receive(message: SipMessage, from: Flow): void {
    const { status } = message;
    if (status < 200) this.#provisional(message, from);
    else if (status < 300) this.#success(message, from);
    else this.#refusal(message, from);
  }

  undelivered(error: SendError): boolean {
    if (this.#state !== 'calling') return false;
    this.#fail(error);
    return true;
  }

  flowClosed(error: SendError): void {
    if (!this.#hasRung) this.#fail(error);
  }

  cancel(extra: readonly Line[] = []): void {
    if (!this.pending || this.#cancelled) return;
    this.#cancelled = extra;
    if (this.#state === 'proceeding') this.#sendCancel();
  }

  close(): void {
    this.#terminate();
  }

  abandon(): void {
    this.cancel();
  }

  #stopRetransmitting(): void {
    this.#retransmit?.cancel();
    this.#retransmit = undefined;
  }

  #armRetransmit(interval: number): void {
    this.#retransmit = this.#environment.after(interval, () => {
      this.#environment.countRetransmission();
      this.#send();
      this.#armRetransmit(interval * 2);
    });
  }

  #send(): void {
    if (!this.#request) return;
    this.#environment.send(this.flow, this.#request.text, (error) => {
      if (error && this.#state === 'calling') this.#fail(error);
    });
  }

  #provisional(message: SipMessage, from: Flow): void {
    if (!this.pending) return;
    this.#hasRung ||= message.status > 100;
    if (this.#state === 'calling') {
      this.#state = 'proceeding';
      this.#stopRetransmitting();
      this.#end?.cancel();
      if (this.#cancelled) this.#sendCancel();
    }
    this.#user.answer(message, from);
  }

  #success(message: SipMessage, from: Flow): void {
    if (this.pending) {
      this.#state = 'accepted';
      this.#request = undefined;
      this.#stopRetransmitting();
      this.#end?.cancel();
      this.#end = this.#environment.after(TRANSACTION_MS, () => this.#terminate());
    }
    if (this.#state === 'accepted') this.#user.answer(message, from);
  }

  #refusal(message: SipMessage, from: Flow): void {
    if (this.pending) {
      this.#state = 'completed';
      this.#stopRetransmitting();
      this.#end?.cancel();
      if (this.#request) this.#ack = ackText(this.#request, message);
      this.#request = undefined;
      if (this.#ack !== undefined) this.#environment.send(this.flow, this.#ack);
      this.#user.answer(message, from);
      if (this.flow.transport === 'udp')
        this.#end = this.#environment.after(TIMER_D_MS, () => this.#terminate());
      else this.#terminate();
    } else if (this.#state === 'completed' && this.#ack !== undefined)
      this.#environment.send(this.flow, this.#ack);
  }

  #sendCancel(): void {
    if (this.#cancelSent) return;
    this.#cancelSent = true;
    this.#environment.sendCancel(this, this.#cancelled ?? []);
    this.#end?.cancel();
    this.#end = this.#environment.after(TRANSACTION_MS, () => this.#fail('timeout'));
  }

  #fail(reason: 'timeout' | SendError): void {
    if (!this.pending) return;
    this.#terminate();
    this.#user.failed(reason);
  }

  #terminate(): void {
    if (this.#state === 'terminated') return;
    this.#state = 'terminated';
    this.#request = undefined;
    this.#stopRetransmitting();
    this.#end?.cancel();
    this.#environment.ended(this);
  }
}
