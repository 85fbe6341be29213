import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ErrorCode } from '../errors';
import { DsbcError, ERRORS } from '../errors';
import type { Logger } from '../telemetry/logger';
import { silentLogger } from '../telemetry/logger';
import type { AlarmName } from './group/effect';
import type { OperatorAction } from './group/event';
import type { GroupStateName } from './group/message';
import type { WitnessStore } from './ports';
import type { RunnerNotice } from './runner';
import type { GroupSettings } from './settings';
import { machineConfig } from './settings';
import { SharedClockwork } from './shared-clockwork';
import { monotonicMs, SuspendWatch } from './suspend-watch';
import { WitnessClient } from './lease/client';
import { WorkerWatch } from './worker-watch';
import type { FromWorker, GroupStatus, ToWorker, WorkerData } from './worker-protocol';

export type { GroupStatus, PeerStatus } from './worker-protocol';

export interface GroupOptions {
  readonly settings: GroupSettings;
  /** Absolute path of a module that exports `createNetwork`; loaded in the worker thread. */
  readonly networkModule: string;
  /** Needed when `settings.witness` is not `none`. */
  readonly witness?: WitnessStore;
  readonly log?: Logger;
  /**
   * Before an operator's hand-over lets the addresses go: let in-flight work end. Resolve as soon as it has; after
   * `limitMs` the hand-over goes on all the same.
   */
  readonly quiesce?: (limitMs: number) => Promise<void>;
  /**
   * The addresses receive nothing any more, and are gone in `limitMs` at the latest: resolve when all that was received is on its
   * way. Default: they go at once.
   */
  readonly settle?: (limitMs: number) => Promise<void>;
  /** Script of the worker thread. Default: the one built beside this file. */
  readonly workerFile?: string;
}

export interface GroupEvents {
  /** Any change of state. */
  state: [
    change: {
      readonly from: GroupStateName;
      readonly to: GroupStateName;
      readonly reason: string;
      readonly term: number;
      /** How long ago it happened: more than a few milliseconds when this thread was blocked. */
      readonly lateMs: number;
    },
  ];
  /** Who has the addresses, as far as this instance knows (perhaps itself); empty: nobody is known. */
  leader: [instance: string];
  /** The addresses are ours. */
  active: [term: number];
  /** They are not any more. */
  standby: [];
  alarm: [alarm: { readonly name: AlarmName | 'link_lost'; readonly about: string; readonly on: boolean }];
  /**
   * This process did not run for a while: SIP that queued meanwhile must not be served. `servingTerm` is 0 by then and stays so
   * for `recheck`, so whoever asks it at each request need not listen.
   */
  discard: [];
  /** The worker is gone, or hangs and was ended; the kernel removes the addresses at the end of their lease. The program must end. */
  failed: [error: Error];
}

/** What became of an operator's wish, and why. */
export interface Outcome {
  readonly done: boolean;
  readonly reason: string;
}

/** How often main shows life, as a share of a heartbeat. */
const BEATS_PER_HEARTBEAT = 10;
/** A change of state told later than this says so, or the log would give it a wrong time. */
const LATE_MS = 50;
/** An operator's wish without an answer: more than draining, preparing and waiting take. */
const ANSWER_LIMIT_MS = 10_000;

/** Main's side of the group: runs the worker, tells the rest of the program who serves, carries wishes of operators. */
export class Group extends EventEmitter<GroupEvents> {
  private readonly shared = new SharedClockwork();
  private readonly suspend = new SuspendWatch();
  private readonly log: Logger;
  private readonly beatEveryMs: number;
  private readonly watch: WorkerWatch;
  private worker: Worker | undefined;
  private beats: NodeJS.Timeout | undefined;
  private readonly witness: WitnessClient | undefined;
  private readonly waiting = new Map<number, { settle: (value: never) => void; timer: NodeJS.Timeout }>();
  private lastRequest = 0;
  private current: GroupStateName = 'INIT';
  private serving = false;
  /** After a suspend only permissions given later count. */
  private distrusted: bigint | undefined;
  private closing: Promise<void> | undefined;

  constructor(private readonly options: GroupOptions) {
    super();
    const config = machineConfig(options.settings);
    this.log = options.log ?? silentLogger;
    const { heartbeat, fence } = config.timing;
    this.beatEveryMs = heartbeat / BEATS_PER_HEARTBEAT;
    this.watch = new WorkerWatch(this.beatEveryMs, fence);
    if (config.witness !== 'none') {
      if (options.witness === undefined) {
        throw new DsbcError('DSBC_GROUP_INVALID', 'a group with a witness needs a store for it');
      }
      this.witness = new WitnessClient(
        options.witness,
        options.settings.group,
        config.timing.witnessTimeout,
        (id, reply) => this.post({ type: 'witness', id, reply }),
      );
    }
  }

  /**
   * Starts the worker and joins the group.
   * @throws DSBC_GROUP_INVALID, DSBC_NETWORK_FAILED
   */
  async start(): Promise<void> {
    const { settings, networkModule, workerFile } = this.options;
    this.shared.beat();
    this.beats = setInterval(() => this.beat(), this.beatEveryMs);
    this.beats.unref();
    const data: WorkerData = {
      settings,
      networkModule,
      shared: this.shared.buffer,
      // Greater at every start; if the wall clock was set back, the peers' echo makes the worker skip ahead.
      incarnation: Date.now(),
      settles: this.options.settle !== undefined,
    };
    const worker = new Worker(workerFile ?? join(__dirname, 'worker.js'), { workerData: data });
    this.worker = worker;
    await new Promise<void>((resolve, reject) => {
      worker.on('message', (message: FromWorker) => {
        if (message.type === 'ready') {
          this.log.info({ network: message.network, group: settings.group }, 'group joined');
          resolve();
        } else if (message.type === 'failed') {
          const code =
            message.code !== undefined && message.code in ERRORS
              ? (message.code as ErrorCode)
              : 'DSBC_GROUP_INVALID';
          reject(new DsbcError(code, message.message));
        } else this.onMessage(message);
      });
      worker.on('error', (error) => {
        this.log.error({ err: error }, 'the group worker failed');
        reject(error);
        this.fail(error);
      });
      worker.on('exit', (code) => {
        const error = new DsbcError('DSBC_GROUP_REFUSED', `the group worker ended with code ${code}`);
        reject(error);
        if (this.closing === undefined) this.fail(error);
      });
    }).catch((error: unknown) => {
      clearInterval(this.beats);
      throw error;
    });
  }

  get state(): GroupStateName {
    return this.current;
  }

  /**
   * The term in which this instance has the addresses at this very moment; 0: it has not, and must send no SIP. Costs
   * well under a microsecond; true even when this process has just woken from a stop and has read no message yet.
   */
  servingTerm(): number {
    if (this.distrusted !== undefined) {
      if (this.shared.grants() === this.distrusted) return 0;
      this.distrusted = undefined;
    }
    return this.shared.servingTerm();
  }

  /** Whether the SIP server is connected and answers at the VIP. An instance whose server does not never claims. */
  setSipHealthy(healthy: boolean): void {
    this.post({ type: 'sip', healthy });
  }

  /** Gives the addresses to another instance: the best, or the one named. */
  handover(to = ''): Promise<Outcome> {
    return this.operate('handover', to);
  }

  /** Takes this instance out of the group (handing over first) or back in. */
  maintenance(on: boolean): Promise<Outcome> {
    return this.operate(on ? 'maintenance-on' : 'maintenance-off', '');
  }

  /** Before the program ends: hands over, or just lets the addresses go when nobody can take them. */
  leave(): Promise<Outcome> {
    return this.operate('terminate', '');
  }

  /** Nothing arrives at the addresses although they are here: they are removed and added anew, if no peer takes them. */
  refresh(): void {
    this.post({ type: 'refresh' });
  }

  status(): Promise<GroupStatus> {
    return this.ask((request) => ({ type: 'status', request }));
  }

  /** Ends the worker; addresses still held are removed first. Idempotent. */
  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private operate(action: OperatorAction, to: string): Promise<Outcome> {
    return this.ask((request) => ({ type: 'operator', request, action, to }));
  }

  private ask<T>(message: (request: number) => ToWorker): Promise<T> {
    this.lastRequest += 1;
    const request = this.lastRequest;
    return new Promise<T>((resolve, reject) => {
      if (this.worker === undefined) {
        reject(new DsbcError('DSBC_GROUP_REFUSED', 'the group is not running'));
        return;
      }
      const timer = setTimeout(() => {
        this.waiting.delete(request);
        reject(new DsbcError('DSBC_GROUP_REFUSED', 'the group did not answer in time'));
      }, ANSWER_LIMIT_MS);
      this.waiting.set(request, { settle: resolve, timer });
      this.post(message(request));
    });
  }

  private answer(request: number, value: unknown): void {
    const waiting = this.waiting.get(request);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    this.waiting.delete(request);
    waiting.settle(value as never);
  }

  private post(message: ToWorker): void {
    this.worker?.postMessage(message);
  }

  private beat(): void {
    if (this.closing === undefined && this.watch.hangs(this.shared.workerBeats(), monotonicMs())) {
      const error = new DsbcError('DSBC_GROUP_REFUSED', 'the group worker hangs');
      this.log.error({ err: error }, 'the group worker hangs, and is ended');
      void this.worker?.terminate();
      this.fail(error);
      return;
    }
    if (this.suspend.slept() > 0) this.distrusted = this.shared.grants();
    this.shared.beat();
  }

  private onMessage(message: FromWorker): void {
    switch (message.type) {
      case 'notice':
        this.onNotice(message);
        return;
      case 'settle':
        void this.options
          .settle?.(message.limitMs)
          .catch((error: unknown) => this.log.warn({ err: error }, 'what was received did not go on'))
          .finally(() => this.post({ type: 'settled' }));
        return;
      case 'leader':
        this.emit('leader', message.instance);
        return;
      case 'path-alarm':
        this.alarm(message.alarm.name, message.alarm.about, message.on);
        return;
      case 'status':
        this.answer(message.request, message.status);
        return;
      case 'log':
        this.log[message.level](message.fields, message.message);
        return;
      case 'ready':
      case 'failed':
      case 'closed':
        return;
    }
  }

  private onNotice({ notice, term, at }: Extract<FromWorker, { type: 'notice' }>): void {
    switch (notice.type) {
      case 'state':
        this.onState(notice, term, Math.round(monotonicMs() - at));
        return;
      case 'alarm':
        this.alarm(notice.name, notice.about, notice.on);
        return;
      case 'answer':
        this.answer(notice.request, { done: notice.done, reason: notice.reason });
        return;
      case 'quiesce':
        this.quiesce();
        return;
      case 'discard':
        this.emit('discard');
        return;
      case 'witness-read':
        this.witness?.read(notice.id);
        return;
      case 'witness-write':
        this.witness?.write(notice.id, notice.expected, notice.next);
        return;
    }
  }

  private onState(change: Extract<RunnerNotice, { type: 'state' }>, term: number, lateMs: number): void {
    const { from, to, reason } = change;
    this.current = to;
    const late = lateMs >= LATE_MS ? { lateMs } : {};
    this.log.info({ from, to, reason, term, ...late }, 'group state');
    this.emit('state', { from, to, reason, term, lateMs });
    const serves = to === 'ACTIVE' || to === 'HANDOVER';
    if (serves === this.serving) return;
    this.serving = serves;
    if (serves) this.emit('active', term);
    else this.emit('standby');
  }

  private alarm(name: AlarmName | 'link_lost', about: string, on: boolean): void {
    if (on) this.log.warn({ alarm: name, about }, 'group alarm raised');
    else this.log.info({ alarm: name, about }, 'group alarm cleared');
    this.emit('alarm', { name, about, on });
  }

  private quiesce(): void {
    const { quiesce, settings } = this.options;
    const done = (): void => this.post({ type: 'quiet' });
    if (quiesce === undefined) done();
    else {
      quiesce(machineConfig(settings).drainMs)
        .catch((error: unknown) =>
          this.log.warn({ err: error }, 'in-flight work did not end before a hand-over'),
        )
        .finally(done);
    }
  }

  private fail(error: Error): void {
    if (this.worker === undefined) return;
    clearInterval(this.beats);
    this.worker = undefined;
    this.current = 'FAULT';
    if (this.serving) {
      this.serving = false;
      this.emit('standby');
    }
    this.emit('failed', error);
  }

  private async end(): Promise<void> {
    const { worker } = this;
    if (worker !== undefined) {
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      this.post({ type: 'close' });
      const limit = setTimeout(() => void worker.terminate(), 2000);
      await ended;
      clearTimeout(limit);
    }
    this.worker = undefined;
    clearInterval(this.beats);
    this.witness?.close();
    for (const [request] of this.waiting)
      this.answer(request, { done: false, reason: 'the group was closed' });
  }
}

/**
 * Joins a group of instances that share addresses. Call `start()`, feed `setSipHealthy`, ask `servingTerm()` before
 * sending SIP.
 * @throws DSBC_GROUP_INVALID
 */
export function createGroup(options: GroupOptions): Group {
  return new Group(options);
}
