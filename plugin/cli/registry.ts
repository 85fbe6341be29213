import { loadConfig } from '../config/load';
import type { Config, RegistryConfig } from '../config/types';
import { initialiseRegistry, openRegistry, whyMissing } from '../registry/open';
import { createMemoryRegistry } from '../registry/memory';
import { KEY_KINDS } from '../registry/registry';
import type { KeyKind, Registry, RegistryEntry } from '../registry/registry';
import { EXIT, UsageError, type Command, type Io } from './command';
import { configFile, configOption, parseOptions } from './options';
import { benchRegistry } from './registry-bench';
import { exportRegistry, importRegistry } from './registry-transfer';
import { whyUnfound } from './unfound-keys';
import { UnknownNames } from './unknown-names';

/**
 * What to do where there is no registry file yet: refuse, make one, or take it for empty after telling. Making one where somebody
 * only looks would hide a wrong path, and make files for the wrong user.
 */
export type IfMissing = 'refuse' | 'make' | ((why: string) => void);

/** Opens the registry a configuration file names, for as long as `work` takes. */
export async function withRegistry<T>(
  file: string,
  work: (registry: Registry, config: RegistryConfig, systems: Config['systems']) => Promise<T>,
  ifMissing: IfMissing = 'refuse',
): Promise<T> {
  const config = await loadConfig(file);
  if (config.registry.driver === 'memory') {
    throw new UsageError(
      'the configuration says "driver: memory": that registry is in the process that serves and nowhere else',
    );
  }
  const missing = typeof ifMissing === 'function' ? whyMissing(config.registry) : undefined;
  if (typeof ifMissing === 'function' && missing !== undefined) ifMissing(missing);
  const registry =
    missing === undefined
      ? await openRegistry(config.registry, { mustConnect: true, mustExist: ifMissing === 'refuse' })
      : createMemoryRegistry();
  try {
    return await work(registry, config.registry, config.systems);
  } finally {
    await registry.close();
  }
}

type Action = (argv: readonly string[], io: Io) => Promise<number>;

const kindOption = { kind: { type: 'string' } } as const;

function kindOf(text: string | undefined): KeyKind | undefined {
  const kind = KEY_KINDS.find((each) => each === text);
  if (text !== undefined && kind === undefined)
    throw new UsageError(`--kind is one of ${KEY_KINDS.join(', ')}`);
  return kind;
}

const init: Action = async (argv, io) => {
  const { values } = parseOptions(argv, configOption);
  const { registry } = await loadConfig(configFile(values));
  const done = await initialiseRegistry(registry);
  for (const line of done) io.out(`applied migration ${line}\n`);
  io.out(done.length === 0 ? 'the registry is ready; nothing was to be done\n' : 'the registry is ready\n');
  return EXIT.ok;
};

const get: Action = async (argv, io) => {
  const { values, positionals } = parseOptions(
    argv,
    { ...configOption, ...kindOption, json: { type: 'boolean' } },
    ['KEY'],
  );
  const [value = ''] = positionals;
  const kind = kindOf(values.kind);
  return withRegistry(configFile(values), async (registry) => {
    let found = 0;
    for (const each of kind === undefined ? KEY_KINDS : [kind]) {
      const entry = await registry.get({ kind: each, value });
      const answer = await registry.lookup({ kind: each, value });
      if (entry === null) continue;
      found += 1;
      io.out(
        values.json === true
          ? `${JSON.stringify({ entry, answer })}\n`
          : `${described(entry, answer?.system)}\n`,
      );
    }
    if (found === 0) io.err(`the registry does not know "${value}"\n`);
    return found === 0 ? EXIT.failed : EXIT.ok;
  });
};

function described(entry: RegistryEntry, activeIn: string | undefined): string {
  const { kind, value, system, account, site, customer, blocked } = entry;
  const more = [
    account === undefined ? '' : `, rings account ${account}`,
    site === undefined ? '' : `, pinned to site ${site}`,
    customer === undefined ? '' : `, of customer ${customer}`,
    blocked === true ? ', blocked' : '',
    activeIn === undefined || activeIn === system
      ? ''
      : `; served by ${activeIn}, because of its customer's status`,
  ];
  return `${kind} ${value}: system ${system}${more.join('')}`;
}

const put: Action = async (argv, io) => {
  const { values, positionals } = parseOptions(
    argv,
    {
      ...configOption,
      ...kindOption,
      system: { type: 'string' },
      account: { type: 'string' },
      site: { type: 'string' },
      customer: { type: 'string' },
      blocked: { type: 'boolean' },
    },
    ['KEY'],
  );
  const { system, account, site, customer, blocked } = values;
  const kind = kindOf(values.kind);
  if (kind === undefined || system === undefined) throw new UsageError('--kind and --system are needed');
  const entry: RegistryEntry = {
    kind,
    value: positionals[0] ?? '',
    system,
    ...(account === undefined ? {} : { account }),
    ...(site === undefined ? {} : { site }),
    ...(customer === undefined ? {} : { customer }),
    ...(blocked === undefined ? {} : { blocked }),
  };
  return withRegistry(
    configFile(values),
    async (registry, _config, systems) => {
      const unknown = new UnknownNames(systems);
      unknown.see(1, { type: 'entry', entry });
      for (const { name } of unknown.list) io.err(`warning: the configuration has no ${name}\n`);
      const unfound = whyUnfound(entry);
      if (unfound !== undefined) io.err(`warning: ${unfound}\n`);
      await registry.put(entry);
      const answer = await registry.lookup(entry);
      io.out(`${described(entry, answer?.system)}\n`);
      return EXIT.ok;
    },
    'make',
  );
};

const remove: Action = async (argv, io) => {
  const { values, positionals } = parseOptions(argv, { ...configOption, ...kindOption }, ['KEY']);
  const kind = kindOf(values.kind);
  if (kind === undefined) throw new UsageError('--kind is needed');
  const [value = ''] = positionals;
  return withRegistry(configFile(values), async (registry) => {
    const existed = await registry.delete({ kind, value });
    if (!existed) io.err(`the registry does not know the ${kind} "${value}"\n`);
    else io.out(`deleted ${kind} ${value}\n`);
    return existed ? EXIT.ok : EXIT.failed;
  });
};

const ACTIONS: Readonly<Record<string, Action>> = {
  init,
  get,
  put,
  delete: remove,
  import: (argv, io) => importRegistry(argv, io, withRegistry),
  export: (argv, io) => exportRegistry(argv, io, withRegistry),
  bench: (argv, io) => benchRegistry(argv, io, withRegistry),
};

export const registryCommand: Command = {
  name: 'registry',
  summary: 'Look into, change, import, export and measure the forwarding registry',
  usage: `Usage: dsbc registry init [-c FILE]
       dsbc registry get KEY [--kind account|did] [--json]
       dsbc registry put KEY --kind account|did --system NAME [--account ID] [--site NAME] [--customer ID] [--blocked]
       dsbc registry delete KEY --kind account|did
       dsbc registry import FILE [--format csv|jsonl] [--dry-run] [--replace [--yes]] [--restart] [--report FILE]
       dsbc registry export FILE|- [--format csv|jsonl]
       dsbc registry bench [--keys N] [--json]

Works on the registry that the configuration names, while instances run: they hear of every change within 2 s.
Where the registry is a file that is not there, put and import make it; the others say so and exit 1.

init     makes the file, or in Cassandra the keyspace and its tables; may be repeated, also from several instances.
get      shows what is stored for a key, and which system serves it now.
put      stores an entry, replacing the one there is.
delete   removes an entry.
import   brings in millions of rows. CSV has a header: kind,value,system[,account,site,customer,blocked]; a customer
         is a row of kind "customer" with its id in "value" and the columns source, target, exported. An import
         that was interrupted goes on where it was when it is started again. Lines that can't be imported are
         reported with their numbers and reasons in FILE.rejected. Systems and sites that the configuration does not
         have are imported and told, with the first line that names them: calls to such a system are answered 503, and
         an account of such a site is at none in particular.
export   writes everything, in a form that import reads.
bench    reads random keys for a few seconds and says how fast that is; changes nothing.

Options:
  -c, --config FILE  the configuration; default: dsbc.yaml here, else /etc/dsbc/dsbc.yaml
      --format NAME  csv or jsonl; default: by the file's name, else csv
      --dry-run      import: read and check only
      --replace      import: afterwards delete what the file does not have, of the kinds that occur in it; asks first
      --yes          don't ask
      --restart      import: begin from the first line, whatever was imported before
      --report FILE  import: where to report rejected lines; default: FILE.rejected
      --json         get, import, bench: print JSON

Examples:
  dsbc registry init
  dsbc registry put 1001 --kind account --system source --customer acme
  dsbc registry import accounts.csv --dry-run
  dsbc registry export - --format jsonl | gzip > registry.jsonl.gz

Exit codes: 1 if the key or the registry is not there, lines were rejected, the import was interrupted, or --replace was
not confirmed.`,

  run(argv, io) {
    const [name, ...rest] = argv;
    const action = name === undefined ? undefined : ACTIONS[name];
    if (action === undefined) {
      throw new UsageError(
        name === undefined || name.startsWith('-')
          ? `say what to do: ${Object.keys(ACTIONS).join(', ')}`
          : `there is no "registry ${name}"`,
      );
    }
    return action(rest, io);
  },
};
