import type { SipMessage } from '../../message/sip-message';
import type { Timer } from '../clock';
import type { Flow, SendError } from '../transport/flow';
import type { ClientEnvironment, ClientTransaction, ClientUser } from './client-transaction';
import type { Outgoing } from './outgoing';
import { T1, T2, T4, TRANSACTION_MS } from './timers';

/**
 * The non-INVITE client transaction (RFC 3261 §17.1.2).
 *
 *     trying ──1xx──▶ proceeding ──final──▶ completed ──K──▶ terminated
 *        ╰────────────F, send failure──────────────────────▶ terminated
 */
export class NonInviteClient implements ClientTransaction {
  readonly method: string;
  readonly branch: string;
  readonly flow: Flow;
  readonly #user: ClientUser;
  readonly #environment: ClientEnvironment;
  #text: string;
  #state: 'trying' | 'proceeding' | 'completed' | 'terminated' = 'trying';
  #retransmit: Timer | undefined;
  #end: Timer | undefined;

  constructor(request: Outgoing, flow: Flow, user: ClientUser, environment: ClientEnvironment) {
    this.method = request.method;
    this.branch = request.branch;
    this.flow = flow;
    this.#text = request.text;
    this.#user = user;
    this.#environment = environment;
  }

  get pending(): boolean {
    return this.#state === 'trying' || this.#state === 'proceeding';
  }

  get proceeding(): boolean {
    return this.#state === 'proceeding';
  }

  /** `patience` in milliseconds: timer F, or less. */
  start(patience: number = TRANSACTION_MS): void {
    this.#end = this.#environment.after(patience, () => this.#fail('timeout'));
    if (this.flow.transport === 'udp') this.#armRetransmit(T1);
    this.#send();
  }

  receive(message: SipMessage, from: Flow): void {
    if (!this.pending) return;
    if (message.status < 200) {
      this.#state = 'proceeding';
      this.#user.answer(message, from);
      return;
    }
    this.#state = 'completed';
    this.#text = '';
    this.#stopRetransmitting();
    this.#end?.cancel();
    this.#user.answer(message, from);
    if (this.flow.transport === 'udp') this.#end = this.#environment.after(T4, () => this.#terminate());
    else this.#terminate();
  }

  undelivered(error: SendError): boolean {
    if (this.#state !== 'trying') return false;
    this.#fail(error);
    return true;
  }

  flowClosed(error: SendError): void {
    this.undelivered(error);
  }

  /** A CANCEL would have no effect on a request other than INVITE (RFC 3261 §9.1): does nothing. */
  cancel(): void {
    // Nothing to do.
  }

  close(): void {
    this.#terminate();
  }

  abandon(): void {
    if (!this.pending) return;
    // Late answers still find the transaction, so that nobody takes them for stray ones.
    this.#state = 'completed';
    this.#text = '';
    this.#stopRetransmitting();
    this.#end?.cancel();
    this.#end = this.#environment.after(TRANSACTION_MS, () => this.#terminate());
  }

  #stopRetransmitting(): void {
    this.#retransmit?.cancel();
    this.#retransmit = undefined;
  }

  #armRetransmit(interval: number): void {
    this.#retransmit = this.#environment.after(interval, () => {
      this.#environment.countRetransmission();
      this.#send();
      this.#armRetransmit(this.#state === 'proceeding' ? T2 : Math.min(interval * 2, T2));
    });
  }

  #send(): void {
    this.#environment.send(this.flow, this.#text, (error) => {
      if (error) this.#fail(error);
    });
  }

  #fail(reason: 'timeout' | SendError): void {
    if (!this.pending) return;
    this.#terminate();
    this.#user.failed(reason);
  }

  #terminate(): void {
    if (this.#state === 'terminated') return;
    this.#state = 'terminated';
    this.#text = '';
    this.#stopRetransmitting();
    this.#end?.cancel();
    this.#environment.ended(this);
  }
}
