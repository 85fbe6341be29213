import type { Config } from '../config/types';
import { DsbcError } from '../errors';
import { Hooks, type HookDefaults, type HookSet } from '../hooks';
import type { Logger } from '../telemetry/logger';
import type { MetricsRegistry } from '../telemetry/metrics';

/** The hooks of an instance, under the defaults of its configuration; their failures are counted. */
export function configuredHooks(
  config: Config,
  given: HookSet,
  { log, metrics }: { readonly log: Logger; readonly metrics: MetricsRegistry },
): Hooks {
  const hooks = new Hooks(hookDefaults(config), log, ({ hook, error }) => {
    metrics.add('dsbc_hook_failures_total', { hook, reason: hookFailureReason(error) });
  });
  hooks.addAll(given);
  return hooks;
}

export const hookDefaults = ({ hooks }: Config): HookDefaults => ({
  timeoutMs: hooks.timeout_ms,
  onError: hooks.on_error,
});

const hookFailureReason = (error: Error): string => {
  const code = error instanceof DsbcError ? error.code : undefined;
  if (code === 'DSBC_HOOK_TIMEOUT') return 'timeout';
  return code === 'DSBC_HOOK_RESULT' ? 'result' : 'error';
};
