import type { SipDialog } from '../link/sip-dialog';
import type { ClientOutcome, HeaderLine, InboundRequest } from '../link/sip-link';
import type { Logger } from '../telemetry/logger';
import { NON_INVITE_MS, type Crossing } from './crossing';
import type { LegIds } from './leg-ids';

/** RFC 6665 §4.2.1.1 leaves it to the event package; most take an hour. */
const DEFAULT_EXPIRES_S = 3600;
/** setTimeout takes no more. */
const MOST_MS = 2 ** 31 - 1;

export interface SubscriptionParts {
  /** The leg to the subscriber, and the one to the notifier. */
  readonly subscriber: SipDialog;
  readonly notifier: SipDialog;
  /** The Event header of the subscription. */
  readonly event: string;
  /** Seconds the notifier's 2xx granted. */
  readonly expiresS: number | undefined;
  readonly ids: LegIds;
  readonly crossing: Crossing;
  readonly log: Logger;
  readonly ended: () => void;
}

/**
 * Two legs of one subscription (RFC 6665). It ends with a NOTIFY that says so, with a side that does not know it any
 * more, or when nobody has refreshed it in time; whoever may still believe in it is told.
 */
export class Subscription {
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;

  constructor(private readonly parts: SubscriptionParts) {
    parts.ids.add(parts.subscriber, parts.notifier);
  }

  /** From here on requests cross. To be called synchronously after both legs exist: the first may be there already. */
  start(): void {
    const { subscriber, notifier, expiresS } = this.parts;
    for (const leg of [subscriber, notifier]) {
      leg.onLost((reason) => {
        this.end(reason);
      });
    }
    this.lives(expiresS ?? DEFAULT_EXPIRES_S);
    subscriber.onRequest((request) => {
      this.cross(request, subscriber, notifier);
    });
    notifier.onRequest((request) => {
      this.cross(request, notifier, subscriber);
    });
  }

  /**
   * Ends both sides: the subscriber hears a last NOTIFY, the notifier an unsubscription.
   * @param said RFC 6665 §4.1.3: a subscriber comes again at once when it was `deactivated`
   */
  end(reason: string, said: 'deactivated' | 'timeout' | 'noresource' = 'deactivated'): void {
    const { subscriber, notifier, event, log } = this.parts;
    if (this.isOver) return;
    log.info(
      { callId: subscriber.callId, farCallId: notifier.callId, reason },
      'subscription ended from here',
    );
    this.say(subscriber, 'NOTIFY', [
      ['Event', event],
      ['Subscription-State', `terminated;reason=${said}`],
    ]);
    this.say(notifier, 'SUBSCRIBE', unsubscription(event));
    this.finish();
  }

  private cross(request: InboundRequest, from: SipDialog, to: SipDialog): void {
    const { crossing, log } = this.parts;
    const { callId, method } = request.message;
    if (method === 'ACK') return;
    to.request(crossing.requestOf(request, to))
      .then(async (outcome) => {
        await crossing.answer(request, crossing.responseTo(outcome, from, request));
        this.learn(request, outcome);
      })
      .catch((error: unknown) => {
        log.error({ err: error, callId, method }, 'a request did not cross');
      });
  }

  /** What a request inside the subscription and its answer say of its life. */
  private learn({ message }: InboundRequest, outcome: ClientOutcome): void {
    const { method } = message;
    if (this.isOver || (method !== 'SUBSCRIBE' && method !== 'NOTIFY')) return;
    const state = message.get('subscription-state') ?? '';
    if (method === 'NOTIFY' && /^\s*terminated\b/i.test(state)) {
      this.forget();
    } else if (isUnknown(outcome)) {
      this.end('one side does not know it any more', 'noresource');
    } else if (method === 'NOTIFY') {
      const left = /;\s*expires\s*=\s*(\d{1,9})/i.exec(state)?.[1];
      if (left !== undefined) this.lives(Number(left));
    } else if (outcome.kind === 'answer' && outcome.status < 300) {
      this.lives(outcome.message.expires ?? message.expires ?? DEFAULT_EXPIRES_S);
    }
  }

  /** Seconds until it must have been refreshed; the last NOTIFY may take its time. */
  private lives(seconds: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => {
        this.end('not refreshed', 'timeout');
      },
      Math.min(MOST_MS, seconds * 1000 + NON_INVITE_MS),
    );
    this.timer.unref();
  }

  /** Tells a leg that it is over; the leg goes when that is answered. */
  private say(leg: SipDialog, method: string, headers: readonly HeaderLine[]): void {
    const { crossing } = this.parts;
    if (leg.ended) return;
    // What still comes, the last NOTIFY above all, is taken note of.
    leg.onRequest((request) => {
      if (request.message.method !== 'ACK') void crossing.answer(request, { status: 200 });
    });
    const gone = (): void => {
      leg.forget();
    };
    leg.request({ method, headers, timeoutMs: NON_INVITE_MS }).then(gone, gone);
  }

  private forget(): void {
    this.parts.subscriber.forget();
    this.parts.notifier.forget();
    this.finish();
  }

  private finish(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    this.parts.ids.remove(this.parts.subscriber, this.parts.notifier);
    this.parts.ended();
  }
}

/** The headers of the SUBSCRIBE that ends a subscription. */
export const unsubscription = (event: string): HeaderLine[] => [
  ['Event', event],
  ['Expires', '0'],
];

/** The side that was asked has no such subscription, or its leg is gone in the server (RFC 6665 §4.1.2.2, §4.2.2). */
function isUnknown(outcome: ClientOutcome): boolean {
  if (outcome.kind === 'answer') return outcome.status === 481 || outcome.status === 489;
  return outcome.kind === 'transport_error' && /dialog/i.test(outcome.reason);
}
