import { HEADER_IDS } from './layout';
import { isWord } from './text';

/** Compact names (RFC 3261 §7.3.3) of headers that have an id. */
const COMPACT: readonly [name: string, long: (typeof HEADER_IDS)[number]][] = [
  ['v', 'via'],
  ['f', 'from'],
  ['t', 'to'],
  ['m', 'contact'],
  ['i', 'call-id'],
  ['l', 'content-length'],
  ['k', 'supported'],
];

interface Candidate {
  readonly name: string;
  readonly id: number;
}

/** Names by length and first letter: at most two share a bucket. */
const buckets: (readonly Candidate[] | undefined)[] = [];
const bucketOf = (length: number, first: number): number => (length << 5) | (first & 31);
const put = (name: string, id: number): void => {
  const bucket = bucketOf(name.length, name.charCodeAt(0));
  buckets[bucket] = [...(buckets[bucket] ?? []), { name, id }];
};
for (let bucket = 0; bucket < 32 * 32; bucket++) buckets.push(undefined);
HEADER_IDS.forEach((name, id) => {
  if (name !== '') put(name, id);
});
for (const [name, long] of COMPACT) put(name, HEADER_IDS.indexOf(long));

/** The id of the header named in text[from, to), in full or compact, in any case; 0 when it has none. */
export function headerId(text: string, from: number, to: number): number {
  if (to - from > 31) return 0;
  const candidates = buckets[bucketOf(to - from, text.charCodeAt(from))];
  if (candidates === undefined) return 0;
  for (const { name, id } of candidates) if (isWord(text, from, to, name)) return id;
  return 0;
}
