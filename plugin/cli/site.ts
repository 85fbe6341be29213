import { userInfo } from 'node:os';
import type { GroupView, ReloadView, SiteView } from '../admin/views';
import { EXIT, UsageError, type Command } from './command';
import { ADMIN_OPTIONS, adminOptions, carryOut, clientFor, columns } from './operator';
import { parseOptions } from './options';
import { heldBack, nodeRows, operatorText } from './site-text';

const STATES = ['maintenance', 'active', 'drain'] as const;

export const siteCommand: Command = {
  name: 'site',
  summary: 'Take a site out of service, drain it, or bring it back',
  usage: `Usage: dsbc site maintenance|drain|active SYSTEM/SITE [-c FILE] [--node URI] [--why TEXT] [--force]
       dsbc site list [-c FILE]

maintenance  nothing is sent there; its share is split equally over the other active sites of the system
drain        accounts that are there stay, new ones go elsewhere
active       back in service; its accounts return with their next request

The decision is kept in the registry: every instance follows within 2 seconds, and it holds over restarts
and reloads. It is refused if no active site of the system would be left, and by a standby whose registry is its
own (LMDB, memory): say it on the active, the others follow.

A site and its nodes have a state each, and the stricter holds: what is held back so is told, with who said it.

Options:
${ADMIN_OPTIONS}
      --node URI     only this node of the site
      --why TEXT     shown to whoever looks
      --force        also if it leaves the system without an active site

Examples:
  dsbc site maintenance source/main --why "update to MR120"
  dsbc site active source/main

Exit codes: 1 refused, or held back by a stricter state.`,

  run(argv, io) {
    const { values, positionals } = parseOptions(
      argv,
      {
        ...adminOptions,
        node: { type: 'string' },
        why: { type: 'string', default: '' },
        force: { type: 'boolean' },
      },
      ['maintenance|drain|active|list', '[SYSTEM/SITE]'],
    );
    const [action = '', place] = positionals;
    if (action === 'list') {
      return carryOut(io, async () => {
        const { sites } = await (await clientFor(values, io)).get<{ sites: SiteView[] }>('/v1/sites');
        const rows = sites.flatMap((site) => [
          [`${site.system}/${site.site}`, site.state, operatorText(site.operator)],
          ...nodeRows(site).map(([uri, ...said]) => [`  ${uri}`, ...said]),
        ]);
        io.out(`${columns(rows)}\n`);
      });
    }
    const state = STATES.find((each) => each === action);
    if (state === undefined) throw new UsageError(`"${action}" is none of ${STATES.join(', ')}, list`);
    const path = sitePath(place);
    let isHeld = false;
    const done = carryOut(io, async () => {
      const site = await (
        await clientFor(values, io)
      ).put<SiteView>(`${path}/state`, {
        state,
        ...(values.node === undefined ? {} : { node: values.node }),
        why: values.why,
        by: userInfo().username,
        force: values.force ?? false,
      });
      const node = site.nodes.find(({ uri }) => uri === values.node);
      // Health shows before a drain, which holds all the same.
      const shown = (now: string): string =>
        now === 'down' && state === 'drain' ? 'down, and in drain' : now;
      const what =
        node === undefined
          ? shown(site.state)
          : `node ${node.uri} is ${shown(node.state)}, the site ${site.state}`;
      const held = heldBack(site, state, values.node);
      io.out(
        [`${site.system}/${site.site}${node === undefined ? ' is ' : ': '}${what}`, ...held, ''].join('\n'),
      );
      const { state: now } = node ?? site;
      isHeld = held.length > 0 && now !== state && now !== 'down';
    });
    return done.then((code) => (isHeld ? EXIT.failed : code));
  },
};

/** `/v1/sites/SYSTEM/SITE` of `SYSTEM/SITE`. */
export function sitePath(place: string | undefined): string {
  const [system, site, ...rest] = (place ?? '').split('/');
  if (system === undefined || system === '' || site === undefined || site === '' || rest.length > 0)
    throw new UsageError('say which site: SYSTEM/SITE');
  return `/v1/sites/${encodeURIComponent(system)}/${encodeURIComponent(site)}`;
}

export const reloadCommand: Command = {
  name: 'reload',
  summary: 'Make the running instance read its configuration again',
  usage: `Usage: dsbc reload [-c FILE]

Makes the running instance read its configuration file again, the one it was started with. A file with an
error changes nothing. Requests under way end under the old configuration; health and the decisions of
operators are kept. What only a restart applies is named.

Options:
${ADMIN_OPTIONS}`,

  run(argv, io) {
    const { values } = parseOptions(argv, adminOptions);
    return carryOut(io, async () => {
      const { needs_restart: restart } = await (await clientFor(values, io)).post<ReloadView>('/v1/reload');
      io.out(`Reloaded.${restart.length === 0 ? '' : ` Only a restart applies: ${restart.join(', ')}.`}\n`);
    });
  },
};

export const handoverCommand: Command = {
  name: 'handover',
  summary: 'Hand the virtual IP over to another instance',
  usage: `Usage: dsbc handover [INSTANCE] [-c FILE]

Hands the virtual IP of the group over, to the named instance or to the best one. Run it on the active
instance. Takes milliseconds; requests under way finish first. Refused if the other is not ready.

Options:
${ADMIN_OPTIONS}`,

  run(argv, io) {
    const { values, positionals } = parseOptions(argv, adminOptions, ['[INSTANCE]']);
    const [to] = positionals;
    return carryOut(io, async () => {
      const client = await clientFor(values, io);
      const group = await client.post<GroupView>('/v1/ha/handover', to === undefined ? {} : { to });
      io.out(`${group.instance} is ${group.state}\n`);
    });
  },
};
