import type { Config } from '../config/types';
import type { Customer, Registry } from '../registry/registry';
import { EXIT, UsageError, type Command, type Io } from './command';
import { configFile, configOption, parseOptions } from './options';
import { withRegistry } from './registry';

const describe = ({ id, source, target, exported }: Customer): string =>
  `customer ${id}: served by ${exported ? `${target} (exported from ${source})` : `${source} (may move to ${target})`}`;

function say(io: Io, customer: Customer, json: boolean | undefined): void {
  io.out(json === true ? `${JSON.stringify(customer)}\n` : `${describe(customer)}\n`);
}

async function show(
  registry: Registry,
  id: string | undefined,
  io: Io,
  json: boolean | undefined,
): Promise<number> {
  if (id === undefined) {
    for await (const customer of registry.customers()) say(io, customer, json);
    return EXIT.ok;
  }
  const customer = await registry.getCustomer(id);
  if (customer === null) {
    io.err(`the registry does not know the customer "${id}"\n`);
    return EXIT.failed;
  }
  say(io, customer, json);
  return EXIT.ok;
}

interface Move {
  readonly id: string;
  readonly exported: boolean;
  readonly source: string | undefined;
  readonly target: string | undefined;
}

/**
 * One write; the systems need to be given only for a customer that is new to the registry. A system that is given, and the
 * one that is to serve, must be configured: requests to another one would be answered 503.
 */
async function move(
  registry: Registry,
  systems: Config['systems'],
  wanted: Move,
  io: Io,
  json: boolean | undefined,
): Promise<number> {
  checkSystem('--from', wanted.source, systems);
  checkSystem('--to', wanted.target, systems);
  const known = await registry.getCustomer(wanted.id);
  const source = wanted.source ?? known?.source;
  const target = wanted.target ?? known?.target;
  if (source === undefined || target === undefined) {
    throw new UsageError(
      `the registry does not know the customer "${wanted.id}": say --from SYSTEM and --to SYSTEM`,
    );
  }
  checkSystem(`customer "${wanted.id}"`, wanted.exported ? target : source, systems);
  const customer: Customer = { id: wanted.id, source, target, exported: wanted.exported };
  if (known === null) io.err(newCustomer(wanted.id));
  await registry.putCustomer(customer);
  say(io, customer, json);
  return EXIT.ok;
}

function checkSystem(what: string, name: string | undefined, systems: Config['systems']): void {
  if (name === undefined || Object.hasOwn(systems, name)) return;
  throw new UsageError(
    `${what}: the configuration has no system "${name}", it has ${Object.keys(systems).join(', ')}`,
  );
}

const newCustomer = (id: string): string =>
  `note: the registry did not know the customer "${id}": what moves are the accounts and DIDs that name it as theirs (registry put KEY --customer ${id})\n`;

const ACTIONS = ['show', 'export', 'rollback'] as const;

export const customerCommand: Command = {
  name: 'customer',
  summary: 'Move a customer between two systems, and back',
  usage: `Usage: dsbc customer show [ID] [-c FILE] [--json]
       dsbc customer export ID [--from SYSTEM --to SYSTEM] [-c FILE] [--json]
       dsbc customer rollback ID [-c FILE] [--json]

A customer that is being migrated exists in two systems. "export" makes all its accounts and DIDs served by the system
it moves to, "rollback" by the one it came from: one write each, which every instance follows within 2 s. Calls in
progress are not touched. A system that the configuration does not have is refused.

Options:
  -c, --config FILE  the configuration; default: dsbc.yaml here, else /etc/dsbc/dsbc.yaml
      --from SYSTEM  the system it comes from; needed the first time
      --to SYSTEM    the system it moves to; needed the first time
      --json         print JSON

Examples:
  dsbc customer export acme --from source --to target
  dsbc customer rollback acme

Exit codes: 1 if the customer or the registry is not there.`,

  run(argv, io) {
    const [word, ...rest] = argv;
    const action = ACTIONS.find((each) => each === word);
    if (action === undefined)
      throw new UsageError(
        word === undefined || word.startsWith('-')
          ? `say what to do: ${ACTIONS.join(', ')}`
          : `there is no "customer ${word}"`,
      );
    const { values, positionals } = parseOptions(
      rest,
      { ...configOption, from: { type: 'string' }, to: { type: 'string' }, json: { type: 'boolean' } },
      [action === 'show' ? '[ID]' : 'ID'],
    );
    const [id] = positionals;
    return withRegistry(configFile(values), (registry, _config, systems) => {
      if (action === 'show') return show(registry, id, io, values.json);
      const wanted = {
        id: id ?? '',
        exported: action === 'export',
        source: values.from,
        target: values.to,
      };
      return move(registry, systems, wanted, io, values.json);
    });
  },
};
