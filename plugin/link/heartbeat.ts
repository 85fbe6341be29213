import type { Socket } from 'node:net';
import type { PendingCommands } from './pending-commands';

/** The reply is looked for this much longer than it counts. */
const GRACE_MS = 1000;

/** Pings one connection; a missing pong within its time-out means that the connection is dead. */
export class Heartbeat {
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly socket: Socket,
    private readonly commands: PendingCommands,
    times: { readonly pingIntervalMs: number; readonly pingTimeoutMs: number },
    private readonly send: (text: string) => string,
    private readonly dead: () => void,
  ) {
    this.timer = setInterval(() => {
      this.ping(times.pingTimeoutMs);
    }, times.pingIntervalMs);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private ping(timeoutMs: number): void {
    let answered = false;
    const timer = setTimeout(() => {
      // After a freeze of this process timers run before what has arrived meanwhile is read: look once more.
      setImmediate(() => {
        if (!answered) this.dead();
      });
    }, timeoutMs);
    this.commands.add(this.send('ping'), this.socket, timeoutMs + GRACE_MS, {
      reply: () => {
        answered = true;
        clearTimeout(timer);
      },
      timedOut: () => undefined,
      lost: () => {
        clearTimeout(timer);
      },
    });
  }
}
