import { types } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import { DsbcError } from '../errors';
import type { Logger } from '../telemetry/logger';
import { HeartbeatSockets } from './heartbeat/sockets';
import { LinkMonitor } from './link-monitor';
import type { Network, NetworkModule } from './ports';
import { GroupRunner } from './runner';
import { monotonicMs } from './suspend-watch';
import { canonicalVips, machineConfig } from './settings';
import { SharedClockwork } from './shared-clockwork';
import { statusOf } from './status';
import { CommandAnnouncer } from './vip/command-announcer';
import type { FromWorker, PathAlarm, ToWorker, WorkerData } from './worker-protocol';

/*
 * The group's own thread: a busy or collecting main thread does not look like death to the peers. It owns the
 * heartbeat sockets, the addresses and the timers. Main is told of changes by messages; what must not wait for an
 * event loop (is main alive, may SIP be sent now) goes through shared memory.
 */

const port = parentPort;
if (port === null) throw new Error('ha/worker runs in a worker thread only');
const post = (message: FromWorker): void => port.postMessage(message);

/** The most that what was received may take to be on its way before the addresses go to a peer. */
const SETTLE_LIMIT_MS = 30;

const toLog =
  (level: 'debug' | 'info' | 'warn' | 'error', base: object) =>
  (fields: object, message?: string): void =>
    post({ type: 'log', level, fields: cloneable({ ...base, ...fields }), message });

/** Errors lose their code on the way; everything else of ours is plain. */
function cloneable(fields: Record<string, unknown>): object {
  const { err, ...rest } = fields;
  if (!types.isNativeError(err)) return fields;
  const code = (err as { code?: unknown }).code;
  const cause = types.isNativeError(err.cause) ? err.cause.message : undefined;
  return { ...rest, error: err.message, code, cause };
}

const loggerWith = (base: object): Logger => ({
  debug: toLog('debug', base),
  info: toLog('info', base),
  warn: toLog('warn', base),
  error: toLog('error', base),
  child: (fields) => loggerWith({ ...base, ...fields }),
});

async function run(data: WorkerData): Promise<void> {
  const log = loggerWith({ part: 'group' });
  const settings = { ...data.settings, vips: canonicalVips(data.settings.vips) };
  const config = machineConfig(settings);
  const module = (await import(data.networkModule)) as NetworkModule;
  const network = await module.createNetwork();
  const shared = new SharedClockwork(data.shared);
  const now = network.bootTime;

  const command =
    settings.announce?.command === undefined
      ? undefined
      : new CommandAnnouncer(settings.announce.command, settings.vips, log);
  const arp = settings.announce?.arp ?? true;
  const sockets = new HeartbeatSockets({
    group: settings.group,
    instance: settings.instance,
    key: settings.key,
    listen: settings.listen,
    peers: settings.peers,
    now,
    log,
    onMessage: (message) => runner.give({ type: 'message', message }),
    onTwin: (message, address) => runner.give({ type: 'twin', message, address }),
    onHearing: (on) => runner.give({ type: 'hearing', on }),
  });
  // The target of a hand-over forgets that it was ready after `ready`: a quarter of that leaves it time.
  const settleMs = Math.min(SETTLE_LIMIT_MS, config.timing.ready / 4);
  let settled = (): void => undefined;
  const settle = (): Promise<void> =>
    new Promise((resolve) => {
      const limit = setTimeout(resolve, settleMs);
      settled = () => {
        clearTimeout(limit);
        resolve();
      };
      post({ type: 'settle', limitMs: settleMs });
    });
  const runner = new GroupRunner({
    config,
    incarnation: data.incarnation,
    vips: settings.vips,
    driver: network,
    announcer: { announce: (addresses) => (arp ? network.announce(addresses) : Promise.resolve()) },
    now,
    mainAge: () => shared.mainAge(),
    send: (message, to) => sockets.send(message, to),
    drain: () => sockets.drain(),
    onLease: (forMs, term) => {
      if (forMs > 0) shared.grant(forMs, term);
      else shared.revoke();
    },
    ...(data.settles ? { settle } : {}),
    onLeader: (instance) => post({ type: 'leader', instance }),
    onNotice: (notice, state) => {
      if (notice.type === 'state' && command !== undefined) {
        if (notice.to === 'ACTIVE' && notice.from !== 'HANDOVER') command.gained();
        else if (!state.holding && (notice.from === 'ACTIVE' || notice.from === 'HANDOVER')) command.lost();
      }
      post({ type: 'notice', notice, term: state.term, at: monotonicMs() });
    },
    log,
  });
  const links = new LinkMonitor(settings, network, (event) => runner.observe(event), log, {
    list: (name) => network.list(name),
    isOurs: () => runner.holdsAddresses,
  });

  // Leftovers go before the first heartbeat; links are known before the first decision.
  await runner.prepare();
  command?.lost();
  await links.start();
  await sockets.open();
  runner.start();

  let alarms: readonly PathAlarm[] = [];
  const paths = setInterval(() => {
    shared.beatOfWorker();
    const { dead, probe } = config.timing;
    const present = [
      ...sockets.statistics.silentPaths(now(), dead).map((about) => ({ name: 'link_lost' as const, about })),
      ...sockets.statistics
        .wrongKeys(now(), dead, 2 * probe)
        .map((about) => ({ name: 'wrong_key' as const, about })),
      ...sockets.unlisted(2 * probe).map((about) => ({ name: 'unlisted' as const, about })),
    ];
    const isIn = (list: readonly PathAlarm[], { name, about }: PathAlarm): boolean =>
      list.some((each) => each.name === name && each.about === about);
    for (const alarm of present) if (!isIn(alarms, alarm)) post({ type: 'path-alarm', alarm, on: true });
    for (const alarm of alarms) if (!isIn(present, alarm)) post({ type: 'path-alarm', alarm, on: false });
    alarms = present;
  }, config.timing.heartbeat / 10);

  port?.on('message', (message: ToWorker) => {
    switch (message.type) {
      case 'sip':
      case 'operator':
      case 'quiet':
      case 'witness':
        runner.give(message);
        return;
      case 'refresh':
        runner.refresh();
        return;
      case 'settled':
        settled();
        return;
      case 'status':
        post({
          type: 'status',
          request: message.request,
          status: statusOf(config, runner.state, sockets.statistics, alarms, network.name, now()),
        });
        return;
      case 'close':
        clearInterval(paths);
        void close({ runner, links, sockets, network, command });
    }
  });
  post({ type: 'ready', network: network.name });
}

async function close(parts: {
  readonly runner: GroupRunner;
  readonly links: LinkMonitor;
  readonly sockets: HeartbeatSockets;
  readonly network: Network;
  readonly command: CommandAnnouncer | undefined;
}): Promise<void> {
  await parts.runner.close();
  parts.links.close();
  parts.sockets.close();
  parts.command?.close();
  await parts.network.close();
  post({ type: 'closed' });
  port?.close();
}

run(workerData as WorkerData).catch((error: unknown) => {
  post({
    type: 'failed',
    message: types.isNativeError(error) ? error.message : String(error),
    code: error instanceof DsbcError ? error.code : undefined,
  });
  port.close();
  process.exitCode = 1;
});
