/**
 * drachtio-server 0.9.10 reads commands into a ring of 12,228 bytes, up to 8,192 at a time, and overwrites what is
 * unread when it overflows: then it drops the connection, and every call set-up with it. A frame up to this size is
 * always safe, whatever follows it.
 */
const SAFE_BYTES = 12_228 - 8_192;

/** The largest command that fits the server's ring when nothing follows it. */
export const MAX_COMMAND_BYTES = 12_000;

/** What holds back the frames behind a large one until the server has taken it. */
export class SendGate {
  private blockedBy: string | undefined;
  private waiting: { readonly id: string; readonly bytes: Buffer }[] = [];
  /** Index of the first that still waits: thousands of large frames may, and moving them up for each would cost more than sending. */
  private first = 0;

  constructor(private readonly write: (bytes: Buffer) => void) {}

  send(id: string, bytes: Buffer): void {
    if (this.blockedBy !== undefined) {
      this.waiting.push({ id, bytes });
      return;
    }
    this.pass(id, bytes);
  }

  /** The server has replied to a command, so it has read it. */
  replied(id: string): void {
    if (this.blockedBy !== id) return;
    this.blockedBy = undefined;
    for (let isLarge = false; !isLarge;) {
      const frame = this.waiting[this.first];
      if (frame === undefined) break;
      this.first += 1;
      isLarge = this.pass(frame.id, frame.bytes);
    }
    if (this.first * 2 < this.waiting.length) return;
    this.waiting = this.waiting.slice(this.first);
    this.first = 0;
  }

  /** Writes a frame; true if it is large, so that those behind it wait. */
  private pass(id: string, bytes: Buffer): boolean {
    this.write(bytes);
    const isLarge = bytes.length > SAFE_BYTES;
    if (isLarge) this.blockedBy = id;
    return isLarge;
  }
}
