import { timingSafeEqual, createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import type { Clock, Timer } from '../clock';
import type { Limits } from '../limits';
import { parseCommand, type Command } from './command';
import { frameText, FrameReader } from './frame';

export interface ApplicationSink {
  authenticated(application: Application): void;
  command(command: Command, application: Application): void;
  gone(application: Application, reason: string): void;
}

const AUTHENTICATE_MS = 5_000;
/** An application that does not read is worse than none. */
const WRITE_BYTES = 16 * 1024 * 1024;

const digest = (text: string): Buffer => createHash('sha256').update(text, 'latin1').digest();

/** One connection of an application. */
export class Application {
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  readonly #sink: ApplicationSink;
  readonly #secret: Buffer;
  readonly #welcome: () => string;
  readonly #impatience: Timer;
  #authenticated = false;
  #gone = false;
  #unsent = '';

  constructor(
    socket: Socket,
    options: {
      readonly secret: string;
      /** What an accepted application is told. */
      readonly welcome: () => string;
      readonly clock: Clock;
      readonly limits: Limits;
      readonly sink: ApplicationSink;
    },
  ) {
    this.#socket = socket;
    this.#reader = new FrameReader(options.limits.frameBytes);
    this.#sink = options.sink;
    this.#secret = digest(options.secret);
    this.#welcome = options.welcome;
    this.#impatience = options.clock.after(AUTHENTICATE_MS, () => {
      if (!this.#authenticated) this.close('no authentication in time');
    });
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => this.#leave('the connection was closed'));
  }

  get connected(): boolean {
    return this.#authenticated && !this.#gone;
  }

  /** Answers a command. */
  reply(commandId: string, text: string): void {
    this.#write(`${randomUUID()}|response|${commandId}|${text}`);
  }

  /** Tells something unasked: `sip|…` or `event|…`. */
  tell(text: string): void {
    this.#write(`${randomUUID()}|${text}`);
  }

  close(reason: string): void {
    this.#flush();
    this.#socket.end(() => this.#socket.destroy());
    this.#leave(reason);
  }

  #write(message: string): void {
    if (this.#gone) return;
    if (this.#socket.writableLength > WRITE_BYTES) {
      this.#socket.destroy();
      this.#leave('it does not read');
      return;
    }
    // All that one turn of the event loop has to say leaves in one piece.
    if (this.#unsent === '') setImmediate(() => this.#flush());
    this.#unsent += frameText(message);
  }

  #flush(): void {
    const text = this.#unsent;
    this.#unsent = '';
    if (text !== '' && this.#socket.writable) this.#socket.write(text, 'latin1');
  }

  #onData(chunk: Buffer): void {
    if (this.#gone) return;
    const fault = this.#reader.push(chunk, (message) => this.#onMessage(parseCommand(message)));
    if (fault !== undefined) this.close(fault);
  }

  #onMessage(command: Command): void {
    if (this.#gone) return;
    if (this.#authenticated) this.#sink.command(command, this);
    else if (command.name !== 'authenticate') this.close('a command before authentication');
    else if (!timingSafeEqual(digest(command.tokens[0] ?? ''), this.#secret)) {
      this.reply(command.id, 'NO|incorrect secret');
      this.close('incorrect secret');
    } else {
      this.#authenticated = true;
      this.#impatience.cancel();
      this.reply(command.id, `OK|${this.#welcome()}`);
      this.#sink.authenticated(this);
    }
  }

  #leave(reason: string): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#impatience.cancel();
    this.#sink.gone(this, reason);
  }
}
