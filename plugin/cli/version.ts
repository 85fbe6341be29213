import { packageVersion } from '../operation/version';
import { EXIT, type Command } from './command';
import { parseOptions } from './options';

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
