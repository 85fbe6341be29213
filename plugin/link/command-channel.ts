import type { Socket } from 'node:net';
import { DsbcError } from '../errors';
import type { Logger } from '../telemetry/logger';
import { ClientTransactions } from './client-transactions';
import type { ReplyFrame } from './control-message';
import type { OwnRequestPort } from './own-request';
import { PendingCommands } from './pending-commands';
import { MAX_COMMAND_BYTES } from './send-gate';
import type { LinkCapabilities } from './sip-link';
import type { WireGuard } from './wire-guard';

/** Commands of a link to its SIP server, and what waits for them. */
export class CommandChannel {
  /** Set once the library has made its wire. */
  guard: WireGuard | undefined;
  readonly pending = new PendingCommands();
  readonly transactions = new ClientTransactions();

  constructor(
    private readonly link: string,
    private readonly requestTimeoutMs: number,
    private readonly log: Logger,
  ) {}

  /**
   * Sends a command; `replied` is called with its reply as it comes.
   * @throws DsbcError DSBC_LINK_REFUSED, DSBC_LINK_TIMEOUT or DSBC_LINK_LOST
   */
  command(socket: Socket, text: string, replied?: (reply: ReplyFrame) => void): Promise<void> {
    const { guard } = this;
    const details = { link: this.link };
    if (guard === undefined) return Promise.reject(new DsbcError('DSBC_LINK_LOST', undefined, { details }));
    return new Promise((resolve, reject) => {
      this.pending.add(guard.send(socket, text), socket, this.requestTimeoutMs, {
        reply: (frame) => {
          if (frame.ok) {
            replied?.(frame);
            resolve();
          } else reject(new DsbcError('DSBC_LINK_REFUSED', frame.tokens[0], { details }));
        },
        timedOut: () => {
          reject(new DsbcError('DSBC_LINK_TIMEOUT', undefined, { details }));
        },
        lost: () => {
          reject(new DsbcError('DSBC_LINK_LOST', undefined, { details }));
        },
      });
    });
  }

  /** Sends a command nobody waits for. */
  sendAndForget(socket: Socket, text: string): void {
    this.command(socket, text).catch((error: unknown) => {
      this.log.debug({ err: error }, 'a command without consequence failed');
    });
  }

  ownPort(socket: Socket): OwnRequestPort {
    return {
      socket,
      commands: this.pending,
      transactions: this.transactions,
      requestTimeoutMs: this.requestTimeoutMs,
      send: (text) => this.guard?.send(socket, text) ?? '',
      sendAndForget: (text) => {
        this.sendAndForget(socket, text);
      },
    };
  }

  /** @throws DsbcError DSBC_LINK_REFUSED when a command is larger than drachtio-server can take. */
  assertFits(text: string, can: LinkCapabilities): void {
    if (can.exactHeaders || text.length <= MAX_COMMAND_BYTES) return;
    throw new DsbcError('DSBC_LINK_REFUSED', 'the message is too large for the SIP server', {
      details: { link: this.link, bytes: text.length, most: MAX_COMMAND_BYTES },
    });
  }

  /** The connection is gone: ends all that waited on it. */
  lose(socket: Socket): void {
    this.pending.lose(socket);
    this.transactions.lose(socket);
  }
}
