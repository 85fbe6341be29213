import type { Config, ConfigInput } from '../config/types';
import type { HookSet } from '../hooks';
import type { Registry } from '../registry/registry';
import type { Logger } from '../telemetry/logger';

export interface DsbcOptions {
  /** A configuration as a value (not a file); checked and filled with defaults. `loadConfig` reads a file. */
  readonly config: ConfigInput | Config;
  /** The application's own drachtio-srf instance: its connection is shared, beside its own routes. */
  readonly srf?: unknown;
  readonly hooks?: HookSet;
  /** Default: JSON lines on stdout, and to the LogServer if the configuration names one. */
  readonly logger?: Logger;
  /** A registry that is open already; it is not closed by `stop`. Default: the one of the configuration. */
  readonly registry?: Registry;
}

/**
 * A request of drachtio-srf goes through this; what is not ours goes on to `next`. Request and response are drachtio-srf's
 * own, whatever its release types them as.
 */
export type Middleware = (request: object, response: object, next?: object) => void;

export type DsbcState = 'new' | 'starting' | 'running' | 'stopping' | 'stopped';
