import { parseMessage } from '../message/parse';
import { statusOf } from './client-transactions';
import { replySource, type ReplyFrame } from './control-message';
import type { ReplyHandler } from './pending-commands';
import type { ProxyOptions, ProxyOutcome, TargetAnswer } from './sip-link';

/** Header by which a server with `failoverByStatus` says which target its own 408 or 503 is about. */
const TARGET_HEADER = 'x-dsbc-target';

/** Gathers what a server tells about one proxied request until it is done. */
export class ProxiedRequest implements ReplyHandler {
  private readonly answers: TargetAnswer[] = [];
  private finalStatus: number | undefined;

  constructor(
    private readonly onAnswer: ProxyOptions['onAnswer'],
    private readonly settle: (outcome: ProxyOutcome) => void,
    /** Was the caller's CANCEL seen? */
    private readonly cancelled: () => boolean,
  ) {}

  reply(frame: ReplyFrame): void {
    if (!frame.ok) {
      const reason = frame.tokens[0] ?? 'no reason given';
      this.settle(this.cancelled() ? { kind: 'cancelled' } : { kind: 'refused', reason });
    } else if (frame.bytes !== undefined) {
      this.addAnswer(frame, frame.bytes);
    } else if (frame.tokens[1] === 'cancelled') {
      this.settle({ kind: 'cancelled' });
    } else if (!frame.more) {
      this.settle({ kind: 'done', finalStatus: this.finalStatus, answers: this.answers });
    }
  }

  timedOut(): void {
    // A call that was cancelled before any answer never ends on drachtio-server: this is its end.
    this.settle(this.cancelled() ? { kind: 'cancelled' } : { kind: 'deadline', answers: this.answers });
  }

  lost(): void {
    this.settle({ kind: 'link_lost' });
  }

  private addAnswer(frame: ReplyFrame, bytes: Buffer): void {
    const status = statusOf(bytes);
    if (status === undefined || status < 200) return;
    this.finalStatus = status;
    const parsed = parseMessage(bytes);
    // A line without a colon in a site's answer must cost no more than that answer's headers.
    if (!parsed.ok && parsed.message === undefined) return;
    const message = parsed.message;
    if (message === undefined) return;
    const target = message.get(TARGET_HEADER);
    const answer: TargetAnswer = {
      status,
      message,
      source: replySource(frame.tokens),
      ...(target === undefined ? {} : { target }),
    };
    this.answers.push(answer);
    this.onAnswer?.(answer);
  }
}
