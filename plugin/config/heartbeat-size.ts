/** What one heartbeat can be (ha/heartbeat/wire.ts): it fits one Ethernet frame over IPv6. */
export const HEARTBEAT_BYTES = 1232;

/** Numbers and flags, the signature, and the count of instances heard. */
const FIXED_BYTES = 44 + 32 + 1;
/** A name is its length and itself; with each instance heard go two numbers. */
const LENGTH_BYTES = 1;
const ORDER_BYTES = 12;

/**
 * Bytes of the longest heartbeat of a group in which everybody hears everybody: names its sender, somebody it is for, and all instances.
 * @param instances the names of all, our own included
 */
export function longestHeartbeat(group: string, instances: readonly string[]): number {
  const lengths = instances.map((name) => Buffer.byteLength(name));
  const heard = lengths.reduce((sum, length) => sum + LENGTH_BYTES + length + ORDER_BYTES, 0);
  const ends = 2 * (LENGTH_BYTES + Math.max(0, ...lengths));
  return FIXED_BYTES + LENGTH_BYTES + Buffer.byteLength(group) + ends + heard;
}
