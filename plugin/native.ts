import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { UdpErrorQueue } from './embedded';
import { DsbcError } from './errors';
import { useScanner, type ScannerFor } from './message/scanner';
import { silentLogger, type Logger } from './telemetry/logger';

/** `auto` runs the addon where it loads, `require` refuses to start without it, `off` never loads it. */
export const NATIVE_MODES = ['auto', 'require', 'off'] as const;
export type NativeMode = (typeof NATIVE_MODES)[number];

/** A link as the addon reports it. */
export interface RawLink {
  readonly index: number;
  readonly name: string;
  readonly up: boolean;
  readonly carrier: boolean;
  readonly ethernet: boolean;
  /** `02:00:00:00:00:01`; all zeros where there is none. */
  readonly hardware: string;
}

export type RawNetworkEvent =
  | { readonly type: 'link'; readonly gone: boolean; readonly link: RawLink }
  | {
      readonly type: 'address';
      readonly gone: boolean;
      readonly index: number;
      readonly address: string;
      readonly prefix: number;
    }
  | { readonly type: 'claim'; readonly index: number; readonly address: string; readonly hardware: string }
  /** The kernel dropped events: ask for everything again. */
  | { readonly type: 'lost' };

/** The addon's network part. Numbers returned are errnos, 0 for success. */
export interface RawNetwork {
  open(): number;
  /** `preferredS`: seconds until it counts as deprecated; default `lifetimeS`. 127.0.0.0/8 gets scope host. */
  add(interfaceName: string, address: string, lifetimeS: number, preferredS?: number): number;
  remove(interfaceName: string, address: string): number;
  deafen(interfaceName: string, address: string): number;
  announce(interfaceName: string, address: string): number;
  addresses(
    interfaceName: string,
  ): number | { readonly address: string; readonly prefix: number; readonly validS: number }[];
  links(): number | RawLink[];
  /** One at a time; holds the event loop until `close`. */
  watch(listener: (events: readonly RawNetworkEvent[]) => void): number;
  close(): void;
}

/** What native/addon.cc exports. */
export interface NativeAddon {
  /**
   * Header scanners, native/sip_header. Throws TypeError on anything but an Int32Array of HEAD.SIZE or more whose memory has
   * a fixed size and is not shared; the scanner does on anything but a string, and when that memory was given away.
   */
  readonly scannerFor: ScannerFor;
  /** Milliseconds of CLOCK_BOOTTIME. */
  bootTime(): number;
  /** Linux only. */
  readonly Network?: new () => RawNetwork;
  /** Linux only. */
  readonly UdpErrors?: new () => UdpErrorQueue;
}

/** Which implementation runs, and why: for the log, `dsbc status` and the metrics. */
export interface NativeStatus {
  readonly mode: NativeMode;
  readonly running: 'native' | 'typescript';
  readonly reason: string;
}

/** The package ships no types. Throws when neither a build nor a prebuild fits. */
type NodeGypBuild = (packageRoot: string) => unknown;

let loaded: { addon: NativeAddon } | { failure: unknown } | undefined;

/** The addon, built here or from a prebuild; throws what kept it from loading. Tried once per thread. */
export function loadAddon(): NativeAddon {
  if (loaded === undefined) {
    try {
      const nodeGypBuild = createRequire(__filename)('node-gyp-build') as NodeGypBuild;
      // One directory up both from plugin/ and from dist/.
      loaded = { addon: nodeGypBuild(join(__dirname, '..')) as NativeAddon };
    } catch (failure) {
      loaded = { failure };
    }
  }
  if ('addon' in loaded) return loaded.addon;
  throw loaded.failure;
}

const firstLine = (error: unknown): string =>
  String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? '';

/**
 * Puts the addon to work as the mode says and logs once which implementation runs and why.
 * @throws DsbcError DSBC_NATIVE_REQUIRED when it is required and cannot be loaded
 */
export function startNative(mode: NativeMode, log: Logger = silentLogger): NativeStatus {
  const status = decide(mode);
  log.info({ ...status }, 'native addon');
  return status;
}

function decide(mode: NativeMode): NativeStatus {
  useScanner();
  if (mode === 'off') return { mode, running: 'typescript', reason: 'switched off by the configuration' };
  try {
    useScanner(loadAddon().scannerFor);
    return { mode, running: 'native', reason: 'the addon is loaded' };
  } catch (cause) {
    const reason = `the addon cannot be loaded: ${firstLine(cause)}`;
    if (mode === 'require') throw new DsbcError('DSBC_NATIVE_REQUIRED', reason, { cause });
    return { mode, running: 'typescript', reason };
  }
}

/** Makes error queues for UDP sockets; undefined where the addon is off, does not load, or has none. */
export function udpErrorQueues(mode: NativeMode): (() => UdpErrorQueue) | undefined {
  if (mode === 'off') return undefined;
  try {
    const { UdpErrors } = loadAddon();
    return UdpErrors && (() => new UdpErrors());
  } catch {
    return undefined;
  }
}
