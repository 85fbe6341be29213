import type { Command } from './command';
import { checkCommand } from './check';
import { helpCommand } from './help';
import { versionCommand } from './version';

/** Every command, in the order `dsbc help` lists them. */
export const COMMANDS: readonly Command[] = [checkCommand, helpCommand(() => COMMANDS), versionCommand];
