import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, type Command } from './command';
import { parseOptions } from './options';

/** Version of this package, from its package.json (two levels above, in the sources and when built). */
export function packageVersion(): string {
  const text = readFileSync(join(__dirname, '../../package.json'), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  return version;
}

export const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version of dsbc and of Node',
  usage: `Usage: dsbc version

Prints the version of drachtio-dsbc and of the Node that runs it.`,
  run(argv, io) {
    parseOptions(argv, {});
    io.out(`drachtio-dsbc ${packageVersion()} on Node ${process.versions.node}\n`);
    return Promise.resolve(EXIT.ok);
  },
};
