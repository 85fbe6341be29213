import type { FlowsView, GroupView, SiteView, StatusView } from '../admin/views';
import type { AdminClient } from './admin-client';
import { Refused } from './admin-client';
import { EXIT, UsageError, type Command } from './command';
import { ADMIN_OPTIONS, adminOptions, carryOut, clientFor, columns } from './operator';
import { parseOptions } from './options';
import { nodeRows, operatorText } from './site-text';

export const statusCommand: Command = {
  name: 'status',
  summary: 'Show how the running instance is: sites, shares, traffic, group',
  usage: `Usage: dsbc status [-c FILE] [--json]

Shows the running instance: whether it is ready, its SIP servers, every site with its state, share and
traffic, the registry, whether the native addon runs and why, and the group.

Options:
${ADMIN_OPTIONS}
      --json         print one JSON object

Exit codes: 0 ready, or a standby that could take over now; 1 not ready, or a SIP server is not connected or does
not listen on its entry address; 5 it can't be reached.`,

  async run(argv, io) {
    const { values } = parseOptions(argv, { ...adminOptions, json: { type: 'boolean' } });
    const client = await clientFor(values, io);
    const [status, { sites }, group] = await Promise.all([
      client.get<StatusView>('/v1/status'),
      client.get<{ sites: SiteView[] }>('/v1/sites'),
      groupOf(client),
    ]);
    if (values.json === true) io.out(`${JSON.stringify({ status, sites, group })}\n`);
    else io.out(`${statusText(status, sites, group)}\n`);
    const isUp = status.ready || canTakeOver(status, group);
    return isUp && serverTroubles(status).length === 0 ? EXIT.ok : EXIT.failed;
  },
};

/** As many as the admin API gives at once. */
const MAX_FLOWS = 10_000;

export const flowsCommand: Command = {
  name: 'flows',
  summary: 'List registrations that went through the running instance',
  usage: `Usage: dsbc flows [-c FILE] [--search TEXT] [--limit N] [--json]

Lists registrations that went through the running instance: address of record, way to the device, time
left, and whether it is pinged.

Options:
${ADMIN_OPTIONS}
      --search TEXT  only addresses of record that contain this
      --limit N      at most so many, up to 10000; default 100
      --json         print one JSON object

Example:
  dsbc flows --search 1001@`,

  run(argv, io) {
    const { values } = parseOptions(argv, {
      ...adminOptions,
      search: { type: 'string', default: '' },
      limit: { type: 'string', default: '100' },
      json: { type: 'boolean' },
    });
    if (!/^\d{1,5}$/.test(values.limit) || Number(values.limit) > MAX_FLOWS)
      throw new UsageError(`--limit is a number from 0 to ${MAX_FLOWS}, not "${values.limit}"`);
    return carryOut(io, async () => {
      const query = new URLSearchParams({ search: values.search, limit: values.limit });
      const flows = await (await clientFor(values, io)).get<FlowsView>(`/v1/flows?${query.toString()}`);
      if (values.json === true) {
        io.out(`${JSON.stringify(flows)}\n`);
        return;
      }
      const rows = flows.list.map((each) => [
        each.aor,
        each.transport,
        `${each.remote.address}:${each.remote.port}`,
        `via ${each.entry.address}`,
        `${each.expires_in_s} s`,
        each.pinged ? 'pinged' : each.misses > 0 ? 'does not answer' : '',
      ]);
      const found =
        values.search === ''
          ? ''
          : `, ${flows.more ? `more than ${rows.length}` : rows.length === 0 ? 'none' : rows.length} with "${values.search}"`;
      io.out(`${flows.bindings} registrations over ${flows.flows} flows${found}\n`);
      if (rows.length > 0) io.out(`${columns(rows)}\n`);
      if (flows.more) {
        const all = values.search === '' ? ` of ${flows.bindings}` : '';
        io.out(`… the first ${rows.length}${all}; --limit N shows more, --search TEXT fewer\n`);
      }
    });
  },
};

/** The group, or null for an instance that stands alone. */
export async function groupOf(client: AdminClient): Promise<GroupView | null> {
  try {
    return await client.get<GroupView>('/v1/ha');
  } catch (error) {
    if (error instanceof Refused && error.problem.status === 404) return null;
    throw error;
  }
}

/** A standby of the group does not serve and is not meant to; the state says that its links and its SIP server are well. */
const canTakeOver = (status: StatusView, group: GroupView | null): boolean =>
  status.state === 'running' && group?.state === 'STANDBY' && group.sip_healthy;

/** What keeps a part of the service from callers, though the rest is ready. */
const serverTroubles = ({ sip_servers: servers }: StatusView): readonly string[] =>
  servers.flatMap(({ name, state, trouble }) => {
    if (state === 'connected') return trouble === '' ? [] : [trouble];
    return [`SIP server ${name} is ${state}${trouble === '' ? '' : `: ${trouble}`}`];
  });

const nativeText = ({ running, mode, reason }: NonNullable<StatusView['native']>): string =>
  `${running === 'native' ? 'native addon' : 'TypeScript, without the native addon'} (native: ${mode}): ${reason}`;

const registryText = ({ driver, up, trouble }: StatusView['registry']): string =>
  up ? `${driver} up` : `${driver} away: ${trouble}`;

/** Said only where something is to be done about it. */
const logServerLines = ({ log_server: server, log_lines_dropped: dropped }: StatusView): string[] =>
  server === null || server.up ? [] : [`LogServer not reached: ${server.trouble}; ${dropped} lines dropped`];

function statusText(status: StatusView, sites: readonly SiteView[], group: GroupView | null): string {
  const percent = (share: number): string => `${Number((share * 100).toFixed(1))} %`;
  const sum = (counts: Readonly<Record<string, number>>): string =>
    String(Object.values(counts).reduce((total, count) => total + count, 0));
  const up = status.ready ? 'ready' : canTakeOver(status, group) ? 'standby, ready to take over' : undefined;
  const troubles = serverTroubles(status).map((trouble) => `; but ${trouble}`);
  const is = up === undefined ? `not ready: ${status.reasons.join('; ')}` : `${up}${troubles.join('')}`;
  const head = `${status.instance} (version ${status.version}, up ${status.uptime_s} s): ${is}`;
  const servers = columns(
    status.sip_servers.map(({ name, server, address, port, state, trouble }) => [
      name,
      server,
      `${address}:${port}`,
      state,
      trouble,
    ]),
  );
  const rows = sites.flatMap((site) => [
    [
      `${site.system}/${site.site}`,
      site.state,
      percent(site.share_configured),
      percent(site.share_now),
      sum(site.requests),
      operatorText(site.operator),
    ],
    ...nodeRows(site).map(([uri, state, why]) => [`  ${uri}`, state, '', '', '', why]),
  ]);
  return [
    head,
    `${status.in_flight} requests under way, ${sum(status.requests)} since start; registry ${registryText(status.registry)}`,
    ...(status.native === null ? [] : [nativeText(status.native)]),
    ...logServerLines(status),
    '',
    servers,
    '',
    columns([['site', 'state', 'share', 'now', 'requests', 'why'], ...rows]),
    ...(group === null ? [] : ['', groupText(group)]),
  ].join('\n');
}

function groupText(group: GroupView): string {
  const own = [
    group.instance,
    group.state,
    `${group.active_links} service links`,
    group.holds_vips ? `holds ${group.vips.join(', ')}` : '',
  ];
  const peers = group.peers.map((peer) => [
    peer.instance,
    peer.state,
    `${peer.active_links} service links`,
    peer.heard_ms_ago === null ? 'never heard' : `heard ${peer.heard_ms_ago} ms ago`,
  ]);
  const alarms = group.alarms.map(({ name, about }) => `Alarm: ${name} ${about}`);
  const why =
    group.reason === ''
      ? []
      : [`${group.state} since ${Math.round(group.state_for_ms / 1000)} s: ${group.reason}`];
  const refused = Object.entries(group.heartbeats_refused).filter(([, total]) => total > 0);
  const counted =
    refused.length === 0
      ? []
      : [`Heartbeats refused: ${refused.map(([reason, total]) => `${total} ${reason}`).join(', ')}`];
  return [`group ${group.group}`, columns([own, ...peers]), ...why, ...alarms, ...counted].join('\n');
}
