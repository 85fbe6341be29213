import type { Header, SipMessage } from '../../message/sip-message';
import type { Clock } from '../clock';
import type { Self } from '../core/self';
import type { ServerTransaction } from '../transaction/server-transaction';
import type { Outgoing } from '../transaction/outgoing';
import type { ClientTransaction, ClientUser } from '../transaction/client-transaction';
import type { Flow } from '../transport/flow';
import { answerText } from '../wire/answer';
import type { Inbound } from '../wire/inbound';
import { responseText } from '../wire/text';
import { bestEnding, withAllChallenges, type Ending } from './best-answer';
import { Branch, type Patience } from './branch';
import type { BranchSeal } from './branch-seal';
import {
  forwardedHeaders,
  forwardedRequest,
  routeLines,
  type HeaderOrders,
  type RouteMark,
} from './forwarding';
import { withoutTopVia } from './via-lines';

export interface SearchOptions {
  readonly targets: readonly string[];
  readonly simultaneous: boolean;
  readonly followRedirects: boolean;
  readonly patience: Patience;
  readonly headers: HeaderOrders;
  /** Stay on the path of the dialog. */
  readonly recordRoute: RouteMark | undefined;
  /** The statuses that try the next target; absent: every final answer over 299 but 401, 407 and 6xx. */
  readonly failover: ReadonlySet<number> | undefined;
}

/** What a search tells about its way. */
export interface SearchReport {
  /** A target's final answer. */
  answered(message: SipMessage, from: Flow): void;
  /** A target that gave none (408, 430, 503), or one that can't be passed on (502); with the request it was to answer. */
  lost(request: SipMessage, target: string, status: number, reason: string): void;
  /** The caller has (or needs) nothing more to hear. Told exactly once. */
  done(cancelled: boolean): void;
}

export interface SearchEnvironment {
  readonly clock: Clock;
  readonly self: Self;
  readonly branches: BranchSeal;
  /** Where a target is, seen from the entry address the request belongs to. */
  flowTo(target: string): Flow | undefined | Promise<Flow | undefined>;
  send(request: Outgoing, flow: Flow, user: ClientUser): ClientTransaction | undefined;
  /** Sends an answer outside the transaction. */
  sendStray(flow: Flow, text: string): void;
}

const MAX_REDIRECTS = 10;
const NOT_FOR_CALLER = 'its answer does not have the Via of the caller';
const RETRY_AFTER: Header = { name: 'Retry-After', key: 'retry-after', value: '10' };

/** An answer without any Via below ours must not be forwarded (RFC 3261 §16.7 item 3): nobody could take it. */
const isForCaller = (message: SipMessage): boolean => withoutTopVia(message) !== undefined;

/**
 * One proxied request: its targets, tried one after the other or all at once, and the answer the caller gets
 * (the response context of RFC 3261 §16.7).
 */
export class ProxySearch {
  readonly #transaction: ServerTransaction;
  /** Gone once all is said: the transactions below live on for half a minute. */
  #request: Inbound | undefined;
  readonly #options: SearchOptions;
  readonly #environment: SearchEnvironment;
  readonly #report: SearchReport;
  readonly #branches: Branch[];
  #headers: readonly Header[];
  readonly #endings: Ending[] = [];
  #searching = true;
  #cancelled = false;
  #answered = false;
  #done = false;

  constructor(
    transaction: ServerTransaction,
    request: Inbound,
    options: SearchOptions,
    environment: SearchEnvironment,
    report: SearchReport,
  ) {
    this.#transaction = transaction;
    this.#request = request;
    this.#options = options;
    this.#environment = environment;
    this.#report = report;
    this.#branches = options.targets.map((target) => this.#branch(target));
    this.#headers = forwardedHeaders(request.message, options.headers, environment.self);
  }

  start(): void {
    this.#next();
  }

  /** The caller's CANCEL (RFC 3261 §16.10). */
  cancel(): void {
    if (this.#cancelled || this.#answered) return;
    this.#cancelled = true;
    this.#searching = false;
    const ringing = this.#branches.some((branch) => branch.active && branch.proceeding);
    for (const branch of this.#branches) branch.cancel();
    // Where nobody has answered yet, nobody can say 487: the caller need not wait for it.
    if (ringing) return;
    this.#answerOwn(487);
    this.#finished();
  }

  /** Ends the timers; the transactions end by themselves. */
  close(): void {
    for (const branch of this.#branches) branch.close();
  }

  #branch(target: string): Branch {
    return new Branch(target, this.#environment.clock, {
      provisional: (_, message) => this.#forward(message),
      success: (branch, message, from) => this.#success(branch, message, from),
      refused: (branch, message, from) => this.#refused(branch, message, from),
      lost: (branch, status, reason) => this.#lost(branch, status, reason),
    });
  }

  /** Starts the next target, or all; when none is left and none is under way, the caller gets the best answer. */
  #next(): void {
    if (this.#searching) {
      for (const branch of this.#branches) {
        if (branch.started) continue;
        this.#begin(branch);
        if (!this.#options.simultaneous) break;
      }
    }
    if (!this.#branches.some((branch) => branch.active)) this.#finish();
  }

  #begin(branch: Branch): void {
    branch.begin();
    const flow = this.#environment.flowTo(branch.target);
    if (flow instanceof Promise) this.#sendOnceFound(branch, flow);
    else this.#send(branch, flow);
  }

  #sendOnceFound(branch: Branch, flow: Promise<Flow | undefined>): void {
    branch.lookUp();
    void flow.then((found) => this.#send(branch, found));
  }

  #send(branch: Branch, flow: Flow | undefined): void {
    if (!flow) {
      // Not at once: the search may still be starting its other targets.
      queueMicrotask(() => branch.lose(503, 'no way to the target'));
      return;
    }
    if (!this.#searching || !this.#request) {
      branch.lose(408, 'the search is over');
      return;
    }
    const { message, flow: from } = this.#request;
    const { recordRoute, patience } = this.#options;
    const mark = recordRoute ? routeLines(message.method, from, flow, recordRoute) : [];
    const request = forwardedRequest(
      message,
      [...mark, ...this.#headers],
      { uri: branch.target, flow, requestUri: this.#options.headers.requestUri },
      this.#environment,
    );
    branch.send((user) => this.#environment.send(request, flow, user), message.method, patience);
  }

  #success(branch: Branch, message: SipMessage, from: Flow): void {
    this.#stop(branch);
    if (!isForCaller(message)) {
      this.#lost(branch, 502, NOT_FOR_CALLER);
      return;
    }
    this.#forward(message);
    if (this.#done) return;
    this.#report.answered(message, from);
    this.#finished();
  }

  #refused(branch: Branch, message: SipMessage, from: Flow): void {
    const { status } = message;
    if (status >= 600) this.#stop(branch);
    if (!isForCaller(message)) {
      this.#lost(branch, 502, NOT_FOR_CALLER);
      return;
    }
    this.#endings.push({ status, message });
    if (!this.#done) this.#report.answered(message, from);
    if (status >= 300 && status < 400 && this.#options.followRedirects) this.#redirect(branch, message);
    if (!this.#moveOn(status)) this.#searching = false;
    this.#next();
  }

  /** No target but this one is tried any more. */
  #stop(branch: Branch): void {
    this.#searching = false;
    for (const other of this.#branches) if (other !== branch) other.cancel();
  }

  #lost(branch: Branch, status: 408 | 430 | 502 | 503, reason: string): void {
    this.#endings.push({ status, message: undefined });
    if (this.#request) this.#report.lost(this.#request.message, branch.target, status, reason);
    this.#next();
  }

  #moveOn(status: number): boolean {
    if (this.#options.simultaneous) return true;
    if (this.#options.followRedirects && status < 400) return true;
    const { failover } = this.#options;
    return failover ? failover.has(status) : status !== 401 && status !== 407;
  }

  #redirect(branch: Branch, message: SipMessage): void {
    const at = this.#branches.indexOf(branch) + 1;
    const known = new Set(this.#branches.map(({ target }) => target));
    const room = Math.max(0, this.#options.targets.length + MAX_REDIRECTS - this.#branches.length);
    const targets = message.contacts.map(({ uri }) => uri).filter((uri) => uri !== '*' && !known.has(uri));
    this.#branches.splice(at, 0, ...targets.slice(0, room).map((target) => this.#branch(target)));
  }

  #finish(): void {
    if (this.#done) return;
    if (!this.#answered) {
      const best = bestEnding(this.#endings);
      if (best?.message) this.#forward(withAllChallenges(best.message, this.#endings));
      else if (this.#cancelled) this.#answerOwn(487);
      // The flow is gone (RFC 5626 §5.3) and nobody else has it, or the answer is lost on its way (RFC 3261 §21.5.3).
      else if (best?.status === 430 || best?.status === 502) this.#answerOwn(best.status);
      // Failover was asked for and reached nobody: the caller is told when to come again.
      else if (this.#options.failover) this.#answerOwn(503, [RETRY_AFTER]);
      else if (this.#transaction.method === 'INVITE') this.#answerOwn(best?.status ?? 500);
      // A proxy makes no 408 for other methods (RFC 4320 §4.2): nobody listens any more.
      else if (best && best.status !== 408) this.#answerOwn(best.status);
    }
    this.#finished();
  }

  #finished(): void {
    if (this.#done) return;
    this.#done = true;
    this.#searching = false;
    this.#request = undefined;
    this.#headers = [];
    this.#endings.length = 0;
    this.#report.done(this.#cancelled);
  }

  #answerOwn(status: number, lines: readonly Header[] = []): void {
    if (this.#answered || !this.#request) return;
    this.#answered = true;
    const { toTag } = this.#transaction;
    this.#transaction.respond(status, answerText(this.#request.message, { status, toTag, lines }));
  }

  /** Passes an answer to the caller (§16.7 items 3 and 9). */
  #forward(message: SipMessage): void {
    const { status } = message;
    const isSuccess = status >= 200 && status < 300;
    if (this.#answered && !isSuccess) return;
    const lines = withoutTopVia(message);
    if (!lines) return;
    if (status >= 200) this.#answered = true;
    const text = responseText(status, message.reason, lines, message.body);
    // A 2xx to an INVITE always passes, even when the caller was already told something else.
    if (!this.#transaction.respond(status, text) && isSuccess && this.#transaction.method === 'INVITE')
      this.#environment.sendStray(this.#transaction.answerFlow, text);
  }
}
