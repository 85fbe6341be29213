import { readFileSync } from 'node:fs';
import { types } from 'node:util';
import { adminEnvironment, parseAdminUrl } from '../config/admin-address';
import { loadAdmin } from '../config/load';
import type { ConfigProblem } from '../config/problems';
import { DsbcError } from '../errors';
import { AdminClient, Refused, type AdminAccess } from './admin-client';
import { EXIT, UsageError, type Io } from './command';
import { configFile, configOption } from './options';

/** Where the running instance is. */
export interface AdminValues {
  readonly config?: string | undefined;
  readonly url?: string | undefined;
  readonly 'token-file'?: string | undefined;
}

/** The options of every command that talks to a running instance; ADMIN_OPTIONS is their help. */
export const adminOptions = {
  ...configOption,
  url: { type: 'string' },
  'token-file': { type: 'string' },
} as const;

/**
 * A client for the running instance: at `--url`, else of the configuration file given, else at DSBC_ADMIN_URL, else of
 * dsbc.yaml here or of the server. A file that is not valid serves as long as its section `admin` is.
 * @param io hears that the file is not valid
 */
export async function clientFor(values: AdminValues, io?: Io): Promise<AdminClient> {
  const { url, token } = adminEnvironment();
  const given = values['token-file'] === undefined ? undefined : tokenOf(values['token-file']);
  const at = values.url ?? (values.config === undefined ? url : undefined);
  if (at !== undefined) return new AdminClient(accessOf(at, given ?? token));
  const file = configFile(values);
  const { admin, fault } = await loadAdmin(file).catch((error: unknown) => {
    io?.err(
      'note: --url URL and --token-file FILE reach a running instance without its configuration file\n',
    );
    throw error;
  });
  if (fault !== undefined) io?.err(invalidNote(fault));
  if (!admin.enabled)
    throw new DsbcError('DSBC_ADMIN_UNREACHABLE', 'the admin API is switched off (admin.enabled: false)');
  return new AdminClient(given === undefined ? admin : { ...admin, token: given });
}

/** What is wrong with the file, the first of it. */
function invalidNote({ details }: DsbcError): string {
  const [first, ...more] = (details['problems'] ?? []) as readonly ConfigProblem[];
  const rest = more.length === 0 ? '' : `\n  and ${more.length} more, which dsbc check shows`;
  return `note: the configuration is not valid; what it says of the admin API is used\n  ${first?.text}${rest}\n`;
}

function accessOf(url: string, token: string | undefined): AdminAccess {
  const at = parseAdminUrl(url);
  if (at === undefined)
    throw new UsageError(`"${url}" is no address of an admin API, such as http://127.0.0.1:8090`);
  return { ...at, ...(token === undefined ? {} : { token }) };
}

function tokenOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const reason = types.isNativeError(error) ? error.message : String(error);
    throw new UsageError(`--token-file cannot be read: ${reason}`);
  }
}

/** Runs an order; a refusal is shown with its reason and is exit code 1. */
export async function carryOut(io: Io, order: () => Promise<void>): Promise<number> {
  try {
    await order();
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    io.err(`Refused: ${error.message}\n`);
    return EXIT.failed;
  }
}

/** Columns side by side; the first to the left, numbers to the right. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (all, row) => row.map((cell, at) => Math.max(all[at] ?? 0, cell.length)),
    [],
  );
  return rows
    .map((row) =>
      row
        .map((cell, at) =>
          /^[\d.]+( %)?$/.test(cell) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export const OPERATOR_OPTIONS = `  -c, --config FILE  the configuration the instance runs with; default: dsbc.yaml here, else
                     /etc/dsbc/dsbc.yaml`;

/** The help of `adminOptions`. */
export const ADMIN_OPTIONS = `${OPERATOR_OPTIONS}
      --url URL      where its admin API is, instead: http://127.0.0.1:8090; or DSBC_ADMIN_URL in the environment
      --token-file FILE  the token, instead of admin.token; with --url also DSBC_ADMIN_TOKEN in the environment`;
