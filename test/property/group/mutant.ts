import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { transformSync } from '@swc/core';
import type { StepFunction } from './world';

const PLUGIN = join(__dirname, '../../../plugin');

export interface Mutation {
  readonly file: string;
  /** Must occur exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** Compiles the core with one rule changed and gives its step function. */
export function mutantStep(mutation: Mutation): { step: StepFunction; dispose: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'dsbc-mutant-'));
  const files = [
    'errors.ts',
    ...['ha/group', 'ha/lease'].flatMap((room) =>
      readdirSync(join(PLUGIN, room)).map((name) => `${room}/${name}`),
    ),
  ];
  let applied = 0;
  for (const file of files) {
    let source = readFileSync(join(PLUGIN, file), 'utf8');
    if (file === mutation.file) {
      applied = source.split(mutation.find).length - 1;
      source = source.replace(mutation.find, mutation.replace);
    }
    const { code } = transformSync(source, {
      filename: file,
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
      module: { type: 'commonjs' },
    });
    const target = join(directory, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, code);
  }
  if (applied !== 1) throw new Error(`the rule to change occurs ${applied} times in ${mutation.file}`);
  const load = createRequire(join(directory, 'index.js'));
  const { step } = load('./ha/group/machine.js') as { step: StepFunction };
  return { step, dispose: () => rmSync(directory, { recursive: true, force: true }) };
}
