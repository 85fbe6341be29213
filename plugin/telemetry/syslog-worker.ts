import { parentPort, workerData } from 'node:worker_threads';
import { SyslogSender, type SyslogSettings } from './syslog-sender';

/** What the main thread says: lines, or that it is the end. */
export type ToWorker =
  | { readonly type: 'lines'; readonly lines: readonly string[] }
  | { readonly type: 'close'; readonly withinMs: number };

/** What the worker answers: that so many lines were taken in, and the counts so far. */
export interface FromWorker {
  readonly type: 'taken' | 'closed';
  readonly lines: number;
  readonly sent: number;
  readonly dropped: number;
  /** Why the LogServer is not reached. */
  readonly trouble: string | undefined;
}

const port = parentPort;
if (port !== null) {
  const sender = new SyslogSender(workerData as SyslogSettings, () => tell('taken', 0));
  const tell = (type: FromWorker['type'], lines: number): void => {
    const { counts, trouble } = sender;
    port.postMessage({ type, lines, ...counts, trouble } satisfies FromWorker);
  };
  // Dropped lines may grow while nothing is said: the counts go out at least once a second.
  const timer = setInterval(() => tell('taken', 0), 1000);
  port.on('message', (message: ToWorker) => {
    if (message.type === 'lines') {
      for (const line of message.lines) sender.write(line);
      tell('taken', message.lines.length);
      return;
    }
    void sender.close(message.withinMs).then(() => {
      clearInterval(timer);
      tell('closed', 0);
      port.close();
    });
  });
}
