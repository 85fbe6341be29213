import type { Socket } from 'node:net';
import type { SipFrame } from './control-message';

import type { Inbound } from './inbound-request';
import type { Ending, LibrarySide } from './library';
import { libraryClasses, type Agent, type LibraryRequest, type LibraryResponse, type Srf } from './srf';

/** How long a request of somebody else's route is remembered for its CANCEL, milliseconds. */
const FOREIGN_INVITE_MS = 5 * 60_000;
const FOREIGN_INVITES_BEFORE_PURGE = 256;

/** A connection of our own: the library sees what belongs to its dialogs, the link takes everything else. */
export class OwnLibrary implements LibrarySide {
  readonly libraryText = 'latin1';
  readonly shared: boolean = false;

  constructor(
    protected readonly srf: Srf,
    readonly agent: Agent,
  ) {}

  pass(socket: Socket, frame: Buffer): void {
    this.agent.wp?.emit('msg', socket, frame.toString(this.libraryText));
  }

  ownsDialog(socket: Socket, dialogId: string): boolean {
    if (dialogId === '') return false;
    if (this.srf._dialogs.has(dialogId)) return true;
    return this.agent.mapServer.get(socket)?.pendingAckOrPrack.has(dialogId) ?? false;
  }

  forget(request: Inbound, how: Ending): void {
    const { library } = request;
    if (library === undefined) return;
    forgetInvite(this.agent, request.socket, request.message.callId, library.req);
    if (how === 'cancelled') library.req.emit('cancel', request.message);
    else library.res.finished = true;
  }

  cancel(_socket: Socket, _frame: SipFrame, _raw: Buffer): void {
    // The server has answered it, and nothing here waits for it.
  }
}

/** Somebody else's drachtio app: everything runs through their middleware, and theirs stays UTF-8. */
export class SharedLibrary implements LibrarySide {
  readonly libraryText = 'utf8';
  readonly shared = true;
  private readonly frames = new WeakMap<LibraryRequest, { frame: SipFrame; socket: Socket }>();
  private readonly foreignInvites = new Map<string, { req: LibraryRequest; at: number }>();
  private purgeAt = FOREIGN_INVITES_BEFORE_PURGE;
  private current: { frame: SipFrame; socket: Socket } | undefined;

  constructor(
    private readonly srf: Srf,
    readonly agent: Agent,
    private readonly readSip: (raw: Buffer) => SipFrame | undefined,
    private readonly now: () => number,
  ) {
    const middleware = agent.puntUpTheMiddleware.bind(agent);
    agent.puntUpTheMiddleware = (req, res): void => {
      if (this.current) this.frames.set(req, this.current);
      if (req.method === 'INVITE') this.rememberInvite(req);
      middleware(req, res);
    };
  }

  /** The bytes a request of the library was made of, as long as the library has it. */
  frameOf(req: LibraryRequest): { readonly frame: SipFrame; readonly socket: Socket } | undefined {
    return this.frames.get(req);
  }

  pass(socket: Socket, raw: Buffer): void {
    const frame = this.readSip(raw);
    this.current = frame ? { frame, socket } : undefined;
    try {
      this.agent.wp?.emit('msg', socket, raw.toString(this.libraryText));
    } finally {
      this.current = undefined;
    }
  }

  ownsDialog(_socket: Socket, dialogId: string): boolean {
    return this.srf._dialogs.has(dialogId);
  }

  forget(request: Inbound, how: Ending): void {
    const { library } = request;
    if (library === undefined) return;
    forgetInvite(this.agent, request.socket, request.message.callId, library.req);
    this.foreignInvites.delete(request.id);
    if (how === 'cancelled') library.req.emit('cancel', request.message);
    else finish(library.res);
  }

  /**
   * The library matches a CANCEL by Call-ID alone, so that of two INVITEs with one Call-ID (a spiral, our own
   * guarded loop) the wrong one may be cancelled; the server's transaction id says which is meant.
   */
  cancel(socket: Socket, frame: SipFrame, raw: Buffer): void {
    const invite = this.foreignInvites.get(frame.transactionId);
    if (invite === undefined) return;
    this.foreignInvites.delete(frame.transactionId);
    forgetInvite(this.agent, socket, callIdOf(invite.req), invite.req);
    const text = raw.toString('utf8');
    invite.req.emit('cancel', new libraryClasses.SipMessage(text.slice(text.indexOf('\r\n') + 2)));
  }

  private rememberInvite(req: LibraryRequest): void {
    const at = this.now();
    if (this.foreignInvites.size >= this.purgeAt) {
      for (const [id, invite] of this.foreignInvites) {
        if (invite.req.res.finished || at - invite.at > FOREIGN_INVITE_MS) this.foreignInvites.delete(id);
      }
      // All of them may still ring: not looked through again before there are twice as many.
      this.purgeAt = Math.max(FOREIGN_INVITES_BEFORE_PURGE, 2 * this.foreignInvites.size);
    }
    this.foreignInvites.set(req.stackTxnId, { req, at });
  }
}

function finish(res: LibraryResponse): void {
  res.finished = true;
}

function callIdOf(req: LibraryRequest): string | undefined {
  return req.get('Call-ID');
}

/** The library keeps an INVITE until it answers it itself; what the link answered would stay for ever. */
function forgetInvite(agent: Agent, socket: Socket, callId: string | undefined, req: LibraryRequest): void {
  const invites = agent.mapServer.get(socket)?.pendingNetworkInvites;
  if (callId !== undefined && invites?.get(callId)?.req === req) invites.delete(callId);
}
