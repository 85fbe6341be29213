/**
 * Hashing for rendezvous. Every instance, of this version and the next, must choose the same site for the same
 * account without talking to the others, so these numbers never change: a test pins them.
 */

/** The finalizer of MurmurHash3, a bijection of 32 bits in which each input bit moves each output bit. */
function mix(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** 32 bits of a text (FNV-1a over its char codes, then mixed). */
export function hashText(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return mix(h);
}

/** A number in (0, 1), the same whenever the same two hashes meet, independent between seeds. */
export function unitOf(keyHash: number, seed: number): number {
  return ((mix(mix(keyHash ^ seed) + Math.imul(seed, 0x9e3779b1)) >>> 0) + 0.5) / 4294967296;
}
