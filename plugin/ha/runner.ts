import { DsbcError } from '../errors';
import type { Logger } from '../telemetry/logger';
import type { GroupEffect } from './group/effect';
import type { GroupEvent } from './group/event';
import { otherHolder } from './group/election';
import { step } from './group/machine';
import type { GroupMessage } from './group/message';
import type { GroupConfig, GroupState, Obstacle } from './group/state';
import { initialState } from './group/state';
import { RepeatedFailures } from './repeated-failures';
import type { BootClock, VipAddress, VipDriver, Announcer } from './ports';

/** What the runner tells about: everything the main thread, the log and metrics live from. */
export type RunnerNotice = Extract<
  GroupEffect,
  { type: 'state' | 'alarm' | 'answer' | 'quiesce' | 'discard' | 'witness-read' | 'witness-write' }
>;

export interface RunnerOptions {
  readonly config: GroupConfig;
  readonly incarnation: number;
  readonly vips: readonly VipAddress[];
  readonly driver: VipDriver;
  readonly announcer: Announcer;
  readonly now: BootClock;
  /** Milliseconds since the main thread was alive. */
  readonly mainAge: () => number;
  readonly send: (message: GroupMessage, to: readonly string[]) => void;
  /** Reads what waits in the sockets. */
  readonly drain: () => Promise<void>;
  /** The lease in the kernel was added or renewed: it lasts for `forMs` from now. 0: no addresses any more. */
  readonly onLease: (forMs: number, term: number) => void;
  /**
   * Nothing is received on the addresses any more, and they go to a peer as soon as this resolves: what was received shall be on its
   * way then. Absent: nothing is waited for.
   */
  readonly settle?: () => Promise<void>;
  /** Who has the addresses, as far as we know; empty: nobody is known. Called on change. */
  readonly onLeader: (instance: string) => void;
  readonly onNotice: (notice: RunnerNotice, state: Readonly<GroupState>) => void;
  readonly log: Logger;
}

/** Between tries to remove addresses that could not be removed, while the kernel keeps them and later. */
const REMOVE_RETRY_MS = 100;
const LATE_REMOVE_RETRY_MS = 5_000;
/** The network tells of our own removal that late at most; a renewal notices a real one sooner or about then. */
const OWN_REMOVAL_MS = 500;

const NOT_PERMITTED: Obstacle = {
  alarm: 'not_permitted',
  about: '',
  reason: 'this process may not add or remove addresses (CAP_NET_ADMIN)',
};

/**
 * Runs the pure machine: feeds it events, arms one timer, and does what it asks. What touches the addresses and what
 * is said about them happens strictly in the order asked for, one after the other.
 */
export class GroupRunner {
  private current: Readonly<GroupState>;
  private timer: NodeJS.Timeout | undefined;
  private queue: Promise<void> = Promise.resolve();
  private started = false;
  private closed = false;
  /** We added the addresses and have not removed them. */
  private added = false;
  /** They do not receive. */
  private deaf = false;
  private leader = '';
  /** When we last removed them to add them again. */
  private readdedAt = -Infinity;
  /** Removals that failed in a row. */
  private unremoved = 0;
  private readonly failures: RepeatedFailures;
  private busy = false;
  private readonly waiting: GroupEvent[] = [];

  constructor(private readonly options: RunnerOptions) {
    this.failures = new RepeatedFailures(options.log, options.now);
    this.current = initialState(options.config, options.now(), options.incarnation);
  }

  get state(): Readonly<GroupState> {
    return this.current;
  }

  /** We added the addresses and have not removed them: what is there is ours. */
  get holdsAddresses(): boolean {
    return this.added;
  }

  /** Removes what an earlier life left behind. Before `start`, so that no heartbeat is sent meanwhile. */
  async prepare(): Promise<void> {
    const { driver, vips, config, log } = this.options;
    await this.removeLeftovers();
    const refused = await driver.prepare(vips, config.timing.leaseS).then(
      () => false,
      (error: unknown) => {
        log.warn({ err: error }, 'the kernel may end a lease of the addresses a quarter of a second late');
        return isNotPermitted(error);
      },
    );
    this.current = initialState(this.options.config, this.options.now(), this.options.incarnation);
    if (refused) this.give({ type: 'obstacle', obstacle: NOT_PERMITTED, on: true });
  }

  /** Begins to listen and beat: the sockets are open, or have failed (event `hearing`). */
  start(): void {
    this.started = true;
    const now = this.options.now();
    const listenUntil = now + this.options.config.timing.listen;
    this.current = { ...this.current, due: now, since: now, listenUntil };
    this.give({ type: 'timer' });
  }

  /** Takes an event in. Events given while one is being taken in wait their turn. */
  give(event: GroupEvent): void {
    this.waiting.push(event);
    if (this.busy || !this.started) return;
    this.busy = true;
    try {
      for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
        if (!this.closed) this.take(next);
      }
    } finally {
      this.busy = false;
    }
    this.arm();
  }

  /** The same for what the network tells, which tells of our own doing, too. */
  observe(event: GroupEvent): void {
    if (event.type === 'vip-lost' && this.options.now() - this.readdedAt < OWN_REMOVAL_MS) return;
    this.give(event);
  }

  /** Nothing arrives at the addresses: somebody may have removed their routes. Adding them anew brings those back. */
  refresh(): void {
    this.queue = this.queue.then(async () => {
      const { name, term, holding } = this.current;
      const { now, vips } = this.options;
      if (name !== 'ACTIVE' || !holding || !this.added || this.closed) return;
      this.failures.failed('refresh', { vips }, 'nothing arrives at the addresses: they are added anew');
      this.deaf = true;
      if (await this.lease('add', now(), term)) this.announce();
    });
  }

  /** Ends everything; the addresses are removed if they are still here. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.timer);
    await this.queue;
    if (this.added) await this.remove();
  }

  private take(event: GroupEvent): void {
    const { now, mainAge } = this.options;
    const time = now();
    const beatAt = time - mainAge();
    if (beatAt > this.current.mainBeatAt + 1) this.apply({ type: 'main', beatAt }, time);
    this.apply(event, time);
  }

  private apply(event: GroupEvent, time: number): void {
    const { config } = this.options;
    const { state, effects } = step(config, this.current, event, time);
    this.current = state;
    const leader = state.holding ? config.id : (otherHolder({ config, state, now: time })?.id ?? '');
    if (leader !== this.leader) {
      this.leader = leader;
      this.options.onLeader(leader);
    }
    if (effects.length === 0) return;
    const ordered: GroupEffect[] = [];
    for (const effect of effects) {
      switch (effect.type) {
        case 'drain':
          void this.options.drain().then(() => this.give({ type: 'drained' }));
          break;
        case 'state':
        case 'alarm':
        case 'answer':
        case 'quiesce':
        case 'discard':
        case 'witness-read':
          this.options.onNotice(effect, state);
          break;
        default:
          ordered.push(effect);
      }
    }
    if (ordered.length > 0) this.queue = this.queue.then(() => this.performAll(ordered, time, state));
  }

  private async performAll(
    effects: readonly GroupEffect[],
    decidedAt: number,
    state: Readonly<GroupState>,
  ): Promise<void> {
    let removed = true;
    let added = true;
    const renews = effects.some(({ type }) => type === 'renew');
    for (const effect of effects) {
      switch (effect.type) {
        case 'add':
        case 'renew':
          added = (await this.lease(effect.type, decidedAt, state.term)) || effect.type === 'renew';
          break;
        case 'remove':
          if (effect.settles) await this.settle();
          removed = await this.remove();
          break;
        case 'announce':
          if (added) this.announce();
          break;
        case 'send':
          // That we are active would be a lie, on which the one that hands over would rely, or after a stall all others.
          if (renews && this.isLate(decidedAt)) added = false;
          if (!this.closed && (added || effect.message.state !== 'ACTIVE'))
            this.options.send(effect.message, effect.to);
          break;
        case 'witness-write':
          // A release says that the addresses are gone. If they are not, the kernel lease must run out first.
          if (removed || effect.next.owner !== '') this.options.onNotice(effect, state);
          break;
        default:
      }
    }
  }

  /** Decided before a stall. */
  private isLate(decidedAt: number): boolean {
    return this.options.now() - decidedAt > this.options.config.timing.late;
  }

  /** @returns whether the addresses are here */
  private async lease(operation: 'add' | 'renew', decidedAt: number, term: number): Promise<boolean> {
    const { driver, vips, config, now, onLease } = this.options;
    const startedAt = now();
    // Decided before a stall: peers may own the addresses by now.
    if (this.closed || this.isLate(decidedAt)) {
      const reason = `it came too late to ${operation} the addresses`;
      if (!this.closed) this.give({ type: 'vip-lost', reason });
      return false;
    }
    if (operation === 'renew' && !this.added) return false;
    try {
      if (operation === 'add') {
        this.added = true;
        // Their removal failed: only adding them anew lets them hear again.
        if (this.deaf) {
          this.readdedAt = now();
          await driver.remove(vips);
        }
        this.deaf = false;
        await driver.add(vips, config.timing.leaseS);
      } else await driver.renew(vips, config.timing.leaseS);
      if (this.current.holding) onLease(config.timing.lease - (now() - startedAt), term);
      this.failures.worked(operation);
      return true;
    } catch (error) {
      this.failures.failed(operation, { err: error, vips }, 'the addresses could not be held');
      const gone = operation === 'renew' && errnoOf(error) === 'ENOENT';
      this.give(gone ? { type: 'vip-lost' } : { type: 'vip-lost', reason: `could not ${messageOf(error)}` });
      this.noteRefusal(error);
      return false;
    }
  }

  /**
   * Before a planned removal: from here on what is sent to the addresses is lost unheard, so that it is sent again, to their new
   * owner. A SIP server that had said 100 to it could not.
   */
  private async settle(): Promise<void> {
    const { settle, driver, vips, log } = this.options;
    if (settle === undefined || !this.added || this.closed) return;
    try {
      await driver.deafen(vips);
    } catch (error) {
      log.warn({ err: error, vips }, 'the addresses go on receiving until they are removed');
      return;
    }
    this.deaf = true;
    await settle();
  }

  private async remove(): Promise<boolean> {
    const { driver, vips, onLease, config } = this.options;
    onLease(0, 0);
    if (!this.added) return true;
    try {
      await driver.remove(vips);
      this.added = this.deaf = false;
      this.unremoved = 0;
      this.failures.worked('remove');
      return true;
    } catch (error) {
      this.failures.failed(
        'remove',
        { err: error, vips },
        'the addresses could not be removed; the kernel does at the end of the lease',
      );
      this.noteRefusal(error);
      this.unremoved += 1;
      const late = this.unremoved * REMOVE_RETRY_MS > config.timing.lease;
      setTimeout(
        () => {
          if (this.added && !this.current.holding)
            this.queue = this.queue.then(() => this.remove()).then(() => undefined);
        },
        late ? LATE_REMOVE_RETRY_MS : REMOVE_RETRY_MS,
      ).unref();
      return false;
    }
  }

  /** A process gets its rights at its start: until the next one this instance cannot have the addresses. */
  private noteRefusal(error: unknown): void {
    if (isNotPermitted(error)) this.give({ type: 'obstacle', obstacle: NOT_PERMITTED, on: true });
  }

  private announce(): void {
    const { announcer, vips, log } = this.options;
    if (!this.added) return;
    announcer.announce(vips).catch((error: unknown) => {
      log.error({ err: error }, 'the addresses could not be announced');
    });
  }

  /**
   * Addresses of ours that an earlier life left. Only those under a lease: one without was added by somebody else, and
   * would shadow ours, so the group refuses to start with it.
   */
  private async removeLeftovers(): Promise<void> {
    const { driver, vips, log } = this.options;
    const interfaces = [...new Set(vips.map((vip) => vip.interface))];
    const held = (await Promise.all(interfaces.map((name) => driver.list(name)))).flat();
    const isOurs = (vip: VipAddress) =>
      held.filter((found) => found.address === vip.address && found.interface === vip.interface);
    const leftovers = vips.filter((vip) => isOurs(vip).length > 0);
    const foreign = leftovers.filter((vip) => isOurs(vip).some(({ validS }) => validS === Infinity));
    if (foreign.length > 0) {
      throw new DsbcError(
        'DSBC_GROUP_INVALID',
        `${foreign.map(({ address }) => address).join(', ')} is configured on this machine for good; the group adds and removes its addresses itself`,
        { details: { addresses: foreign.map(({ address }) => address) } },
      );
    }
    if (leftovers.length === 0) return;
    log.warn({ addresses: leftovers.map(({ address }) => address) }, 'leftover addresses removed');
    await driver.remove(leftovers);
  }

  private arm(): void {
    clearTimeout(this.timer);
    if (this.closed) return;
    const delay = Math.max(0, Math.ceil(this.current.due - this.options.now()));
    this.timer = setTimeout(() => this.give({ type: 'timer' }), delay);
  }
}

const errnoOf = (error: unknown): unknown =>
  error instanceof DsbcError ? error.details['errno'] : undefined;
const isNotPermitted = (error: unknown): boolean => errnoOf(error) === 'EPERM';
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
