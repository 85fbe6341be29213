import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { SyslogSettings } from './syslog-sender';
import type { FromWorker, ToWorker } from './syslog-worker';

/** Pause before a worker that died is started anew. */
const RESTART_MS = 1000;

/**
 * The main thread's end of the syslog worker. A line costs an array push; lines are handed over once per turn of the
 * event loop. Lines that the worker has not taken yet are bounded too: what is above is dropped and counted, so
 * neither a dead LogServer nor a stuck worker can slow a call or fill memory.
 */
export class Syslog {
  readonly #settings: SyslogSettings;
  readonly #workerFile: string;
  #worker: Worker | undefined;
  #pending: string[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  #outstanding = 0;
  #droppedHere = 0;
  #before = { sent: 0, dropped: 0 };
  #counts = { sent: 0, dropped: 0 };
  #restart: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;
  #onClosed: (() => void) | undefined;
  #trouble: string | undefined;
  readonly #onTrouble: (trouble: string | undefined) => void;

  /**
   * @param workerFile the compiled worker; only tests that run from sources give one
   * @param onTrouble told that the LogServer is lost, and why, or that it is back
   */
  constructor(
    settings: SyslogSettings,
    workerFile = join(__dirname, 'syslog-worker.js'),
    onTrouble: (trouble: string | undefined) => void = () => undefined,
  ) {
    this.#settings = settings;
    this.#workerFile = workerFile;
    this.#onTrouble = onTrouble;
    this.#start();
  }

  /** Lines that were sent (over UDP: handed to the network). */
  get sent(): number {
    return this.#before.sent + this.#counts.sent;
  }

  /** Lines that never will be. */
  get dropped(): number {
    return this.#droppedHere + this.#before.dropped + this.#counts.dropped;
  }

  /** Why the LogServer is not reached; undefined: nothing is known against it. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Takes one line, without its line end. */
  write(line: string): void {
    if (
      this.#closing !== undefined ||
      this.#pending.length + this.#outstanding >= this.#settings.bufferLines
    ) {
      this.#droppedHere++;
      return;
    }
    this.#pending.push(line);
    this.#scheduled ??= setImmediate(() => this.#handOver());
  }

  /** Sends what it can within that time, then ends the worker. Idempotent. */
  close(withinMs = 1000): Promise<void> {
    this.#closing ??= this.#close(withinMs);
    return this.#closing;
  }

  async #close(withinMs: number): Promise<void> {
    clearTimeout(this.#restart);
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#handOver();
    const closed = new Promise<void>((resolve) => {
      this.#onClosed = resolve;
    });
    worker.postMessage({ type: 'close', withinMs } satisfies ToWorker);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs + 1000);
    });
    await Promise.race([closed, late]);
    clearTimeout(timer);
    await worker.terminate();
  }

  #start(): void {
    const worker = new Worker(this.#workerFile, { workerData: this.#settings, stdin: false });
    this.#worker = worker;
    // Logging alone never keeps the process alive.
    worker.unref();
    worker.on('message', (message: FromWorker) => {
      this.#outstanding -= message.lines;
      this.#counts = { sent: message.sent, dropped: message.dropped };
      if (message.type === 'closed') this.#onClosed?.();
      else this.#heard(message.trouble);
    });
    worker.on('error', () => undefined);
    worker.on('exit', () => this.#onExit());
  }

  #heard(trouble: string | undefined): void {
    const isNew = (trouble === undefined) !== (this.#trouble === undefined);
    this.#trouble = trouble;
    if (isNew && this.#closing === undefined) this.#onTrouble(trouble);
  }

  #onExit(): void {
    this.#onClosed?.();
    this.#worker = undefined;
    if (this.#closing !== undefined) return;
    // What it held is lost with it.
    this.#droppedHere += this.#outstanding;
    this.#outstanding = 0;
    this.#before = { sent: this.sent, dropped: this.#before.dropped + this.#counts.dropped };
    this.#counts = { sent: 0, dropped: 0 };
    this.#restart = setTimeout(() => this.#start(), RESTART_MS);
    this.#restart.unref();
  }

  #handOver(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const lines = this.#pending;
    if (lines.length === 0 || this.#worker === undefined) {
      this.#droppedHere += lines.length;
      this.#pending = [];
      return;
    }
    this.#pending = [];
    this.#outstanding += lines.length;
    this.#worker.postMessage({ type: 'lines', lines } satisfies ToWorker);
  }
}
