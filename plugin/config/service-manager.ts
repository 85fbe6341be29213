/** What systemd told this process by its environment (sd_notify(3), sd_watchdog_enabled(3)). */
export interface ServiceManagerSettings {
  /** Somebody waits to hear that we are ready. */
  readonly notify: boolean;
  /** Signs of life are expected at least this often, in ms; undefined: none are. */
  readonly watchdogMs: number | undefined;
}

export function serviceManagerSettings(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ServiceManagerSettings {
  const micros = Number(environment['WATCHDOG_USEC']);
  const notify = (environment['NOTIFY_SOCKET'] ?? '') !== '';
  return { notify, watchdogMs: notify && micros > 0 ? micros / 1000 : undefined };
}
