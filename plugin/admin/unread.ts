import type { Socket } from 'node:net';
import { problem, type Problem } from './problem';

/** What Node's HTTP server says about a request that it could not read. */
interface UnreadError {
  readonly code: string;
}

function problemOfUnread({ code }: UnreadError): Problem {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problem(408, 'The request did not arrive in time.');
    case 'HPE_HEADER_OVERFLOW':
      return problem(431, 'The header section is too large.');
    case 'HPE_INVALID_METHOD':
      return problem(400, 'That is no HTTP method.');
    default:
      return problem(400, 'That is no HTTP request.');
  }
}

/** Answers a request that never became one (a bad method, header or length) with a problem, and hangs up. */
export function answerUnread(error: UnreadError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const what = problemOfUnread(error);
  const body = JSON.stringify(what);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(
    `HTTP/1.1 ${what.status} ${what.title}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
