import { execFile } from 'node:child_process';
import type { Logger } from '../../telemetry/logger';
import type { VipAddress } from '../ports';
import { RepeatedFailures } from '../repeated-failures';

/** A command that hangs is killed. */
const COMMAND_TIMEOUT_MS = 10_000;
/** Between tries of a command that failed. */
const RETRY_MS = 1_000;

/**
 * Tells a network that does not listen to ARP (BGP, a cloud) where the addresses are, by running a command with `add`
 * or `remove` and the addresses behind it. One run at a time; when the wish changes while one runs, only the last
 * wish counts. One that fails is tried again for as long as it is the last wish: a route that stays behind draws traffic.
 */
export class CommandAnnouncer {
  private wanted: 'add' | 'remove' | undefined;
  private running = false;
  private closed = false;
  private retry: NodeJS.Timeout | undefined;
  private readonly failures: RepeatedFailures;

  constructor(
    private readonly command: readonly string[],
    private readonly addresses: readonly VipAddress[],
    private readonly log: Logger,
    private readonly retryMs = RETRY_MS,
  ) {
    this.failures = new RepeatedFailures(log, () => performance.now());
  }

  gained(): void {
    this.want('add');
  }

  /** The addresses are not here (any more): at the start, too, since a process that was killed took nothing back. */
  lost(): void {
    this.want('remove');
  }

  /** What runs ends by itself; nothing is tried again. */
  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
  }

  private want(action: 'add' | 'remove'): void {
    this.wanted = action;
    clearTimeout(this.retry);
    if (!this.running) this.run(action);
  }

  private run(action: 'add' | 'remove'): void {
    const [program = '', ...args] = this.command;
    this.running = true;
    this.wanted = undefined;
    execFile(
      program,
      [...args, action, ...this.addresses.map(({ address }) => address)],
      { timeout: COMMAND_TIMEOUT_MS, killSignal: 'SIGKILL' },
      (error, _stdout, stderr) => {
        this.running = false;
        if (error !== null) {
          const said = stderr.slice(0, 500);
          this.failures.failed(action, { err: error, action, stderr: said }, 'announce command failed');
        } else {
          this.failures.worked(action);
          this.log.info({ action }, 'announce command done');
        }
        if (this.wanted !== undefined) this.run(this.wanted);
        else if (error !== null && !this.closed)
          this.retry = setTimeout(() => this.want(action), this.retryMs);
      },
    );
  }
}
