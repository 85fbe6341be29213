import type { SipMessage } from '../../message/sip-message';
import type { Clock, Timer } from '../clock';
import type { ClientTransaction, ClientUser } from '../transaction/client-transaction';
import { TIMER_C_MS, TRANSACTION_MS } from '../transaction/timers';
import type { SendError, Flow } from '../transport/flow';

/** How long a target is waited for; milliseconds, absent: as long as the protocol says. */
export interface Patience {
  /** Without any answer; INVITE only. */
  readonly provisional: number | undefined;
  /** Without a final answer. */
  readonly final: number | undefined;
}

export interface BranchSink {
  provisional(branch: Branch, message: SipMessage): void;
  /** A 2xx: the first, or one that comes again or late. */
  success(branch: Branch, message: SipMessage, from: Flow): void;
  /** A final answer from 300 to 699. */
  refused(branch: Branch, message: SipMessage, from: Flow): void;
  /** No answer in time (408), no way to it (503), or its flow is gone (430). */
  lost(branch: Branch, status: 408 | 430 | 503, reason: string): void;
}

/** One target of a proxied request. */
export class Branch {
  readonly target: string;
  readonly #clock: Clock;
  readonly #sink: BranchSink;
  #client: ClientTransaction | undefined;
  #lookUpTimer: Timer | undefined;
  #provisionalTimer: Timer | undefined;
  #finalTimer: Timer | undefined;
  #timerC: Timer | undefined;
  #ended = false;
  #givenUp = false;
  #started = false;

  constructor(target: string, clock: Clock, sink: BranchSink) {
    this.target = target;
    this.#clock = clock;
    this.#sink = sink;
  }

  get started(): boolean {
    return this.#started;
  }

  /** Sent (or being looked up), and neither answered nor given up. */
  get active(): boolean {
    return this.#started && !this.#ended && !this.#givenUp;
  }

  /** A provisional answer came: its CANCEL will be answered. */
  get proceeding(): boolean {
    return this.#client?.proceeding ?? false;
  }

  /** From now on the target is being tried, even while its name is looked up. */
  begin(): void {
    this.#started = true;
  }

  /** The target's name is being looked up; no resolver is waited for without end. */
  lookUp(): void {
    this.#lookUpTimer = this.#clock.after(TRANSACTION_MS, () =>
      this.lose(503, 'its name was not found in time'),
    );
  }

  send(start: (user: ClientUser) => ClientTransaction | undefined, method: string, patience: Patience): void {
    if (this.#ended || this.#givenUp) return;
    this.#lookUpTimer?.cancel();
    const isInvite = method === 'INVITE';
    this.#client = start({
      answer: (message, from) => this.#answer(message, from, isInvite),
      failed: (reason) => this.#failed(reason),
    });
    if (!this.#client) {
      this.lose(503, 'too many transactions');
      return;
    }
    if (isInvite && patience.provisional !== undefined)
      this.#provisionalTimer = this.#clock.after(patience.provisional, () => this.#giveUp());
    if (patience.final !== undefined)
      this.#finalTimer = this.#clock.after(patience.final, () => this.#giveUp());
    if (isInvite) this.#armTimerC();
  }

  /** Ends the branch without having been answered. */
  lose(status: 408 | 430 | 503, reason: string): void {
    if (this.#ended) return;
    const told = !this.#givenUp;
    this.#end();
    if (told) this.#sink.lost(this, status, reason);
  }

  /** The caller gave up, or another target took the call. */
  cancel(): void {
    this.#stopTimers();
    if (this.#ended) return;
    if (this.#client) this.#client.cancel();
    // Not sent yet: nothing will come of it.
    else this.#ended = true;
  }

  /** Stops all timers of its own; answers that still come are passed on. */
  close(): void {
    this.#stopTimers();
  }

  #answer(message: SipMessage, from: Flow, isInvite: boolean): void {
    const { status } = message;
    if (status < 200) {
      this.#provisionalTimer?.cancel();
      if (this.#ended || this.#givenUp || status === 100) return;
      if (isInvite) this.#armTimerC();
      this.#sink.provisional(this, message);
    } else if (status < 300) {
      this.#end();
      this.#sink.success(this, message, from);
    } else {
      const told = !this.#ended && !this.#givenUp;
      this.#end();
      if (told) this.#sink.refused(this, message, from);
    }
  }

  #failed(reason: 'timeout' | SendError): void {
    if (reason === 'timeout') this.lose(408, 'no answer');
    else this.lose(reason.failure === 'flow_failed' ? 430 : 503, reason.message);
  }

  /** Waited long enough: the target is cancelled, and counts as one that never answered. */
  #giveUp(): void {
    if (this.#ended || this.#givenUp) return;
    this.#givenUp = true;
    this.cancel();
    this.#sink.lost(this, 408, 'no answer in time');
  }

  #armTimerC(): void {
    this.#timerC?.cancel();
    this.#timerC = this.#clock.after(TIMER_C_MS, () => this.#giveUp());
  }

  #stopTimers(): void {
    this.#lookUpTimer?.cancel();
    this.#provisionalTimer?.cancel();
    this.#finalTimer?.cancel();
    this.#timerC?.cancel();
    // A cancelled timer is not worth its memory for the rest of the transaction's life.
    this.#lookUpTimer = this.#provisionalTimer = this.#finalTimer = this.#timerC = undefined;
  }

  #end(): void {
    this.#ended = true;
    this.#stopTimers();
  }
}
