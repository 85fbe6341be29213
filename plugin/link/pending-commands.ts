import type { Socket } from 'node:net';
import type { ReplyFrame } from './control-message';

/** Whoever waits for the replies to one command. Exactly one of `reply` (without `more`), `timedOut`, `lost` ends it. */
export interface ReplyHandler {
  reply(frame: ReplyFrame): void;
  timedOut(): void;
  lost(): void;
}

interface Pending {
  readonly socket: Socket;
  readonly handler: ReplyHandler;
  readonly timer: NodeJS.Timeout;
}

/** The commands that wait for the server. Every one ends: by its last reply, its deadline or the loss of its connection. */
export class PendingCommands {
  private readonly pending = new Map<string, Pending>();

  get size(): number {
    return this.pending.size;
  }

  add(id: string, socket: Socket, timeoutMs: number, handler: ReplyHandler): void {
    const timer = setTimeout(() => {
      if (this.pending.delete(id)) handler.timedOut();
    }, timeoutMs);
    this.pending.set(id, { socket, handler, timer });
  }

  /** Gives a reply to whoever waits for it; false when nobody here does. */
  settle(frame: ReplyFrame): boolean {
    const waiting = this.pending.get(frame.forId);
    if (waiting === undefined) return false;
    if (!frame.more) this.forget(frame.forId);
    waiting.handler.reply(frame);
    return true;
  }

  forget(id: string): void {
    const waiting = this.pending.get(id);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    this.pending.delete(id);
  }

  /** The connection is gone: ends all that waited on it. */
  lose(socket: Socket): void {
    for (const [id, waiting] of [...this.pending]) {
      if (waiting.socket !== socket) continue;
      this.forget(id);
      waiting.handler.lost();
    }
  }
}
