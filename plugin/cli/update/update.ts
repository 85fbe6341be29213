import { readFile, rename, writeFile } from 'node:fs/promises';
import { loadConfig } from '../../config/load';
import type { Config } from '../../config/types';
import { AdminClient, Refused } from '../admin-client';
import { EXIT, UsageError, type Command, type Io } from '../command';
import { clientFor, OPERATOR_OPTIONS } from '../operator';
import { configFile, configOption, parseOptions } from '../options';
import { carryOutStep, NotNow, PATIENCE, type Patience } from './carry-out';
import { describeStep, handWork, makePlan, readPlan, type UpdatePlan } from './plan';

const options = {
  ...configOption,
  state: { type: 'string', default: 'dsbc-update.json' },
  system: { type: 'string' },
  main: { type: 'string' },
  json: { type: 'boolean' },
} as const;

interface Values {
  readonly config?: string | undefined;
  readonly state: string;
  readonly system?: string | undefined;
  readonly main?: string | undefined;
  readonly json?: boolean | undefined;
}

export const updateCommand: Command = {
  name: 'update',
  summary: 'Lead through a zero-downtime update, step by step',
  usage: `Usage: dsbc update plan [-c FILE] [--system NAME] [--main SITE] [--state FILE]
       dsbc update next|status [-c FILE] [--state FILE] [--json]

plan    writes the steps: main site out, updated, back; DSBC servers one by one, the active one last;
        each secondary site out, updated, back
next    checks live that the next step is safe, does it, and says what you do by hand before the one after it;
        refuses, with the reason, what would break service, and then nothing has changed
status  shows the steps and how far they are

The plan is kept in a file, because the instances themselves restart meanwhile. Nothing is ever done by itself.

Options:
${OPERATOR_OPTIONS}
      --system NAME  the system that is updated; default: default_system, or the only one
      --main SITE    its main site; default: the first in the configuration
      --state FILE   where the plan is kept; default: dsbc-update.json
      --json         print one JSON object (status)

Example:
  dsbc update plan --system source && dsbc update next

Exit codes: 0 done, 1 refused, 5 the running instance can't be reached.`,

  run(argv, io) {
    return runUpdate(argv, io, PATIENCE);
  },
};

/** The command with other patience, for tests. */
export async function runUpdate(argv: readonly string[], io: Io, patience: Patience): Promise<number> {
  const { values, positionals } = parseOptions(argv, options, ['plan|next|status']);
  switch (positionals[0]) {
    case 'plan':
      return plan(values, io);
    case 'next':
      return next(values, io, patience);
    case 'status':
      return show(values, io);
    default:
      throw new UsageError(`"${positionals[0] ?? ''}" is none of plan, next, status`);
  }
}

async function plan(values: Values, io: Io): Promise<number> {
  const before = await stored(values.state);
  if (before !== undefined && before.done > 0 && before.done < before.steps.length) {
    io.err(
      `Refused: ${values.state} holds a plan that is under way (step ${before.done} of ${before.steps.length} done). Finish it, or remove the file.\n`,
    );
    return EXIT.failed;
  }
  const config = await loadConfig(configFile(values));
  const made = makePlan(scopeOf(config, values, await activeInstance(config)), new Date().toISOString());
  await store(values.state, made);
  io.out(`${planText(made)}\nWritten to ${values.state}. Begin with: dsbc update next\n`);
  return EXIT.ok;
}

async function next(values: Values, io: Io, patience: Patience): Promise<number> {
  const current = await needed(values.state);
  const step = current.steps[current.done];
  if (step === undefined) {
    io.out('The update is complete.\n');
    return EXIT.ok;
  }
  io.out(`Step ${current.done + 1} of ${current.steps.length}: ${describeStep(step)}\n`);
  try {
    io.out(`${await carryOutStep(await clientFor(values), step, patience)}\n`);
  } catch (error) {
    if (!(error instanceof NotNow) && !(error instanceof Refused)) throw error;
    io.err(`Refused: ${error.message}. Nothing is marked as done; try again when it is mended.\n`);
    return EXIT.failed;
  }
  const done = { ...current, done: current.done + 1 };
  await store(values.state, done);
  const following = done.steps[done.done];
  io.out(
    `${handWork(step) ?? (following === undefined ? 'The update is complete.' : `Next: ${describeStep(following)}. Go on with: dsbc update next`)}\n`,
  );
  return EXIT.ok;
}

async function show(values: Values, io: Io): Promise<number> {
  const current = await needed(values.state);
  io.out(values.json === true ? `${JSON.stringify(current)}\n` : `${planText(current)}\n`);
  return EXIT.ok;
}

function scopeOf(config: Config, values: Values, active: string): Parameters<typeof makePlan>[0] {
  const names = Object.keys(config.systems);
  const system = values.system ?? config.default_system ?? (names.length === 1 ? names[0] : undefined);
  const found = system === undefined ? undefined : config.systems[system];
  if (system === undefined || found === undefined)
    throw new UsageError(`--system is one of ${names.join(', ')}`);
  const sites = Object.keys(found.sites);
  const main = values.main ?? sites[0] ?? '';
  if (!sites.includes(main)) throw new UsageError(`--main is one of ${sites.join(', ')}`);
  const instances =
    config.ha === undefined ? [] : [config.instance, ...config.ha.peers.map((peer) => peer.instance)];
  return {
    system,
    sites: [main, ...sites.filter((site) => site !== main)],
    instances: [
      ...instances.filter((each) => each !== active),
      ...instances.filter((each) => each === active),
    ],
  };
}

/** The active instance is updated last, so that the virtual IP moves once. */
async function activeInstance(config: Config): Promise<string> {
  if (config.ha === undefined) return config.instance;
  const group = await new AdminClient(config.admin).get<{
    state: string;
    instance: string;
    peers: { instance: string; state: string }[];
  }>('/v1/ha');
  if (group.state === 'ACTIVE') return group.instance;
  return group.peers.find((peer) => peer.state === 'ACTIVE')?.instance ?? config.instance;
}

function planText(current: UpdatePlan): string {
  return current.steps
    .map((step, index) => {
      const mark = index < current.done ? 'done' : index === current.done ? 'next' : '    ';
      return `  ${mark}  ${index + 1}. ${describeStep(step)}`;
    })
    .join('\n');
}

async function stored(file: string): Promise<UpdatePlan | undefined> {
  try {
    return readPlan(await readFile(file, 'utf8'));
  } catch {
    return undefined;
  }
}

async function needed(file: string): Promise<UpdatePlan> {
  const found = await stored(file);
  if (found === undefined)
    throw new UsageError(`there is no plan in ${file}; make one with "dsbc update plan"`);
  return found;
}

/** Whole or not at all: a half written plan would lose what is done. */
async function store(file: string, value: UpdatePlan): Promise<void> {
  const temporary = `${file}.new`;
  await writeFile(temporary, `${JSON.stringify(value, null, 2)}\n`);
  await rename(temporary, file);
}
