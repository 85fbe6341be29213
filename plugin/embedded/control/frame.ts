/** A frame of the control protocol: `<length>#<message>`; the length counts bytes, the text is latin1. */
export const frameText = (message: string): string => `${message.length}#${message}`;

const HASH = 35;
const LONGEST_LENGTH = 7;

/** Cuts the stream of an application's connection into messages. */
export class FrameReader {
  readonly #limit: number;
  #pending: Buffer = Buffer.alloc(0);

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Gives each whole message to `take`; returns what is wrong when the stream can't be followed any more. */
  push(chunk: Buffer, take: (message: string) => void): string | undefined {
    let data = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    let from = 0;
    while (from < data.length) {
      const hash = data.indexOf(HASH, from);
      const digits = data.toString(
        'latin1',
        from,
        hash < 0 ? Math.min(data.length, from + LONGEST_LENGTH + 1) : hash,
      );
      if (!/^\d{1,7}$/.test(digits)) return 'a frame without a length';
      if (hash < 0) break;
      const size = Number(digits);
      if (size === 0 || size > this.#limit) return 'a frame of a forbidden length';
      const end = hash + 1 + size;
      if (end > data.length) break;
      const message = data.toString('latin1', hash + 1, end);
      from = end;
      take(message);
    }
    data = data.subarray(from);
    // Keep no big read alive for a few bytes.
    this.#pending = data.length < data.buffer.byteLength / 4 ? Buffer.from(data) : data;
    return undefined;
  }
}
