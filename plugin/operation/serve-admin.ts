import { OrderRefused } from '../admin/operation';
import { startAdmin, type AdminServer } from '../admin/server';
import type { ReloadView } from '../admin/views';
import type { Dsbc } from '../main';
import { monotonicClock } from '../telemetry/clock';
import { operationOf } from './operation';
import { packageVersion } from './version';

export interface ServeAdminOptions {
  /**
   * What `dsbc reload` and `POST /v1/reload` do: usually reads the file again and gives it to `dsbc.reload`. Default:
   * they are refused.
   */
  readonly reload?: () => Promise<ReloadView>;
}

/**
 * Serves the admin API, the live page and the metrics of an instance at `admin.address` and `admin.port` of its
 * configuration, as `dsbc run` does: before `start`, so that it shows what a start waits for, or after. It ends with
 * the instance, or by `close`.
 * @throws DsbcError DSBC_PORT_TAKEN
 */
export async function serveAdmin(dsbc: Dsbc, options: ServeAdminOptions = {}): Promise<AdminServer> {
  const { reload: again = refuseReload } = options;
  const reload = (): Promise<ReloadView> =>
    again().catch((error: unknown) => {
      dsbc.log.error({ err: error }, 'the configuration was not reloaded');
      throw error;
    });
  const admin = await startAdmin({
    config: dsbc.config.admin,
    token: () => dsbc.config.admin.token,
    operation: operationOf(dsbc, { reload, now: monotonicClock }),
    version: packageVersion(),
    log: dsbc.log,
  });
  dsbc.log.info({ address: admin.address, port: admin.port }, 'admin API');
  dsbc.onStopped(() => admin.close());
  return admin;
}

const refuseReload = (): Promise<never> =>
  Promise.reject(new OrderRefused('conflict', 'This application gives its configuration by itself.'));
