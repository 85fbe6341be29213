import type { Socket } from 'node:net';
import type { Logger } from '../telemetry/logger';
import { SipCapture, type Captured } from './capture';
import type { SipFrame } from './control-message';
import type { Inbound, InboundTable } from './inbound-request';
import type { LibrarySide } from './library';

/** Within this a CANCEL is told in the usual way, or what it was for has ended. */
const CANCEL_GRACE_MS = 200;

/** The CANCELs of requests that the SIP server received: those it tells of, and those that only its copies show. */
export class Cancels {
  private captured: SipCapture | undefined;
  private readonly graces = new Set<NodeJS.Timeout>();

  constructor(
    private readonly inbound: InboundTable,
    private readonly library: LibrarySide,
    private readonly log: Logger,
  ) {}

  /**
   * Listens for copies of the server's SIP messages on a loopback port, to learn of CANCELs that it tells nobody: those
   * of proxied requests. Told is one whose request has not ended a little later, as when it came between the server's
   * reading of a `proxy` command and its doing it, or between two attempts.
   */
  capture(port: number): void {
    this.captured?.close();
    this.captured = new SipCapture(port, (message) => this.onCaptured(message), this.log);
  }

  /** The server tells of a CANCEL. */
  take(socket: Socket, frame: SipFrame, raw: Buffer): void {
    const request = this.inbound.get(frame.transactionId);
    if (request === undefined) {
      this.library.cancel(socket, frame, raw);
      return;
    }
    this.library.forget(request, 'cancelled');
    // The server has answered 487 by itself; a proxied one goes on until its outcome is told.
    if (!request.proxied) this.inbound.remove(request);
    request.failed = true;
    request.leg?.forget();
    this.tell(request);
  }

  close(): void {
    this.captured?.close();
    for (const timer of this.graces) clearTimeout(timer);
    this.graces.clear();
  }

  private onCaptured(message: Captured): void {
    const { branch } = message;
    const request = this.inbound.invite(branch);
    if (request === undefined) return;
    if (message.kind === 'relayed') {
      request.relayed = true;
      return;
    }
    const { callId } = message;
    if (request.cancelled || request.message.callId !== callId) return;
    const timer = setTimeout(() => {
      this.graces.delete(timer);
      if (request.cancelled || this.inbound.invite(branch) !== request) return;
      this.log.info({ callId }, 'a CANCEL that the SIP server has told nobody');
      this.tell(request);
    }, CANCEL_GRACE_MS);
    this.graces.add(timer);
  }

  private tell(request: Inbound): void {
    for (const fault of request.cancel()) {
      this.log.error({ err: fault, callId: request.message.callId }, 'a CANCEL listener failed');
    }
  }
}
