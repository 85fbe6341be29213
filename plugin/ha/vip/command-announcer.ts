import { execFile } from 'node:child_process';
import type { Logger } from '../../telemetry/logger';
import type { VipAddress } from '../ports';

/** A command that hangs is killed. */
const COMMAND_TIMEOUT_MS = 10_000;
/** Between tries of a command that failed. */
const RETRY_MS = 1_000;

/**
 * Tells a network that does not listen to ARP (BGP, a cloud) where the addresses are, by running a command with `add`
 * or `remove` and the addresses behind it. One run at a time; when the wish changes while one runs, only the last
 * wish counts. A failing `add` is tried again as long as the addresses are ours.
 */
export class CommandAnnouncer {
  private wanted: 'add' | 'remove' | undefined;
  private running = false;
  private retry: NodeJS.Timeout | undefined;

  constructor(
    private readonly command: readonly string[],
    private readonly addresses: readonly VipAddress[],
    private readonly log: Logger,
  ) {}

  gained(): void {
    this.want('add');
  }

  lost(): void {
    this.want('remove');
  }

  close(): void {
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
        if (error !== null)
          this.log.error({ err: error, action, stderr: stderr.slice(0, 500) }, 'announce command failed');
        else this.log.info({ action }, 'announce command done');
        if (this.wanted !== undefined) this.run(this.wanted);
        else if (error !== null && action === 'add') {
          this.retry = setTimeout(() => this.want('add'), RETRY_MS);
        }
      },
    );
  }
}
