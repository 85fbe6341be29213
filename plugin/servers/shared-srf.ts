import type { Config } from '../config/types';
import { DsbcError } from '../errors';
import { wrapSrf, type SharedLink } from '../link/create-link';
import type { Logger } from '../telemetry/logger';

/**
 * The link over an application's own drachtio-srf instance.
 * @throws DsbcError DSBC_CONFIG_INVALID if the configuration names anything else than one drachtio-server
 */
export function shareSrf(srf: unknown, config: Config, log: Logger): SharedLink {
  const [server, second] = config.sip_servers;
  if (second !== undefined || server?.server === 'embedded') {
    const found = second === undefined ? "server: embedded, which `srf` can't be connected to" : 'several';
    throw new DsbcError(
      'DSBC_CONFIG_INVALID',
      `sip_servers: with \`srf\` expected one drachtio-server; found ${found}`,
      {
        details: { path: 'sip_servers', expected: 'one entry of server: drachtio', found },
      },
    );
  }
  const name = server?.name ?? 'srf';
  return wrapSrf(srf, { name, log });
}
