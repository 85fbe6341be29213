import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { types } from 'node:util';
import { createInterface } from 'node:readline/promises';
import type { Config, RegistryConfig } from '../config/types';
import type { Registry } from '../registry/registry';
import { Checkpoint, fingerprintOf } from '../registry/transfer/checkpoint';
import { exportEntries } from '../registry/transfer/export';
import { importEntries } from '../registry/transfer/import';
import type { ImportPosition, ImportResult } from '../registry/transfer/import';
import { TRANSFER_FORMATS } from '../registry/transfer/row';
import type { TransferFormat } from '../registry/transfer/row';
import { SeenKeys } from '../registry/transfer/seen-keys';
import { EXIT, UsageError, type Io } from './command';
import { configFile, configOption, parseOptions } from './options';
import { ProgressBar } from './progress';
import type { IfMissing } from './registry';
import { RejectionReport } from './rejection-report';
import { UnfoundKeys } from './unfound-keys';
import { UnknownNames } from './unknown-names';

export type WithRegistry = <T>(
  file: string,
  work: (registry: Registry, config: RegistryConfig, systems: Config['systems']) => Promise<T>,
  ifMissing?: IfMissing,
) => Promise<T>;

/** How often the position of an import is written to disk, in ms; the first one at once. */
const CHECKPOINT_MS = 1000;
/** How many rejected lines are told on the screen, with their reasons; the report has them all. */
const FEW = 3;
/** How long a write is repeated while the registry is away, in ms; then the import ends and may be started again. */
const PATIENCE_MS = 60_000;

function formatOf(text: string | undefined, file: string): TransferFormat {
  const format = TRANSFER_FORMATS.find((each) => each === text);
  if (format !== undefined) return format;
  if (text !== undefined) throw new UsageError(`--format is one of ${TRANSFER_FORMATS.join(', ')}`);
  return /\.(jsonl|ndjson|json)$/i.test(file) ? 'jsonl' : 'csv';
}

const targetOf = (config: RegistryConfig): string =>
  config.driver === 'cassandra'
    ? `cassandra ${config.keyspace} ${config.contact_points.join(' ')}`
    : `lmdb ${config.driver === 'lmdb' ? config.path : ''}`;

export async function importRegistry(
  argv: readonly string[],
  io: Io,
  withRegistry: WithRegistry,
): Promise<number> {
  const { values, positionals } = parseOptions(
    argv,
    {
      ...configOption,
      format: { type: 'string' },
      'dry-run': { type: 'boolean' },
      replace: { type: 'boolean' },
      yes: { type: 'boolean' },
      restart: { type: 'boolean' },
      report: { type: 'string' },
      json: { type: 'boolean' },
    },
    ['FILE'],
  );
  const file = resolve(positionals[0] ?? '');
  const size = await sizeOf(file);
  const settings: ImportSettings = {
    file,
    size,
    format: formatOf(values.format, file),
    dryRun: values['dry-run'] === true,
    replace: values.replace === true,
    yes: values.yes === true,
    restart: values.restart === true,
    report: values.report ?? `${file}.rejected`,
    json: values.json === true,
  };
  return withRegistry(
    configFile(values),
    (registry, config, systems) =>
      new FileImport(settings, registry, targetOf(config), new UnknownNames(systems), io).run(),
    settings.dryRun ? (why) => io.err(`note: ${why}: the import would make it\n`) : 'make',
  );
}

async function sizeOf(file: string): Promise<number> {
  try {
    const found = await stat(file);
    if (!found.isDirectory()) return found.size;
  } catch (error) {
    throw new UsageError(`the file ${file} cannot be read: ${messageOf(error)}`);
  }
  throw new UsageError(`${file} is a folder, not a file`);
}

const messageOf = (error: unknown): string => (types.isNativeError(error) ? error.message : String(error));

interface ImportSettings {
  readonly file: string;
  readonly size: number;
  readonly format: TransferFormat;
  readonly dryRun: boolean;
  readonly replace: boolean;
  readonly yes: boolean;
  readonly restart: boolean;
  readonly report: string;
  readonly json: boolean;
}

/** One import of a file: resumes, reports, shows progress, and cleans up behind itself. */
class FileImport {
  readonly #settings: ImportSettings;
  readonly #registry: Registry;
  readonly #target: string;
  readonly #unknown: UnknownNames;
  readonly #unfound = new UnfoundKeys();
  readonly #io: Io;
  readonly #firstRejected: string[] = [];
  #saved = -Infinity;
  #saving: Promise<void> = Promise.resolve();

  constructor(settings: ImportSettings, registry: Registry, target: string, unknown: UnknownNames, io: Io) {
    this.#unknown = unknown;
    this.#settings = settings;
    this.#registry = registry;
    this.#target = target;
    this.#io = io;
  }

  async run(): Promise<number> {
    const { file, dryRun, replace, restart, report } = this.#settings;
    // An import that replaces needs all keys from the first line on: it can't go on from one that does not.
    const target = replace ? `${this.#target} replacing` : this.#target;
    const checkpoint = new Checkpoint(`${file}.progress`, await fingerprintOf(file, target));
    const seenPath = `${file}.seen.lmdb`;
    const resume = restart || dryRun ? undefined : await this.#position(checkpoint);
    if (resume === undefined) await removeSeen(seenPath);
    const seen = replace ? new SeenKeys(seenPath) : undefined;
    const rejections = await RejectionReport.open(report, resume?.lines ?? 0);
    const bar = new ProgressBar(this.#io, this.#settings.size);
    let last: ImportPosition | undefined = resume;
    try {
      const result = await importEntries({
        input: createReadStream(file, { start: resume?.offset ?? 0, highWaterMark: 262_144 }),
        format: this.#settings.format,
        store: this.#registry,
        dryRun,
        signal: this.#io.signal,
        patience: { ms: PATIENCE_MS, onWait: (error) => this.#tellWait(error) },
        ...(resume === undefined ? {} : { resume }),
        ...(seen === undefined ? {} : { replace: { seen, confirm: (count) => this.#confirm(count, bar) } }),
        onRow: (line, row) => {
          this.#unknown.see(line, row);
          this.#unfound.see(line, row);
        },
        onRejected: (line, reason, text) => {
          if (this.#firstRejected.length < FEW) this.#firstRejected.push(`line ${line}: ${reason}`);
          rejections.add(line, reason, text);
        },
        onProgress: (position) => {
          last = position;
          bar.show(position);
          if (!dryRun) this.#save(checkpoint, position, rejections);
        },
      });
      await rejections.flushed();
      await this.#end(checkpoint, result);
      bar.stop();
      return this.#say(result);
    } catch (error) {
      // What was stored stays stored: the next start goes on from here.
      if (last !== undefined && !dryRun) await checkpoint.write(last);
      throw error;
    } finally {
      bar.stop();
      await rejections.close();
      await seen?.close();
      if (last === undefined || !this.#unfinished) await removeSeen(seenPath);
    }
  }

  #unfinished = true;
  #toldOfWaiting = false;

  #tellWait(error: Error): void {
    if (!this.#toldOfWaiting) this.#io.err(`waiting for the registry: ${error.message}\n`);
    this.#toldOfWaiting = true;
  }

  async #position(checkpoint: Checkpoint): Promise<ImportPosition | undefined> {
    const position = await checkpoint.read();
    if (position === 'none') return undefined;
    if (position === 'other') {
      throw new UsageError(
        `${this.#settings.file}.progress belongs to another file, registry or way of importing: bring that to its end, or begin anew with --restart`,
      );
    }
    this.#io.err(`going on after line ${position.lines}\n`);
    return position;
  }

  #save(checkpoint: Checkpoint, position: ImportPosition, rejections: RejectionReport): void {
    const now = performance.now();
    if (now - this.#saved < CHECKPOINT_MS) return;
    this.#saved = now;
    this.#saving = this.#saving
      .then(() => rejections.flushed())
      .then(() => checkpoint.write(position))
      .catch((error: unknown) => this.#io.err(`the position cannot be saved: ${String(error)}\n`));
  }

  async #end(checkpoint: Checkpoint, { interrupted, position }: ImportResult): Promise<void> {
    await this.#saving;
    this.#unfinished = interrupted;
    if (this.#settings.dryRun) return;
    if (interrupted) await checkpoint.write(position);
    else await checkpoint.remove();
  }

  async #confirm(count: number, bar: ProgressBar): Promise<boolean> {
    bar.stop();
    if (this.#settings.yes) return true;
    if (!this.#io.isTerminal) {
      this.#io.err(`${count} entries would be deleted: say --yes to do it\n`);
      return false;
    }
    const ask = createInterface({ input: process.stdin, output: process.stderr });
    try {
      const answer = await ask.question(`Delete ${count} entries that are not in the file? [y/N] `, {
        signal: this.#io.signal,
      });
      return /^y(es)?$/i.test(answer.trim());
    } finally {
      ask.close();
    }
  }

  #say(result: ImportResult): number {
    const { lines, written, rejected, deleted, interrupted, notReplaced } = result;
    const { dryRun, report, json } = this.#settings;
    if (json) {
      this.#io.out(
        `${JSON.stringify({ lines, written, rejected, deleted, interrupted, notReplaced, dryRun, report, unknown: this.#unknown.list, unfound: this.#unfound.rows })}\n`,
      );
    } else {
      this.#io.out(
        `${lines} lines read, ${written} rows ${dryRun ? 'would be ' : ''}imported, ${rejected} rejected\n`,
      );
      for (const { name, rows, firstLine } of this.#unknown.list)
        this.#io.out(
          `warning: ${rows} ${rows === 1 ? 'row names' : 'rows name'} ${name}, which the configuration does not have; the first is line ${firstLine}\n`,
        );
      const { rows, first } = this.#unfound;
      if (first !== undefined)
        this.#io.out(
          `warning: ${first.why} (line ${first.line}${rows === 1 ? '' : `, and ${rows - 1} more like it`})\n`,
        );
      if (deleted > 0) this.#io.out(`${deleted} entries ${dryRun ? 'would be ' : ''}deleted\n`);
      if (notReplaced !== undefined)
        this.#io.out(
          `nothing was deleted: ${notReplaced}${notReplaced === 'not confirmed' ? ' (--yes confirms)' : ''}\n`,
        );
      for (const line of this.#firstRejected) this.#io.out(`  ${line}\n`);
      if (rejected > 0) this.#io.out(`rejected lines are in ${report}\n`);
      if (interrupted) this.#io.out('interrupted: start it again to go on\n');
    }
    return rejected > 0 || interrupted || notReplaced !== undefined ? EXIT.failed : EXIT.ok;
  }
}

/** A file to write to, made or emptied. */
async function writable(file: string): Promise<WriteStream> {
  const stream = createWriteStream(file);
  try {
    await once(stream, 'open');
  } catch (error) {
    throw new UsageError(`the file ${file} cannot be written: ${messageOf(error)}`);
  }
  return stream;
}

async function closed(stream: WriteStream): Promise<void> {
  stream.end();
  await once(stream, 'close');
}

async function removeSeen(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}-lock`, { force: true });
}

export async function exportRegistry(
  argv: readonly string[],
  io: Io,
  withRegistry: WithRegistry,
): Promise<number> {
  const { values, positionals } = parseOptions(argv, { ...configOption, format: { type: 'string' } }, [
    'FILE',
  ]);
  const [file = ''] = positionals;
  const format = formatOf(values.format, file);
  return withRegistry(configFile(values), async (registry) => {
    const stream = file === '-' ? undefined : await writable(file);
    const write = async (text: string): Promise<void> => {
      if (stream === undefined) io.out(text);
      else if (!stream.write(text)) await once(stream, 'drain');
    };
    const { rows, interrupted } = await exportEntries({ store: registry, format, write, signal: io.signal });
    if (stream !== undefined) await closed(stream);
    io.err(`${rows} rows exported${interrupted ? ', then interrupted' : ''}\n`);
    return interrupted ? EXIT.failed : EXIT.ok;
  });
}
