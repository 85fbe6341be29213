import { hostname } from 'node:os';
import { types } from 'node:util';
import pino from 'pino';
import type { Logger } from './logger';
import { redactor } from './redaction';
import { Stdout } from './stdout';
import { Syslog } from './syslog';

/** What the log is to be; the configuration's `log` fits. */
export interface LogSettings {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly mask_numbers: boolean;
  readonly syslog?:
    | {
        readonly host: string;
        readonly port?: number | undefined;
        readonly protocol: 'udp' | 'tcp' | 'tls';
        readonly facility: string;
        readonly app_name: string;
        readonly buffer_lines: number;
        readonly ca_file?: string | undefined;
      }
    | undefined;
}

/** A logger and what it needs to end well. */
export interface Log {
  readonly logger: Logger;
  /** Lines that did not reach the LogServer, or that nobody took from the standard output. */
  readonly dropped: () => number;
  /** Why the LogServer is not reached: empty if nothing is known against it; undefined if there is none. */
  readonly logServerTrouble: () => string | undefined;
  /** Writes out what waits; idempotent. */
  close(): Promise<void>;
}

export interface LogOptions {
  /** In every line as `instance`. */
  readonly instance: string;
  /** Where lines go besides the LogServer; default: stdout. */
  readonly write?: (line: string) => void;
  /** The compiled syslog worker; only tests that run from sources give one. */
  readonly syslogWorkerFile?: string;
}

const DEFAULT_PORT = { udp: 514, tcp: 601, tls: 6514 } as const;

/** One line of JSON per event: `level`, `time` (ISO 8601), `instance`, the fields, `msg`. */
export function createLog(settings: LogSettings, options: LogOptions): Log {
  const { syslog: server } = settings;
  const syslog =
    server === undefined
      ? undefined
      : startSyslog(server, options, (trouble) => {
          const about = { server: `${server.host}:${portOf(server)}`, protocol: server.protocol };
          if (trouble !== undefined)
            root.warn({ ...about, reason: trouble }, 'LogServer not reached: lines wait for it, trying on');
          else root.info({ ...about, dropped: syslog?.dropped ?? 0 }, 'LogServer reached again');
        });
  const stdout = options.write === undefined ? new Stdout() : undefined;
  const write = options.write ?? ((line: string) => stdout?.write(line));
  const clean = redactor(settings.mask_numbers);
  const root = pino(
    {
      level: settings.level,
      base: { instance: options.instance },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: clean },
      serializers: { err: serializeError },
    },
    {
      write: (line: string): void => {
        write(line);
        syslog?.write(line.endsWith('\n') ? line.slice(0, -1) : line);
      },
    },
  );
  return {
    logger: loggerOn(root, clean),
    dropped: () => (syslog?.dropped ?? 0) + (stdout?.dropped ?? 0),
    logServerTrouble: () => (syslog === undefined ? undefined : (syslog.trouble ?? '')),
    close: async () => {
      await syslog?.close();
      await stdout?.close();
    },
  };
}

/** pino's form of an error; but a cause whose words the message already has is not said twice in it. */
function serializeError(error: Error): pino.SerializedError {
  const plain = pino.stdSerializers.err(error);
  if (types.isNativeError(error)) plain.message = messageOf(error);
  return plain;
}

function messageOf(error: Error): string {
  let message = '';
  const seen = new Set<unknown>();
  for (let each: unknown = error; types.isNativeError(each) && !seen.has(each); each = each.cause) {
    seen.add(each);
    if (!message.includes(each.message)) message += `${message === '' ? '' : ': '}${each.message}`;
  }
  return message;
}

/** pino cleans the fields of a line, but not those of a child. */
function loggerOn(
  base: pino.Logger,
  clean: (fields: Record<string, unknown>) => Record<string, unknown>,
): Logger {
  return {
    debug: (fields, message) => base.debug(fields, message),
    info: (fields, message) => base.info(fields, message),
    warn: (fields, message) => base.warn(fields, message),
    error: (fields, message) => base.error(fields, message),
    child: (fields) => loggerOn(base.child(clean({ ...fields })), clean),
  };
}

const portOf = ({ port, protocol }: NonNullable<LogSettings['syslog']>): number =>
  port ?? DEFAULT_PORT[protocol];

function startSyslog(
  settings: NonNullable<LogSettings['syslog']>,
  options: LogOptions,
  onTrouble: (trouble: string | undefined) => void,
): Syslog {
  const { host, protocol, facility, app_name: appName } = settings;
  return new Syslog(
    {
      host,
      protocol,
      port: portOf(settings),
      bufferLines: settings.buffer_lines,
      caFile: settings.ca_file,
      header: { facility, appName, hostname: hostname(), processId: process.pid },
    },
    options.syslogWorkerFile,
    onTrouble,
  );
}
