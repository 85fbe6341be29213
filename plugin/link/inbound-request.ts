import type { Socket } from 'node:net';
import type { SipMessage } from '../message/sip-message';
import type { LibraryRequest, LibraryResponse } from './srf';
import type { Leg } from './leg';
import type { InboundRequest, SipLink, TransportAddress } from './sip-link';

/** A request of the network while the application has it. */
export class Inbound implements InboundRequest {
  cancelled = false;
  settled = false;
  /** A provisional answer was given, or dialogs are made of it: it may live long. */
  inProgress = false;
  /** Handed to `proxy`, whose outcome is still to come. */
  proxied = false;
  relayed = false;
  pass?: () => void;
  /** The library's objects for the same request, where they exist. */
  library?: { readonly req: LibraryRequest; readonly res: LibraryResponse };
  /** The leg its answers made. */
  leg?: Leg;
  /** Cancelled or refused: no dialog comes of it. */
  failed = false;
  isEarlyUpdate = false;
  private tableId: string | undefined;
  private cancelListeners: (() => void)[] = [];

  constructor(
    /** The id the server knows it by. */
    readonly serverId: string,
    readonly link: SipLink,
    readonly message: SipMessage,
    readonly source: TransportAddress,
    readonly receivedOn: { readonly address: string; readonly port: number },
    readonly socket: Socket,
    readonly arrivedAt: number,
    readonly dialogId: string,
  ) {}

  /** Its id here: the server's, but for an early UPDATE, which shares that of its INVITE. */
  get id(): string {
    return this.tableId ?? this.serverId;
  }

  becomeEarlyUpdate(): void {
    this.isEarlyUpdate = true;
    this.tableId = `${this.serverId} UPDATE`;
  }

  onCancel(listener: () => void): void {
    if (this.cancelled) listener();
    else this.cancelListeners.push(listener);
  }

  /** The caller's CANCEL was seen: tells each listener once and returns what they threw. */
  cancel(): unknown[] {
    if (this.cancelled) return [];
    this.cancelled = true;
    const listeners = this.cancelListeners;
    this.cancelListeners = [];
    const faults: unknown[] = [];
    for (const listener of listeners) {
      try {
        listener();
      } catch (fault) {
        faults.push(fault);
      }
    }
    return faults;
  }
}

/** The server forgets a request without any answer after this long (drachtio-server: 64 s). */
const UNANSWERED_MS = 64_000;
/** An INVITE that rings longer than this is over everywhere (RFC 3261 timer C is 3 minutes and can be restarted). */
const IN_PROGRESS_MS = 15 * 60_000;

/** The requests the application has not finished, by the server's transaction id. */
export class InboundTable {
  private readonly requests = new Map<string, Inbound>();
  private readonly invites = new Map<string, Inbound>();

  get size(): number {
    return this.requests.size;
  }

  get(id: string): Inbound | undefined {
    return this.requests.get(id);
  }

  /** The INVITE with this branch in its top Via. */
  invite(branch: string): Inbound | undefined {
    return this.invites.get(branch);
  }

  add(request: Inbound): void {
    this.requests.set(request.id, request);
    const branch = branchOf(request);
    if (branch !== undefined) this.invites.set(branch, request);
  }

  remove(request: Inbound): void {
    request.settled = true;
    this.requests.delete(request.id);
    const branch = branchOf(request);
    if (branch !== undefined && this.invites.get(branch) === request) this.invites.delete(branch);
  }

  /** The connection they came by is gone: nothing can be answered any more. */
  lose(socket: Socket): void {
    for (const request of [...this.requests.values()]) {
      if (request.socket === socket) this.remove(request);
    }
  }

  /** Removes what the server has forgotten by now, and returns it. */
  sweep(now: number): Inbound[] {
    const gone: Inbound[] = [];
    for (const request of this.requests.values()) {
      // A proxied request ends with its proxy command, which has a deadline of its own.
      if (request.proxied) continue;
      const limit = request.inProgress ? IN_PROGRESS_MS : UNANSWERED_MS;
      if (now - request.arrivedAt >= limit) gone.push(request);
    }
    for (const request of gone) this.remove(request);
    return gone;
  }
}

const branchOf = ({ message }: Inbound): string | undefined =>
  message.method === 'INVITE' ? message.via?.branch : undefined;
