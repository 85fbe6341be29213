import type { Environment } from './environment';

/** How to reach an admin API without a configuration. */
export interface AdminAddress {
  readonly https: boolean;
  readonly address: string;
  readonly port: number;
}

/** `http://127.0.0.1:8090` or `https://host:port`, without a path; undefined for anything else. */
export function parseAdminUrl(text: string): AdminAddress | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return undefined;
  }
  const https = url.protocol === 'https:';
  if (
    (!https && url.protocol !== 'http:') ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.username !== ''
  )
    return undefined;
  const port = url.port === '' ? (https ? 443 : 80) : Number(url.port);
  return { https, address: url.hostname.replace(/^\[|\]$/g, ''), port };
}

/** What the environment says about it: `DSBC_ADMIN_URL` and `DSBC_ADMIN_TOKEN`. */
export function adminEnvironment(environment: Environment = process.env): {
  readonly url: string | undefined;
  readonly token: string | undefined;
} {
  const given = (name: string): string | undefined => environment[name] || undefined;
  return { url: given('DSBC_ADMIN_URL'), token: given('DSBC_ADMIN_TOKEN') };
}
