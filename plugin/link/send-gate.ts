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

  constructor(private readonly write: (bytes: Buffer) => void) {}

  send(id: string, bytes: Buffer): void {
    if (this.blockedBy !== undefined) {
      this.waiting.push({ id, bytes });
      return;
    }
    this.write(bytes);
    if (bytes.length > SAFE_BYTES) this.blockedBy = id;
  }

  /** The server has replied to a command, so it has read it. */
  replied(id: string): void {
    if (this.blockedBy !== id) return;
    this.blockedBy = undefined;
    const waiting = this.waiting;
    this.waiting = [];
    for (const frame of waiting) this.send(frame.id, frame.bytes);
  }
}
