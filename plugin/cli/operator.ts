import { loadConfig } from '../config/load';
import { DsbcError } from '../errors';
import { AdminClient, Refused } from './admin-client';
import { EXIT, type Io } from './command';
import { configFile } from './options';

/** A client for the instance that runs with this configuration file. */
export async function clientFor(values: { readonly config?: string | undefined }): Promise<AdminClient> {
  const { admin } = await loadConfig(configFile(values));
  if (!admin.enabled)
    throw new DsbcError('DSBC_ADMIN_UNREACHABLE', 'the admin API is switched off (admin.enabled: false)');
  return new AdminClient(admin);
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

export const OPERATOR_OPTIONS = `  -c, --config FILE  the configuration the instance runs with; default: dsbc.yaml`;
