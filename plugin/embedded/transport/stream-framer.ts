/** What a stream holds, piece by piece. */
export interface FramerSink {
  /** One whole message, latin1 text. */
  message(text: string): void;
  /** A keep-alive ping, CRLF CRLF between messages (RFC 5626 §3.5.1); told once of all that come in one piece. */
  ping(): void;
  /** The stream can't be followed any more; `head` is what there was of the message's head. */
  broken(reason: string, head: string): void;
}

const CR = 13;
const LF = 10;
const CONTENT_LENGTH = /^(?:content-length|l)[ \t]*:([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)/gim;

/** The length of the body by the head's Content-Length, or why there is none to rely on. */
export function bodyLength(head: string, limit: number): number | string {
  let found: number | undefined;
  for (const match of head.matchAll(CONTENT_LENGTH)) {
    const value = (match[1] ?? '').replace(/\s+/g, ' ').trim();
    if (!/^\d{1,10}$/.test(value)) return 'Content-Length is not a number';
    const length = Number(value);
    if (found !== undefined && found !== length) return 'two different Content-Length';
    found = length;
  }
  if (found === undefined) return 'no Content-Length on a stream';
  return found > limit ? 'Content-Length over the limit' : found;
}

/**
 * Cuts a stream into messages by Content-Length (RFC 3261 §18.3). Empty lines before a message are skipped
 * (§7.5). Holds at most one unfinished message, never more than the limit.
 */
export class StreamFramer {
  readonly #sink: FramerSink;
  readonly #limit: number;
  #pending: Buffer = Buffer.alloc(0);
  #searched = 0;
  #need = 0;
  #broken = false;
  #pinged = false;

  constructor(limit: number, sink: FramerSink) {
    this.#limit = limit;
    this.#sink = sink;
  }

  /** True while a message has begun and is not whole. */
  get unfinished(): boolean {
    const first = this.#pending[0];
    return first !== undefined && first !== CR && first !== LF;
  }

  push(chunk: Buffer): void {
    if (this.#broken) return;
    this.#pinged = false;
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (!this.#isBroken() && this.#take());
    // A slice of a big read must not keep the whole of it alive.
    if (this.#pending.length > 0 && this.#pending.length < this.#pending.buffer.byteLength / 4)
      this.#pending = Buffer.from(this.#pending);
  }

  #isBroken(): boolean {
    return this.#broken;
  }

  #skip(count: number): void {
    this.#pending = this.#pending.subarray(count);
    this.#searched = 0;
    this.#need = 0;
  }

  #break(reason: string, head: string): void {
    this.#broken = true;
    this.#pending = Buffer.alloc(0);
    this.#sink.broken(reason, head);
  }

  /** Takes one thing off the front; false when more bytes are needed. */
  #take(): boolean {
    const { length } = this.#pending;
    if (length === 0) return false;
    const first = this.#pending[0];
    if (first === CR || first === LF) return this.#takeEmptyLine(first);
    if (this.#need === 0 && !this.#takeHead()) return false;
    if (this.#pending.length < this.#need) return false;
    const text = this.#pending.toString('latin1', 0, this.#need);
    this.#skip(this.#need);
    this.#sink.message(text);
    return true;
  }

  #takeEmptyLine(first: number): boolean {
    if (first === LF) {
      this.#skip(1);
      return true;
    }
    const [, second, third, fourth] = this.#pending;
    if (second === undefined) return false;
    if (second !== LF) {
      this.#skip(1);
      return true;
    }
    if (third === undefined || (third === CR && fourth === undefined)) return false;
    if (third === CR && fourth === LF) {
      this.#skip(4);
      this.#ping();
    } else this.#skip(2);
    return true;
  }

  /** 64 KB can hold 16,000, each of whose answers would be a system call; the sender only wants to know that we are here. */
  #ping(): void {
    if (this.#pinged) return;
    this.#pinged = true;
    this.#sink.ping();
  }

  #takeHead(): boolean {
    const end = this.#pending.indexOf('\r\n\r\n', Math.max(0, this.#searched - 3), 'latin1');
    if (end < 0) {
      this.#searched = this.#pending.length;
      if (this.#pending.length > this.#limit)
        this.#break('message over the limit', this.#pending.toString('latin1', 0, 4096));
      return false;
    }
    const head = this.#pending.toString('latin1', 0, end + 4);
    const length = bodyLength(head, this.#limit);
    if (typeof length === 'string') {
      this.#break(length, head);
      return false;
    }
    if (end + 4 + length > this.#limit) {
      this.#break('message over the limit', head);
      return false;
    }
    this.#need = end + 4 + length;
    return true;
  }
}
