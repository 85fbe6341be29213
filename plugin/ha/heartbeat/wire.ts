import { createHmac, timingSafeEqual } from 'node:crypto';
import type { GroupMessage, MessageOrder } from '../group/message';
import { GROUP_STATES, MESSAGE_KINDS } from '../group/message';

/*
 * One heartbeat in one datagram, big-endian:
 *
 *   magic "dH" | version u8 | oldest version that can read it u8 | kind u8 | state u8 | links u8 | priority u8
 *   incarnation u48 | seq u48 | term u48 | highest term u48 | tenure u48 | grant u48
 *   group, from, to: each length u8 and that many bytes of UTF-8
 *   count u8, then for each peer heard: id (length u8, bytes) | incarnation u48 | seq u48
 *   ... whatever a later version appends, skipped by this one ...
 *   HMAC-SHA256 over all before, under the group's key
 *
 * A version may only append. It says in the fourth byte which is the oldest version that may read it; every version
 * reads what the one before wrote, so that instances can be updated one by one.
 */

export const WIRE_VERSION = 1;
const OLDEST_READER = 1;
const MAGIC = 0x6448;
const MAC_BYTES = 32;
/** Fits one Ethernet frame over IPv6, so that a lost fragment never costs a heartbeat. */
export const MAX_MESSAGE_BYTES = 1232;

/** Why a datagram was not taken. */
export const REJECTIONS = ['malformed', 'forged', 'foreign', 'version'] as const;
export type Rejection = (typeof REJECTIONS)[number];

export type Decoded =
  | { readonly ok: true; readonly message: GroupMessage; readonly version: number }
  | { readonly ok: false; readonly why: Rejection };

const FIXED_BYTES = 8 + 6 * 6;

const mac = (key: string, bytes: Buffer): Buffer => createHmac('sha256', key).update(bytes).digest();

/** @throws RangeError when ids make it longer than `MAX_MESSAGE_BYTES` or a number does not fit */
export function encode(group: string, message: GroupMessage, key: string): Buffer {
  const fixed = Buffer.alloc(FIXED_BYTES);
  fixed.writeUInt16BE(MAGIC, 0);
  fixed[2] = WIRE_VERSION;
  fixed[3] = OLDEST_READER;
  fixed[4] = MESSAGE_KINDS.indexOf(message.kind);
  fixed[5] = GROUP_STATES.indexOf(message.state);
  fixed[6] = Math.min(message.links, 255);
  fixed[7] = Math.min(message.priority, 255);
  const numbers = [
    message.incarnation,
    message.seq,
    message.term,
    message.highestTerm,
    message.tenure,
    message.grant,
  ];
  numbers.forEach((value, index) => fixed.writeUIntBE(value, 8 + index * 6, 6));
  const heard = Object.entries(message.heard);
  const parts = [fixed, text(group), text(message.from), text(message.to), Buffer.from([heard.length])];
  for (const [id, order] of heard) {
    const numbersOfPeer = Buffer.alloc(12);
    numbersOfPeer.writeUIntBE(order.incarnation, 0, 6);
    numbersOfPeer.writeUIntBE(order.seq, 6, 6);
    parts.push(text(id), numbersOfPeer);
  }
  const body = Buffer.concat(parts);
  if (body.length + MAC_BYTES > MAX_MESSAGE_BYTES) {
    throw new RangeError(
      `a heartbeat of ${body.length + MAC_BYTES} bytes is too long: use shorter instance names`,
    );
  }
  return Buffer.concat([body, mac(key, body)]);
}

/** Checks and reads a datagram. Never throws, whatever the bytes. */
export function decode(group: string, bytes: Buffer, key: string): Decoded {
  if (bytes.length < FIXED_BYTES + MAC_BYTES || bytes.length > MAX_MESSAGE_BYTES)
    return rejected('malformed');
  if (bytes.readUInt16BE(0) !== MAGIC) return rejected('malformed');
  const body = bytes.subarray(0, bytes.length - MAC_BYTES);
  if (!timingSafeEqual(mac(key, body), bytes.subarray(bytes.length - MAC_BYTES))) return rejected('forged');
  const version = body.readUInt8(2);
  if (body.readUInt8(3) > WIRE_VERSION || version === 0) return rejected('version');
  const reader = new Reader(body, 4);
  try {
    const kind = MESSAGE_KINDS[reader.byte()];
    const state = GROUP_STATES[reader.byte()];
    const links = reader.byte();
    const priority = reader.byte();
    const [incarnation, seq, term, highestTerm, tenure, grant] = [
      reader.number(),
      reader.number(),
      reader.number(),
      reader.number(),
      reader.number(),
      reader.number(),
    ];
    if (kind === undefined || state === undefined) return rejected('version');
    if (reader.text() !== group) return rejected('foreign');
    const from = reader.text();
    const to = reader.text();
    const heard: Record<string, MessageOrder> = {};
    for (let count = reader.byte(); count > 0; count--) {
      heard[reader.text()] = { incarnation: reader.number(), seq: reader.number() };
    }
    return {
      ok: true,
      version,
      message: {
        kind,
        from,
        to,
        state,
        incarnation,
        seq,
        term,
        highestTerm,
        tenure,
        links,
        priority,
        grant,
        heard,
      },
    };
  } catch (error) {
    if (error instanceof RangeError) return rejected('malformed');
    throw error;
  }
}

const rejected = (why: Rejection): Decoded => ({ ok: false, why });

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8');
  if (bytes.length > 255) throw new RangeError(`"${value}" is longer than 255 bytes`);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** Reads in order; running past the end is a RangeError. */
class Reader {
  constructor(
    private readonly bytes: Buffer,
    private position: number,
  ) {}

  byte(): number {
    return this.bytes.readUInt8(this.advance(1));
  }

  number(): number {
    return this.bytes.readUIntBE(this.advance(6), 6);
  }

  text(): string {
    const length = this.byte();
    const from = this.advance(length);
    return this.bytes.toString('utf8', from, from + length);
  }

  private advance(count: number): number {
    const from = this.position;
    if (from + count > this.bytes.length) throw new RangeError('past the end');
    this.position += count;
    return from;
  }
}
