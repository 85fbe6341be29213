// User agents that call each other at random: they hang up, cancel, refuse, re-INVITE with and without offer, cross each
// other's requests. What each call is to do stands in its X-Plan header, so that a missing header shows, too.
import { GIVE_UP_MS, LossyTransactions, tagOf, write } from './lossy-transactions.mjs';
import { token } from './random.mjs';

const SDP_TYPE = ['Content-Type', 'application/sdp'];
const PAUSE_BEFORE_ACTIONS_MS = 20;
/** A call nobody answers is cancelled long before. */
const RINGS_FOR_EVER_MS = 60_000;

export const planText = (plan) =>
  Object.entries(plan)
    .map(([name, value]) => `${name}=${value}`)
    .join(';');
const planOf = (text) =>
  Object.fromEntries(
    (text ?? '')
      .split(';')
      .map((part) => part.split('='))
      .map(([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value]),
  );

/** What both sides of all calls count. */
export class Tally {
  outcomes = {};
  inDialog = {};
  /** What must never be, by its name. */
  faults = {};
  examples = [];
  /** Calls that one of their ends is about to leave or has left, for a while. */
  #ending = new Map();

  outcome(name) {
    this.outcomes[name] = (this.outcomes[name] ?? 0) + 1;
  }

  answered(call, method, status) {
    const key = `${method} ${status}${this.#ending.has(call) ? ' at the end' : ''}`;
    this.inDialog[key] = (this.inDialog[key] ?? 0) + 1;
  }

  fault(name, call) {
    this.faults[name] = (this.faults[name] ?? 0) + 1;
    if (this.examples.length < 20) this.examples.push(`${name}: ${call}`);
  }

  ends(call) {
    this.#ending.set(call, Date.now());
    for (const [one, at] of this.#ending) {
      if (Date.now() - at < 2 * GIVE_UP_MS) break;
      this.#ending.delete(one);
    }
  }
}

/** One user agent with many calls. */
export class Agent {
  /** By Call-ID and own tag: those that are not over. */
  calls = new Map();
  #session = 0;

  static async open({ name, address, loss, random, server, tally }) {
    const agent = new Agent();
    const transactions = await LossyTransactions.open({ address, loss, random });
    Object.assign(agent, { name, transactions, random, server, tally });
    transactions.onRequest = (message, transaction) => agent.#onRequest(message, transaction);
    transactions.onAck = (message) => agent.#onAck(message);
    return agent;
  }

  get contact() {
    return `<sip:${this.name}@${this.transactions.hostport}>`;
  }

  close() {
    this.transactions.close();
  }

  /** Calls `user`; the plan says what both ends do. */
  call(user, plan) {
    const call = this.#newCall({
      id: plan.id,
      plan,
      callId: `${token(this.random)}${token(this.random)}@${this.name}`,
      localTag: token(this.random),
      local: `<sip:${this.name}@example.com>`,
      remote: `<sip:${user}@example.com>`,
    });
    const hasOffer = plan.late !== 1;
    const text = this.#requestText(call, 'INVITE', `sip:${user}@example.com`, {
      headers: [['X-Plan', planText(plan)], ...(hasOffer ? [SDP_TYPE] : [])],
      body: hasOffer ? this.#sdp() : '',
    });
    call.invite = { text, sequence: call.sequence, hasOffer, isFinal: false };
    call.invite.client = this.transactions.request(text, this.server, (answer) =>
      this.#onInviteAnswer(call, call.invite, answer),
    );
    if (plan.cancel !== undefined)
      this.transactions.after(plan.cancel, () => {
        call.wantsCancel = true;
        this.#cancelIfPossible(call);
      });
    this.transactions.after(RINGS_FOR_EVER_MS, () => {
      if (!call.invite.isFinal && call.state !== 'over') this.#stuck(call, 'INVITE never ended');
    });
  }

  #newCall(parts) {
    const call = { sequence: 0, state: 'early', isOwnInvite: false, ...parts };
    this.calls.set(`${call.callId} ${call.localTag}`, call);
    return call;
  }

  #over(call) {
    call.state = 'over';
    this.calls.delete(`${call.callId} ${call.localTag}`);
  }

  #stuck(call, why) {
    this.tally.fault(`${this.name}: ${why}`, `${call.id} ${planText(call.plan)} ${call.callId}`);
    this.#over(call);
  }

  #sdp() {
    return `v=0\r\no=${this.name} ${++this.#session} 1 IN IP4 192.0.2.1\r\ns=-\r\nt=0 0\r\n`;
  }

  #requestText(
    call,
    method,
    uri,
    { headers = [], body = '', sequence = ++call.sequence, branch = this.transactions.newBranch() } = {},
  ) {
    const remote = call.remoteTag === undefined ? call.remote : `${call.remote};tag=${call.remoteTag}`;
    return write(
      `${method} ${uri} SIP/2.0`,
      [
        ['Via', `SIP/2.0/UDP ${this.transactions.hostport};branch=${branch};rport`],
        ['Max-Forwards', '70'],
        ['From', `${call.local};tag=${call.localTag}`],
        ['To', remote],
        ['Call-ID', call.callId],
        ['CSeq', `${sequence} ${method}`],
        ['Contact', this.contact],
        ...headers,
      ],
      body,
    );
  }

  #cancelIfPossible(call) {
    const { invite } = call;
    if (!call.wantsCancel || !invite.isProceeding || invite.isFinal || invite.isCancelled) return;
    invite.isCancelled = true;
    this.tally.ends(call.id);
    const text = invite.text
      .replace(/^INVITE/, 'CANCEL')
      .replace(/^CSeq: .*$/m, `CSeq: ${invite.sequence} CANCEL`)
      .replace(/^Contact: .*\r\n/m, '')
      .replace(/^Content-Type: .*\r\n/m, '')
      .replace(/^Content-Length: [^]*$/m, 'Content-Length: 0\r\n\r\n');
    this.transactions.request(text, this.server, () => undefined);
    this.transactions.after(GIVE_UP_MS, () => {
      if (!invite.isFinal) this.#stuck(call, 'no final answer after CANCEL');
    });
  }

  #onInviteAnswer(call, invite, answer) {
    if (answer === undefined) {
      if (!invite.isFinal && call.state !== 'over') this.#stuck(call, 'INVITE without any answer');
      invite.isFinal = true;
      return;
    }
    if (answer.status < 200) {
      invite.isProceeding = true;
      this.#cancelIfPossible(call);
      return;
    }
    if (invite.ack !== undefined) {
      this.transactions.send(invite.ack, this.server);
      return;
    }
    invite.isFinal = true;
    if (answer.status >= 300) {
      this.tally.outcome(`${answer.status}${invite.isCancelled ? ' after CANCEL' : ''}`);
      this.#over(call);
      return;
    }
    call.remoteTag = tagOf(answer.get('to'));
    this.#learnTarget(call, answer);
    invite.ack = this.#ack(call, invite, answer);
    this.tally.outcome(invite.isCancelled ? '200 after CANCEL' : '200');
    if (invite.isCancelled) this.#hangUp(call);
    else this.#up(call);
  }

  #ack(call, invite, answer) {
    if (answer.body === '') this.tally.fault(`${this.name}: 2xx without session`, call.callId);
    const ack = this.#requestText(call, 'ACK', call.target, {
      sequence: invite.sequence,
      ...(invite.hasOffer ? {} : { headers: [SDP_TYPE], body: this.#sdp() }),
    });
    this.transactions.send(ack, this.server);
    return ack;
  }

  #learnTarget(call, message) {
    const uri = /<([^>]+)>/.exec(message.get('contact') ?? '')?.[1];
    if (uri !== undefined) call.target = uri;
  }

  /** The call is up: some requests, then somebody hangs up, or both do. */
  #up(call) {
    if (call.state !== 'early') return;
    call.state = 'up';
    const { hold = 0, by = 'caller', acts = 0 } = call.plan;
    for (let i = 0; i < acts; i++)
      this.transactions.after(PAUSE_BEFORE_ACTIONS_MS + this.random() * hold, () => this.#act(call));
    if (by === 'both' || by === this.name) this.transactions.after(hold, () => this.#hangUpWhenAllowed(call));
  }

  #act(call) {
    if (call.state !== 'up' || call.isOwnInvite || call.unacknowledged !== undefined) return;
    const dice = this.random();
    if (dice < 0.35) this.#reinvite(call, true);
    else if (dice < 0.6) this.#reinvite(call, false);
    else if (dice < 0.8) this.#ask(call, 'INFO');
    else this.#ask(call, 'UPDATE', { headers: [SDP_TYPE], body: this.#sdp() });
  }

  #reinvite(call, hasOffer) {
    const text = this.#requestText(
      call,
      'INVITE',
      call.target,
      hasOffer ? { headers: [SDP_TYPE], body: this.#sdp() } : {},
    );
    const invite = { sequence: call.sequence, hasOffer, ack: undefined };
    call.isOwnInvite = true;
    const client = this.transactions.request(text, this.server, (answer) => {
      if (answer !== undefined && answer.status < 200) return;
      if (invite.ack !== undefined) {
        this.transactions.send(invite.ack, this.server);
        return;
      }
      call.isOwnInvite = false;
      if (answer === undefined) {
        // Both sides may forget what they asked once the call is over.
        if (call.state === 'up') this.tally.fault(`${this.name}: re-INVITE without answer`, call.callId);
      } else this.tally.answered(call.id, hasOffer ? 're-INVITE' : 're-INVITE without offer', answer.status);
      if (answer?.status < 300) {
        this.#learnTarget(call, answer);
        invite.ack = this.#ack(call, invite, answer);
      }
    });
    this.transactions.after(RINGS_FOR_EVER_MS, () => {
      if (call.isOwnInvite && invite.sequence === call.sequence && call.state === 'up')
        this.tally.fault(`${this.name}: re-INVITE never ended`, call.callId);
      client.end();
    });
  }

  #ask(call, method, parts = {}) {
    this.transactions.request(this.#requestText(call, method, call.target, parts), this.server, (answer) => {
      if (answer === undefined) this.tally.fault(`${this.name}: ${method} without answer`, call.callId);
      else if (answer.status >= 200) this.tally.answered(call.id, method, answer.status);
    });
  }

  /** The called side may not hang up before the ACK (RFC 3261 §15). */
  #hangUpWhenAllowed(call) {
    if (call.state !== 'up') return;
    if (call.unacknowledged !== undefined) this.transactions.after(100, () => this.#hangUpWhenAllowed(call));
    else this.#hangUp(call);
  }

  #hangUp(call) {
    call.state = 'ending';
    this.tally.ends(call.id);
    this.transactions.request(this.#requestText(call, 'BYE', call.target), this.server, (answer) => {
      if (answer === undefined) this.#stuck(call, 'BYE without answer');
      else if (answer.status >= 200) {
        this.tally.answered(call.id, 'BYE', answer.status);
        this.#over(call);
      }
    });
  }

  #onRequest(message, transaction) {
    const call = this.calls.get(`${message.get('call-id')} ${tagOf(message.get('to'))}`);
    if (tagOf(message.get('to')) === undefined && message.method === 'INVITE')
      this.#onCall(message, transaction);
    else if (call === undefined) transaction.respond(481, 'Call/Transaction Does Not Exist');
    else this.#onInDialog(call, message, transaction);
  }

  #onCall(message, transaction) {
    const plan = planOf(message.get('x-plan'));
    if (plan.id === undefined) this.tally.fault(`${this.name}: INVITE without plan`, message.get('call-id'));
    const call = this.#newCall({
      id: plan.id,
      plan,
      callId: message.get('call-id'),
      localTag: transaction.tag,
      remoteTag: tagOf(message.get('from')),
      local: message.get('to'),
      remote: message.get('from').replace(/;\s*tag=[^;]*/i, ''),
    });
    this.#learnTarget(call, message);
    transaction.cancelled = () => {
      transaction.respond(487, 'Request Terminated');
      this.#over(call);
    };
    transaction.respond(180, 'Ringing', { headers: [['Contact', this.contact]] });
    this.transactions.after(RINGS_FOR_EVER_MS, () => {
      if (call.state !== 'early' || transaction.status >= 200) return;
      this.#stuck(call, 'rings for ever');
      transaction.respond(480, 'Temporarily Unavailable');
    });
    if (plan.answer === undefined) return;
    this.transactions.after(plan.ring ?? 0, () => {
      if (call.state !== 'early' || transaction.status >= 200) return;
      if (plan.answer === 200) this.#accept(call, message, transaction);
      else {
        transaction.respond(plan.answer, 'No');
        this.#over(call);
      }
    });
  }

  /** Says 200 to an INVITE and waits for its ACK. */
  #accept(call, message, transaction) {
    call.unacknowledged = { transaction, sequence: message.sequence, wantsAnswer: message.body === '' };
    transaction.respond(200, 'OK', {
      headers: [['Contact', this.contact], SDP_TYPE],
      body: this.#sdp(),
      onNoAck: () => {
        if (call.state === 'over') return;
        this.tally.fault(
          `${this.name}: no ACK (${call.state})`,
          `${call.id} ${planText(call.plan)} ${call.callId}`,
        );
        // RFC 3261 §13.3.1.4: then the called side hangs up.
        if (call.state !== 'ending') this.#hangUp(call);
      },
    });
  }

  #onAck(message) {
    const call = this.calls.get(`${message.get('call-id')} ${tagOf(message.get('to'))}`);
    const waiting = call?.unacknowledged;
    if (waiting === undefined || waiting.sequence !== message.sequence) return;
    call.unacknowledged = undefined;
    this.transactions.acknowledged(waiting.transaction);
    if (waiting.wantsAnswer && message.body === '') this.#expectEnd(call);
    this.#up(call);
  }

  /** A 2xx nobody waited for any more is acknowledged without an answer to its offer, and hung up. */
  #expectEnd(call) {
    this.transactions.after(GIVE_UP_MS, () => {
      if (call.state === 'up')
        this.tally.fault(`${this.name}: ACK without answer`, `${planText(call.plan)} ${call.callId}`);
    });
  }

  #onInDialog(call, message, transaction) {
    if (message.method === 'BYE') {
      this.tally.ends(call.id);
      if (call.unacknowledged !== undefined) this.transactions.acknowledged(call.unacknowledged.transaction);
      transaction.respond(200, 'OK');
      this.#over(call);
      return;
    }
    if (message.method !== 'INVITE') {
      const isUpdate = message.method === 'UPDATE';
      transaction.respond(
        200,
        'OK',
        isUpdate ? { headers: [['Contact', this.contact], SDP_TYPE], body: this.#sdp() } : {},
      );
      return;
    }
    if (call.isOwnInvite) transaction.respond(491, 'Request Pending');
    else if (call.unacknowledged !== undefined || call.state !== 'up')
      transaction.respond(500, 'Server Internal Error', { headers: [['Retry-After', '1']] });
    else {
      this.#learnTarget(call, message);
      this.#accept(call, message, transaction);
    }
  }
}
