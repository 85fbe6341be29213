import { execFile } from 'node:child_process';
import type { ServiceManagerSettings } from '../config/service-manager';
import type { Logger } from '../telemetry/logger';

/** systemd is told by its own program: Node has no datagram sockets in the file system, and nothing here is urgent. */
const PROGRAM = 'systemd-notify';
const PROGRAM_LIMIT_MS = 5_000;

/**
 * Tells systemd that the program is ready, alive, ending (`Type=notify`, `WatchdogSec`, `NotifyAccess=all`). Without
 * systemd it does nothing. The signs of life come from the main thread's event loop: if that hangs they stay away, and
 * systemd starts the program anew; the group has taken the addresses off long before.
 */
export class ServiceManager {
  private watchdog: NodeJS.Timeout | undefined;
  private failed = false;

  constructor(
    private readonly settings: ServiceManagerSettings,
    private readonly log: Logger,
    private readonly program = PROGRAM,
  ) {}

  /** The program serves, or stands by. From now on signs of life are sent, three in each interval. */
  ready(): void {
    this.tell('--ready');
    const { watchdogMs } = this.settings;
    if (watchdogMs === undefined || this.watchdog !== undefined) return;
    this.watchdog = setInterval(() => this.tell('WATCHDOG=1'), watchdogMs / 3);
    this.watchdog.unref();
  }

  /** One line for `systemctl status`. */
  status(text: string): void {
    this.tell(`--status=${text}`);
  }

  /** The program is ending; it may take a while. Signs of life go on until `close`. */
  stopping(): void {
    this.tell('STOPPING=1');
  }

  close(): void {
    clearInterval(this.watchdog);
    this.watchdog = undefined;
  }

  private tell(word: string): void {
    if (!this.settings.notify) return;
    execFile(this.program, [word], { timeout: PROGRAM_LIMIT_MS }, (error) => {
      if (error !== null && !this.failed) this.log.warn({ err: error }, 'systemd cannot be told');
      this.failed = error !== null;
    });
  }
}
