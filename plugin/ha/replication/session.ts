import { createHmac, timingSafeEqual } from 'node:crypto';

/*
 * Frames of the replication channel: length u32 | JSON | HMAC-SHA256 cut to 16 bytes, over a counter and the JSON, under
 * a key of this connection and direction. Both sides choose 32 random bytes at the start, so a recorded connection
 * cannot be played again; what is replicated is not secret, the heartbeat links are private.
 */

export const NONCE_BYTES = 32;
export const GREETING = Buffer.from('DSBCREP1', 'latin1');
const MAC_BYTES = 16;
/** More than a batch ever needs; a longer frame is a broken or hostile peer. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;
/** The same of what a follower says: its name and where it was. Read from strangers, too, until their key is known. */
export const MAX_FOLLOW_BYTES = 4096;

/** Key of one direction of one connection. */
export function sessionKey(
  key: string,
  group: string,
  side: 'follower' | 'source',
  nonces: readonly [follower: Buffer, source: Buffer],
): Buffer {
  return createHmac('sha256', key).update(`${side}\0${group}\0`).update(nonces[0]).update(nonces[1]).digest();
}

function mac(key: Buffer, counter: number, body: Buffer): Buffer {
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64BE(BigInt(counter));
  return createHmac('sha256', key).update(prefix).update(body).digest().subarray(0, MAC_BYTES);
}

/** Makes the frames of one direction. */
export class FrameWriter {
  private counter = 0;

  constructor(private readonly key: Buffer) {}

  frame(value: unknown): Buffer {
    const body = Buffer.from(JSON.stringify(value), 'utf8');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    return Buffer.concat([length, body, mac(this.key, this.counter++, body)]);
  }
}

/** Reads the frames of one direction, in whatever pieces they come. */
export class FrameReader {
  private counter = 0;
  /** Pieces of the unfinished frame, put together when it is whole: not once for each of them. */
  private pieces: Buffer[] = [];
  private size = 0;
  private needed = 4;

  constructor(
    private readonly key: Buffer,
    private readonly maxBytes = MAX_FRAME_BYTES,
  ) {}

  /** @throws Error for a frame that is too long, forged or out of order */
  push(chunk: Buffer): readonly unknown[] {
    this.pieces.push(chunk);
    this.size += chunk.length;
    if (this.size < this.needed) return [];
    let rest = this.pieces.length === 1 ? chunk : Buffer.concat(this.pieces);
    const values: unknown[] = [];
    for (;;) {
      this.needed = neededBytes(rest, this.maxBytes);
      if (rest.length < this.needed) break;
      values.push(this.read(rest.subarray(0, this.needed)));
      rest = rest.subarray(this.needed);
    }
    this.pieces = rest.length === 0 ? [] : [rest];
    this.size = rest.length;
    return values;
  }

  private read(frame: Buffer): unknown {
    const body = frame.subarray(4, -MAC_BYTES);
    if (!timingSafeEqual(mac(this.key, this.counter++, body), frame.subarray(-MAC_BYTES)))
      throw new Error('a frame is not authentic');
    return JSON.parse(body.toString('utf8'));
  }
}

/** The bytes of the frame at the front; 4 while its length has not come. */
function neededBytes(bytes: Buffer, maxBytes: number): number {
  if (bytes.length < 4) return 4;
  const length = bytes.readUInt32BE(0);
  if (length > maxBytes) throw new Error(`a frame of ${length} bytes is too long`);
  return 4 + length + MAC_BYTES;
}
