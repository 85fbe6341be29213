import type { GroupView } from '../admin/views';
import { UsageError, type Command } from './command';
import { ADMIN_OPTIONS, adminOptions, carryOut, clientFor } from './operator';
import { parseOptions } from './options';

export const haCommand: Command = {
  name: 'ha',
  summary: 'Take an instance of the group out, or let it serve again',
  usage: `Usage: dsbc ha maintenance on|off [-c FILE]

maintenance on   this instance hands the virtual IP over if it has it, and takes it no more; refused if nobody
                 else could serve
maintenance off  it may take the virtual IP again when its turn comes

Options:
${ADMIN_OPTIONS}

Example:
  dsbc ha maintenance on`,

  run(argv, io) {
    const { values, positionals } = parseOptions(argv, adminOptions, ['maintenance', 'on|off']);
    const [what, order] = positionals;
    if (what !== 'maintenance') throw new UsageError(`"${what ?? ''}" is not "maintenance"`);
    if (order !== 'on' && order !== 'off') throw new UsageError(`"${order ?? ''}" is none of on, off`);
    return carryOut(io, async () => {
      const client = await clientFor(values, io);
      const group = await client.post<GroupView>('/v1/ha/maintenance', { on: order === 'on' });
      io.out(`${group.instance} is ${group.state}\n`);
    });
  },
};
