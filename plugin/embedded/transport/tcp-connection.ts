import type { Socket } from 'node:net';
import type { Clock } from '../clock';
import type { Limits } from '../limits';
import { refuse, SendError, type EntryAddress, type Flow, type Sent } from './flow';
import { StreamFramer } from './stream-framer';

export interface ConnectionSink {
  message(text: string, connection: TcpConnection): void;
  broken(reason: string, head: string, connection: TcpConnection): void;
  /** `cause` is the system's error, if there was one. */
  closed(connection: TcpConnection, cause: Error | undefined): void;
}

interface Waiting {
  readonly text: string;
  readonly sent: Sent | undefined;
}

/** One stream connection, accepted or opened by us. Its messages go to the sink one by one. */
export class TcpConnection {
  readonly id: number;
  readonly flow: Flow;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #framer: StreamFramer;
  readonly #opened: number;
  #lastByte: number;
  #ending: number | undefined;
  #messageBegan: number | undefined;
  #messages = 0;
  #connected: boolean;
  #closed = false;
  #cause: Error | undefined;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;

  constructor(
    id: number,
    socket: Socket,
    peer: { entry: EntryAddress; address: string; port: number },
    connected: boolean,
    environment: { clock: Clock; limits: Limits; sink: ConnectionSink },
  ) {
    this.id = id;
    this.flow = { transport: 'tcp', ...peer, connection: id };
    this.#socket = socket;
    this.#clock = environment.clock;
    this.#limits = environment.limits;
    this.#connected = connected;
    this.#opened = this.#lastByte = this.#clock.now();
    const { sink } = environment;
    this.#framer = new StreamFramer(this.#limits.messageBytes, {
      message: (text) => {
        this.#messages += 1;
        this.#messageBegan = undefined;
        sink.message(text, this);
      },
      ping: () => this.send('\r\n'),
      broken: (reason, head) => sink.broken(reason, head, this),
    });
    socket.setNoDelay(true);
    socket.on('connect', () => this.#onConnect());
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => {
      this.#fail(undefined);
      sink.closed(this, this.#cause);
    });
  }

  get open(): boolean {
    return !this.#closed;
  }

  send(text: string, sent?: Sent): void {
    if (this.#closed) {
      refuse(sent, new SendError('flow_failed', 'the connection is closed'));
    } else if (!this.#connected) {
      this.#waitingBytes += text.length;
      if (this.#waitingBytes > this.#limits.writeBytes) {
        refuse(sent, new SendError('refused', 'too much waits for the connection to open'));
        return;
      }
      this.#waiting.push({ text, sent });
    } else if (this.#socket.writableLength + text.length > this.#limits.writeBytes) {
      // The other side does not read: nothing good comes of keeping it.
      this.destroy();
      refuse(sent, new SendError('flow_failed', 'the connection is stuck'));
    } else {
      this.#socket.write(text, 'latin1', (error) => {
        sent?.(error ? new SendError('flow_failed', error.message, error) : undefined);
      });
    }
  }

  /** Closes what has been too slow or silent for too long. */
  checkAge(now: number): void {
    const { idleMs, messageMs, firstMessageMs, connectMs, endMs } = this.#limits;
    if (this.#ending !== undefined) {
      if (now - this.#ending > endMs) this.destroy();
      return;
    }
    if (!this.#connected) {
      if (now - this.#opened > connectMs) this.destroy();
      return;
    }
    const slow = this.#messageBegan !== undefined && now - this.#messageBegan > messageMs;
    const mute = this.#messages === 0 && now - this.#opened > firstMessageMs;
    if (slow || mute || now - this.#lastByte > idleMs) this.destroy();
  }

  /** Sends what waits, then closes; soon also when the other side takes none of it (`checkAge`). */
  end(): void {
    this.#closed = true;
    this.#ending ??= this.#clock.now();
    this.#socket.end(() => this.#socket.destroy());
  }

  destroy(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #onConnect(): void {
    this.#connected = true;
    this.#lastByte = this.#clock.now();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { text, sent } of waiting) this.send(text, sent);
  }

  #onData(chunk: Buffer): void {
    if (this.#closed) return;
    this.#lastByte = this.#clock.now();
    this.#framer.push(chunk);
    // A message that trickles in keeps the time of its first byte.
    if (this.#framer.unfinished) this.#messageBegan ??= this.#lastByte;
  }

  #fail(cause: Error | undefined): void {
    this.#closed = true;
    this.#cause ??= cause;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { sent } of waiting) {
      refuse(sent, new SendError('refused', cause?.message ?? 'the connection could not be opened', cause));
    }
  }
}
