import type { LegAnswer, Opening, SipDialog } from '../link/sip-dialog';
import type { InboundRequest } from '../link/sip-link';
import { contentHeaders, type Crossing } from './crossing';

/** What is said to a request that can't cross yet (RFC 3311 §5.2). */
const LATER = { status: 500, headers: [['Retry-After', '2']] } as const;

/**
 * The two legs before the final answer: PRACK and UPDATE cross, a BYE of the caller ends the call. Where a leg is not
 * known to the server yet (drachtio-server: the caller's before the 200, the far one without 100rel), the request has
 * to come again.
 */
export class EarlyDialog {
  /** The caller's leg, once a provisional answer made one. */
  private near: SipDialog | undefined;
  private isOver = false;

  constructor(private readonly crossing: Crossing) {}

  /** A provisional answer was passed on: requests of both sides may follow. */
  follow(near: SipDialog, answer: LegAnswer, opening: Opening): void {
    this.near = near;
    if (this.isOver) return;
    near.onRequest((request) => {
      this.fromCaller(request, answer, opening);
    });
    opening.early?.onRequest((request) => {
      this.carry(request, opening.early, near);
    });
  }

  /** The final answer is on its way: what comes from now on is kept for the bridge. */
  hold(far: SipDialog): void {
    this.isOver = true;
    this.near?.hold();
    far.hold();
  }

  /** No call came of it. */
  forget(): void {
    this.isOver = true;
    this.near?.forget();
  }

  private fromCaller(request: InboundRequest, answer: LegAnswer, opening: Opening): void {
    const { message } = request;
    switch (message.method) {
      case 'ACK':
        return;
      case 'PRACK':
        opening.early?.acknowledgeProvisional(answer, answer.message.cseq?.number ?? 1, {
          headers: contentHeaders(request),
          body: message.body,
        });
        void this.crossing.answer(request, { status: 200 });
        return;
      case 'BYE':
        // RFC 3261 §15: a caller may leave an early dialog so; the INVITE ends with what the far side then says.
        opening.cancel();
        void this.crossing.answer(request, { status: 200 });
        return;
      default:
        this.carry(request, this.near, opening.early);
    }
  }

  private carry(request: InboundRequest, from: SipDialog | undefined, to: SipDialog | undefined): void {
    if (request.message.method === 'ACK') return;
    if (from === undefined || to === undefined) {
      void this.crossing.answer(request, LATER);
      return;
    }
    void to.request(this.crossing.requestOf(request, to)).then(async (outcome) => {
      const response = outcome.kind === 'answer' ? this.crossing.response(outcome, from) : LATER;
      await this.crossing.answer(request, response);
    });
  }
}
