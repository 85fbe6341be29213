import { connect, type Socket } from 'node:net';
import { FrameReader } from '../../plugin/embedded/control/frame';

/** An application that speaks the control protocol by hand. */
export class RawApplication {
  readonly socket: Socket;
  /** All bytes received. */
  seen = '';
  closed = false;
  onFrame: ((tokens: string[], text: string) => void) | undefined;

  constructor(port: number) {
    const reader = new FrameReader(1_000_000);
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (chunk: Buffer) => {
      this.seen += chunk.toString('latin1');
      reader.push(chunk, (message) => {
        const end = message.indexOf('\r\n');
        const leader = end < 0 ? message : message.slice(0, end);
        this.onFrame?.(leader.split('|'), end < 0 ? '' : message.slice(end + 2));
      });
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => (this.closed = true));
  }

  say(text: string): void {
    this.socket.write(`${text.length}#${text}`, 'latin1');
  }
}
