import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { connect as connectTcp, isIPv6, type Socket } from 'node:net';
import { lookup } from 'node:dns';
import { connect as connectTls } from 'node:tls';
import { syslogDatagram, syslogFrame, syslogMessage, type SyslogHeader } from './syslog-message';

/** Where the LogServer is and how much is kept for it while it is away. */
export interface SyslogSettings {
  readonly host: string;
  readonly port: number;
  readonly protocol: 'udp' | 'tcp' | 'tls';
  readonly bufferLines: number;
  readonly caFile?: string | undefined;
  readonly header: SyslogHeader;
}

/** Lines by their end; `dropped` were never sent. */
export interface SyslogCounts {
  sent: number;
  dropped: number;
}

/** Pause before another attempt, doubled up to the second number. */
const RETRY_MS = [250, 5000] as const;
const CONNECT_TIMEOUT_MS = 5000;
/** So long nothing must go wrong before a LogServer that was away counts as back: one that closes at once is not. */
const SETTLED_MS = 2000;
/** Bytes handed to the kernel and not yet taken; beyond it lines wait in the buffer. */
const MAX_UNSENT_BYTES = 262_144;

/**
 * Sends lines to a LogServer, with a bounded buffer: when it is full, the oldest line is dropped and counted, since
 * the newest ones say what goes on. Runs in the syslog worker.
 */
export class SyslogSender {
  readonly #settings: SyslogSettings;
  readonly #counts: SyslogCounts = { sent: 0, dropped: 0 };
  #buffer: string[] = [];
  /** Lines of `#buffer` before it are gone already. */
  #first = 0;
  #stream: Socket | undefined;
  #udp: UdpSocket | undefined;
  #ready = false;
  #retry: NodeJS.Timeout | undefined;
  #pause: number = RETRY_MS[0];
  #closed = false;
  #trouble: string | undefined;
  #settled: NodeJS.Timeout | undefined;
  readonly #onTrouble: () => void;

  /** @param onTrouble called when the LogServer is lost, or is back: `trouble` says which */
  constructor(settings: SyslogSettings, onTrouble: () => void = () => undefined) {
    this.#settings = settings;
    this.#onTrouble = onTrouble;
    this.#open();
  }

  get counts(): Readonly<SyslogCounts> {
    return this.#counts;
  }

  /** Why the LogServer is not reached; undefined: nothing is known against it. Over UDP only refusals are seen. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Lines that wait. */
  get waiting(): number {
    return this.#buffer.length - this.#first;
  }

  write(line: string): void {
    this.#buffer.push(line);
    if (this.waiting > this.#settings.bufferLines) {
      this.#shift();
      this.#counts.dropped++;
    }
    this.#drain();
  }

  /** Sends what waits if the LogServer takes it within that time; counts the rest as dropped. */
  async close(withinMs: number): Promise<void> {
    const end = performance.now() + withinMs;
    while (this.waiting > 0 && performance.now() < end)
      await new Promise((resolve) => setTimeout(resolve, 10));
    this.#closed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#settled);
    this.#counts.dropped += this.waiting;
    this.#buffer = [];
    this.#first = 0;
    await new Promise<void>((resolve) => {
      if (this.#stream === undefined || this.#stream.destroyed) resolve();
      else this.#stream.end(resolve);
      setTimeout(resolve, 200).unref();
    });
    this.#stream?.destroy();
    this.#udp?.close();
    this.#udp = undefined;
  }

  #shift(): string {
    const line = this.#buffer[this.#first] ?? '';
    this.#first++;
    // Array.shift would move the whole buffer for each line.
    if (this.#first > 1000 && this.#first * 2 > this.#buffer.length) {
      this.#buffer = this.#buffer.slice(this.#first);
      this.#first = 0;
    }
    return line;
  }

  #drain(): void {
    while (this.#ready && this.waiting > 0) {
      if ((this.#stream?.writableLength ?? 0) > MAX_UNSENT_BYTES) return;
      const message = syslogMessage(this.#shift(), this.#settings.header);
      if (this.#udp === undefined) this.#stream?.write(syslogFrame(message));
      else {
        this.#udp.send(syslogDatagram(message));
        this.#well();
      }
      this.#counts.sent++;
    }
  }

  #open(): void {
    if (this.#closed) return;
    if (this.#settings.protocol === 'udp') this.#openUdp();
    else this.#openStream();
  }

  /** The name is looked up once per connection, not once per line. */
  #openUdp(): void {
    const { host, port } = this.#settings;
    lookup(host, (error, address) => {
      if (this.#closed) return;
      if (error !== null) {
        this.#failed(error.message);
        this.#again();
        return;
      }
      const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
      this.#udp = socket;
      // ICMP "port unreachable" for a line before; the socket stays good, UDP knows no more than that.
      socket.on('error', (fault) => this.#failed(fault.message));
      socket.connect(port, address, () => this.#onReady());
    });
  }

  #openStream(): void {
    const { host, port, protocol, caFile } = this.#settings;
    let stream: Socket;
    try {
      stream =
        protocol === 'tls'
          ? connectTls({ host, port, ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }) }, () =>
              this.#onReady(),
            )
          : connectTcp({ host, port }, () => this.#onReady());
    } catch (error) {
      // The CA file is gone or bad; it may be put right.
      this.#failed(String(error));
      this.#again();
      return;
    }
    this.#stream = stream;
    stream.setTimeout(CONNECT_TIMEOUT_MS, () => {
      if (!this.#ready) stream.destroy(new Error(`no answer within ${CONNECT_TIMEOUT_MS / 1000} s`));
    });
    stream.setKeepAlive(true, 10_000);
    stream.on('drain', () => this.#drain());
    // 'close' follows and does the rest.
    let reason = 'it closed the connection';
    stream.on('error', (error) => (reason = error.message));
    stream.on('end', () => stream.destroy());
    stream.on('data', () => undefined);
    stream.on('close', () => {
      this.#ready = false;
      this.#failed(reason);
      this.#again();
    });
  }

  #onReady(): void {
    this.#ready = true;
    this.#pause = RETRY_MS[0];
    if (this.#udp === undefined) this.#well();
    this.#drain();
  }

  #failed(reason: string): void {
    if (this.#closed) return;
    clearTimeout(this.#settled);
    this.#settled = undefined;
    const isNew = this.#trouble === undefined;
    this.#trouble = reason;
    if (isNew) this.#onTrouble();
  }

  #well(): void {
    if (this.#trouble === undefined) return;
    this.#settled ??= setTimeout(() => {
      this.#settled = undefined;
      this.#trouble = undefined;
      this.#onTrouble();
    }, SETTLED_MS);
  }

  #again(): void {
    if (this.#closed) return;
    this.#retry = setTimeout(() => this.#open(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, RETRY_MS[1]);
  }
}
