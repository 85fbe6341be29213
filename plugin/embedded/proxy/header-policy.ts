import type { Header } from '../../message/sip-message';
import { occursOnce } from '../../message/single-headers';

/** Never taken from the application: the server's own business (drachtio-server drops them silently, too). */
const DROPPED = new Set(['via', 'route', 'record-route', 'rseq', 'content-length']);

/** Headers whose newest element stands first (RFC 3327 §5.2). */
const PREPENDED = new Set(['path']);

/**
 * Adds the application's headers to those of a request, by their kind: a header that occurs once is replaced, Path goes
 * on top, everything else is appended.
 */
export function applyHeaders(headers: readonly Header[], given: readonly Header[]): Header[] {
  let result = [...headers];
  for (const line of given) {
    if (DROPPED.has(line.key)) continue;
    if (PREPENDED.has(line.key)) result.unshift(line);
    else if (occursOnce(line.key)) {
      const at = result.findIndex(({ key }) => key === line.key);
      const others = result.filter(({ key }) => key !== line.key);
      if (at < 0) result.push(line);
      else result = [...others.slice(0, at), line, ...others.slice(at)];
    } else result.push(line);
  }
  return result;
}

/** Whether the application's line may go into a message at all. */
export const isGivenHeader = (key: string): boolean => !DROPPED.has(key);
