import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { Logger } from '../telemetry/logger';
import { failureWords } from './failure-words';
import { FrameDecoder, encodeFrame } from './frame';
import { SendGate } from './send-gate';
import type { WireProtocol } from './srf';

export interface WireGuardOptions {
  readonly log: Logger;
  /** First pause before a reconnection, milliseconds; it doubles up to `maxReconnectDelayMs`. */
  readonly minReconnectDelayMs: number;
  readonly maxReconnectDelayMs: number;
  /** Milliseconds from the start of a connection until the server must have accepted the secret. */
  readonly connectTimeoutMs: number;
  /** How the library's own strings are turned into bytes; ours are latin1 always. */
  readonly libraryText: 'latin1' | 'utf8';
}

export interface WireGuardEvents {
  /** One whole frame. What it throws is logged, and the connection goes on. */
  frame(socket: Socket, frame: Buffer): void;
  /** The connection is gone. */
  down(socket: Socket): void;
  /** What ended a connection, or the attempt to make one, in words. */
  failed(why: string): void;
}

/**
 * Takes over framing, sending and reconnection of one drachtio-srf WireProtocol. The library's own data
 * handler decodes UTF-8 (which destroys binary bodies), keeps a frame whose handling threw (which wedges the
 * link) and lets the exception out (which ends the process); its reconnection grows without cap and turns
 * TLS into TCP.
 */
export class WireGuard {
  private static readonly guards = new WeakMap<WireProtocol, WireGuard>();
  private readonly decoders = new WeakMap<Socket, FrameDecoder>();
  private readonly gates = new WeakMap<Socket, SendGate>();
  private readonly sockets = new Set<Socket>();
  /** Sockets of which it was told why they ended. */
  private readonly explained = new WeakSet<Socket>();
  private readonly connectTimers = new Map<Socket, NodeJS.Timeout>();
  private retryTimer: NodeJS.Timeout | undefined;
  private attempts = 0;
  private tls: ConnectionOptions | undefined;
  private closed = false;
  private nextId = 0;

  /** The guard of a wire: a new one, or the one that an earlier link over an application's connection has left there. */
  static of(wire: WireProtocol, options: WireGuardOptions, events: WireGuardEvents): WireGuard {
    const known = WireGuard.guards.get(wire);
    if (known === undefined) {
      const guard = new WireGuard(wire, options, events);
      WireGuard.guards.set(wire, guard);
      return guard;
    }
    known.options = options;
    known.events = events;
    return known;
  }

  private constructor(
    readonly wire: WireProtocol,
    private options: WireGuardOptions,
    private events: WireGuardEvents,
  ) {
    const libraryConnect = wire.connect.bind(wire);
    const libraryInstall = wire.installListeners.bind(wire);
    wire.connect = (connectOptions): void => {
      this.tls = connectOptions.tls;
      libraryConnect(connectOptions);
    };
    wire.installListeners = (socket): void => {
      libraryInstall(socket);
      this.adopt(socket);
      if (wire.isServer === undefined) this.limitConnecting(socket);
    };
    wire._onData = (socket, chunk): void => {
      this.onData(socket, chunk);
    };
    wire.send = (socket, message): string => {
      const id = this.newId();
      const text = `${id}|${message}`;
      const bytes = Buffer.from(text, this.options.libraryText);
      this.write(socket, id, Buffer.concat([Buffer.from(`${bytes.length}#`, 'latin1'), bytes]));
      return id;
    };
    wire._onConnectionGone = (): void => {
      this.reconnectLater();
    };
    wire.on('close', (socket: Socket) => {
      this.sockets.delete(socket);
      this.stopConnectTimer(socket);
      this.explain(socket, 'the SIP server ended the connection');
      this.events.down(socket);
    });
  }

  /** Takes over a connection that was made before this guard, with what it has half received. */
  takeOver(socket: Socket): void {
    if (this.sockets.has(socket)) return;
    socket.removeAllListeners('data');
    const half = this.wire.mapIncomingMsg.get(socket)?.incomingMsg;
    socket.on('data', (chunk: Buffer) => {
      this.onData(socket, chunk);
    });
    this.adopt(socket);
    if (half !== undefined && half.length > 0) this.onData(socket, half);
  }

  /** Sends a command of ours (latin1 text) and returns its id. */
  send(socket: Socket, text: string): string {
    const id = this.newId();
    this.write(socket, id, encodeFrame(`${id}|${text}`));
    return id;
  }

  /** The server accepted the secret on this connection: the next loss starts with the short pause again. */
  authenticated(socket: Socket): void {
    this.attempts = 0;
    this.stopConnectTimer(socket);
  }

  /** The server has replied to a command; what waits behind a large one goes on. */
  replied(socket: Socket, id: string): void {
    this.gates.get(socket)?.replied(id);
  }

  /** Drops the connection at once; reconnection follows unless the guard is closed. */
  reset(socket: Socket, why: string, level: 'warn' | 'debug' = 'warn'): void {
    this.explain(socket, why);
    this.options.log[level]({ why, host: this.wire.host, port: this.wire.port }, 'control connection reset');
    this.sockets.delete(socket);
    socket.destroy();
  }

  /** Ends every connection and stops reconnecting. Idempotent. */
  close(): void {
    this.closed = true;
    this.wire.closing = true;
    if (this.retryTimer) clearTimeout(this.retryTimer);
    this.retryTimer = undefined;
    for (const timer of this.connectTimers.values()) clearTimeout(timer);
    this.connectTimers.clear();
    for (const socket of this.sockets) socket.destroy();
  }

  private explain(socket: Socket, why: string): void {
    if (this.explained.has(socket)) return;
    this.explained.add(socket);
    this.events.failed(why);
  }

  private newId(): string {
    this.nextId += 1;
    return `dsbc-${this.nextId}`;
  }

  private adopt(socket: Socket): void {
    this.decoders.set(socket, new FrameDecoder());
    this.gates.set(
      socket,
      new SendGate((bytes) => {
        // What is written to a dead socket is lost; whoever waits is told by `down` or its own deadline.
        if (!socket.destroyed && socket.writable) socket.write(bytes);
      }),
    );
    this.sockets.add(socket);
    socket.on('error', (error) => {
      this.explain(socket, failureWords(error));
    });
  }

  private write(socket: Socket, id: string, bytes: Buffer): void {
    this.gates.get(socket)?.send(id, bytes);
  }

  private onData(socket: Socket, chunk: Buffer): void {
    const decoder = this.decoders.get(socket);
    if (decoder === undefined || !this.sockets.has(socket)) return;
    let frames: Buffer[];
    try {
      frames = decoder.push(chunk);
    } catch (error) {
      this.reset(socket, String(error));
      return;
    }
    for (const frame of frames) {
      // A reset while an earlier one was handled makes the rest void.
      if (!this.sockets.has(socket)) return;
      try {
        this.events.frame(socket, frame);
      } catch (error) {
        this.options.log.error({ err: error }, 'a control frame could not be handled');
      }
    }
  }

  private limitConnecting(socket: Socket): void {
    const timer = setTimeout(() => {
      this.connectTimers.delete(socket);
      this.reset(socket, 'not connected in time');
    }, this.options.connectTimeoutMs);
    this.connectTimers.set(socket, timer);
  }

  private stopConnectTimer(socket: Socket): void {
    const timer = this.connectTimers.get(socket);
    if (timer) clearTimeout(timer);
    this.connectTimers.delete(socket);
  }

  private reconnectLater(): void {
    // The library calls this for `error` and again for `close` of the same socket.
    if (this.closed || this.wire.closing === true || this.retryTimer) return;
    const { minReconnectDelayMs, maxReconnectDelayMs } = this.options;
    const delay = Math.min(maxReconnectDelayMs, minReconnectDelayMs * 2 ** Math.min(this.attempts, 16));
    this.attempts += 1;
    this.wire.emit('reconnecting', { delay, attempt: this.attempts });
    this.retryTimer = setTimeout(() => {
      this.retryTimer = undefined;
      this.reconnect();
    }, delay);
  }

  private reconnect(): void {
    const { host, port } = this.wire;
    if (host === undefined || port === undefined) return;
    const socket = this.tls ? connectTls(port, host, this.tls) : connectTcp({ host, port });
    socket.setNoDelay(true);
    socket.setKeepAlive(true);
    this.wire.installListeners(socket);
  }
}
