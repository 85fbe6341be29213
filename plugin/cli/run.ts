import { loadConfig } from '../config/load';
import type { Config } from '../config/types';
import { serviceManagerSettings } from '../config/service-manager';
import { ServiceManager } from '../ha/service-manager';
import { createDsbc, type Dsbc } from '../main';
import { serveAdmin } from '../operation/serve-admin';
import { EXIT, type Command, type Io } from './command';
import { configFile, configOption, parseOptions } from './options';

export const runCommand: Command = {
  name: 'run',
  summary: 'Serve',
  usage: `Usage: dsbc run [-c FILE]

Serves until it gets SIGTERM or SIGINT. Then it takes nothing new, lets what is under way finish (drain_ms of the
configuration) and ends; a second signal ends it at once. SIGHUP, or "dsbc reload", reads the
configuration again: a file with an error changes nothing.

The log goes to stdout, one JSON object a line. The admin API and the live page are at admin.address and
admin.port: http://127.0.0.1:8090/ unless configured otherwise.

Options:
  -c, --config FILE  the configuration; default: dsbc.yaml here, else /etc/dsbc/dsbc.yaml

Example:
  dsbc run -c config-examples/embedded.yaml

Exit codes: 0 ended by a signal, 1 a fault, 3 the configuration is not valid, 4 a port is taken.`,

  async run(argv, io) {
    const { values } = parseOptions(argv, configOption);
    const file = configFile(values);
    const dsbc = createDsbc({ config: await loadConfig(file) });
    return serve(dsbc, file, io);
  },
};

/** Runs an instance until a signal or a fault ends it. */
async function serve(dsbc: Dsbc, file: string, io: Io): Promise<number> {
  const ending = new Ending(io, dsbc);
  const manager = new ServiceManager(serviceManagerSettings(), dsbc.log);
  dsbc.onFatal((error) => ending.fault(error));
  const reload = async (): Promise<{ applied: boolean; needs_restart: string[] }> => {
    await dsbc.start();
    let config: Config;
    try {
      config = await loadConfig(file);
    } catch (error) {
      dsbc.metrics.add('dsbc_config_reloads_total', { outcome: 'rejected' });
      throw error;
    }
    return { applied: true, needs_restart: [...dsbc.reload(config).needsRestart] };
  };
  const onHangup = (): void => {
    reload().catch((error: unknown) =>
      dsbc.log.error({ err: error, file }, 'the configuration was not reloaded'),
    );
  };
  process.on('SIGHUP', onHangup);
  try {
    // Before anything of SIP: it shows what the start waits for, and its port may be taken.
    if (dsbc.config.admin.enabled) await serveAdmin(dsbc, { reload });
    await dsbc.start();
    manager.ready();
    return await ending.code;
  } finally {
    process.off('SIGHUP', onHangup);
    ending.close();
    manager.stopping();
    // The API ends with it, behind all else, so that one can watch it drain.
    await dsbc.stop();
    manager.close();
  }
}

/** Waits for whatever ends the program. */
class Ending {
  readonly code: Promise<number>;
  readonly #signal: AbortSignal;
  #settle: (code: number) => void = () => undefined;
  readonly #log: Dsbc['log'];

  constructor({ signal }: Io, { log }: Dsbc) {
    this.#signal = signal;
    this.#log = log;
    this.code = new Promise((resolve) => {
      this.#settle = resolve;
    });
    signal.addEventListener('abort', this.#onSignal);
    if (signal.aborted) this.#onSignal();
    process.on('uncaughtException', this.#onFault);
    process.on('unhandledRejection', this.#onFault);
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#onSignal);
    process.off('uncaughtException', this.#onFault);
    process.off('unhandledRejection', this.#onFault);
  }

  /** The program can't go on. */
  fault(error: unknown): void {
    this.#onFault(error);
  }

  readonly #onSignal = (): void => {
    this.#log.info({ signal: String(this.#signal.reason) }, 'ending');
    this.#settle(EXIT.ok);
  };

  /** Nobody knows what state the program is in: it lays down its work and is started anew. */
  readonly #onFault = (error: unknown): void => {
    this.#log.error({ err: error }, 'uncaught fault, ending');
    this.#settle(EXIT.failed);
  };
}
