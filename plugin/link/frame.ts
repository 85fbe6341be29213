/** Bytes a frame may have at most; drachtio-server never sends more than a UDP datagram or a sane stream message. */
export const MAX_FRAME_BYTES = 1 << 20;

/** The most digits a length may have, so that garbage without '#' is noticed early. */
const MAX_LENGTH_DIGITS = 7;

const HASH = 0x23;
const ZERO = 0x30;
const NINE = 0x39;

/** The peer broke the framing `<length>#<bytes>`; the connection can't be used any more. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/**
 * Cuts a byte stream into frames `<length>#<bytes>`. The length counts bytes, so nothing is decoded here.
 * Holds at most one unfinished frame.
 */
export class FrameDecoder {
  private chunks: Buffer[] = [];
  private size = 0;
  /** Total bytes (length digits, '#' and body) the unfinished frame needs; 0 while its length is not known. */
  private needed = 0;

  /**
   * Takes what arrived and returns the frames that are now complete.
   * @throws FrameError when the length is missing, zero, too long or not a number.
   */
  push(chunk: Buffer): Buffer[] {
    this.chunks.push(chunk);
    this.size += chunk.length;
    if (this.size < this.needed) return [];
    let rest = this.chunks.length === 1 ? chunk : Buffer.concat(this.chunks, this.size);
    const frames: Buffer[] = [];
    for (;;) {
      const head = readLength(rest);
      if (head === undefined) {
        this.needed = 0;
        break;
      }
      const total = head.start + head.length;
      if (rest.length < total) {
        this.needed = total;
        break;
      }
      frames.push(rest.subarray(head.start, total));
      rest = rest.subarray(total);
    }
    this.chunks = rest.length > 0 ? [rest] : [];
    this.size = rest.length;
    return frames;
  }
}

/** The length at the front, or undefined when more bytes are needed to know it. */
function readLength(bytes: Buffer): { start: number; length: number } | undefined {
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === HASH) {
      if (i === 0 || length === 0) throw new FrameError('a frame without a length');
      if (length > MAX_FRAME_BYTES) throw new FrameError(`a frame of ${length} bytes`);
      return { start: i + 1, length };
    }
    if (byte < ZERO || byte > NINE || i >= MAX_LENGTH_DIGITS) {
      throw new FrameError('a frame whose length is not a number');
    }
    length = length * 10 + (byte - ZERO);
  }
  return undefined;
}

/** One frame as it goes over the wire; `text` is latin1, one char per byte. */
export function encodeFrame(text: string): Buffer {
  return Buffer.from(`${text.length}#${text}`, 'latin1');
}
