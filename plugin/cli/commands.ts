import type { Command } from './command';
import { checkCommand } from './check';
import { customerCommand } from './customer';
import { demoCommand } from './demo';
import { explainCommand } from './explain';
import { haCommand } from './ha';
import { helpCommand } from './help';
import { registryCommand } from './registry';
import { runCommand } from './run';
import { handoverCommand, reloadCommand, siteCommand } from './site';
import { flowsCommand, statusCommand } from './status';
import { updateCommand } from './update/update';
import { versionCommand } from './version';

/** Every command, in the order `dsbc help` lists them. */
export const COMMANDS: readonly Command[] = [
  runCommand,
  demoCommand,
  checkCommand,
  explainCommand,
  statusCommand,
  siteCommand,
  updateCommand,
  reloadCommand,
  handoverCommand,
  haCommand,
  flowsCommand,
  registryCommand,
  customerCommand,
  helpCommand(() => COMMANDS),
  versionCommand,
];
