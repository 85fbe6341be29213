/** A line of a file and where the next one begins. */
export interface Line {
  /** Without its end (LF or CRLF), decoded as UTF-8. */
  readonly text: string;
  /** From 1. */
  readonly number: number;
  /** Byte offset of the next line. */
  readonly next: number;
  /** Longer than MAX_LINE_BYTES: `text` is only its beginning. */
  readonly tooLong: boolean;
}

/** Far over what a row can need; a file without line ends must not fill the memory. */
export const MAX_LINE_BYTES = 65_536;
const LF = 0x0a;
const CR = 0x0d;

export interface LinesStart {
  readonly offset: number;
  readonly line: number;
}

/** Cuts a stream of bytes into lines; `start` says where in the file the stream begins. */
export async function* readLines(
  input: AsyncIterable<Buffer>,
  start: LinesStart = { offset: 0, line: 0 },
): AsyncGenerator<Line> {
  let { offset: next, line: number } = start;
  let rest: Buffer[] = [];
  let held = 0;
  let dropped = 0;
  const take = (part: Buffer, ended: boolean): Line => {
    const whole = rest.length === 0 ? part : Buffer.concat([...rest, part]);
    const tooLong = dropped > 0 || whole.length > MAX_LINE_BYTES;
    next += whole.length + dropped + (ended ? 1 : 0);
    number += 1;
    rest = [];
    held = 0;
    dropped = 0;
    const end = whole.at(-1) === CR ? whole.length - 1 : whole.length;
    const text = whole.toString('utf8', 0, Math.min(end, MAX_LINE_BYTES));
    return { text: number === 1 ? text.replace(/^\ufeff/, '') : text, number, next, tooLong };
  };
  for await (const chunk of input) {
    let from = 0;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      yield take(chunk.subarray(from, at), true);
      from = at + 1;
    }
    const left = chunk.subarray(from);
    if (held + left.length > MAX_LINE_BYTES + 1) dropped += left.length;
    else if (left.length > 0) {
      // A copy: the chunk itself, much larger, can then be freed.
      rest.push(Buffer.from(left));
      held += left.length;
    }
  }
  if (held > 0 || dropped > 0) yield take(Buffer.alloc(0), false);
}
