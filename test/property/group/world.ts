import type { GroupEffect } from '../../../plugin/ha/group/effect';
import type { GroupEvent } from '../../../plugin/ha/group/event';
import type { Step } from '../../../plugin/ha/group/machine';
import type { GroupMessage } from '../../../plugin/ha/group/message';
import type { GroupConfig, GroupState, WitnessMode } from '../../../plugin/ha/group/state';
import { initialState } from '../../../plugin/ha/group/state';
import { timingFor } from '../../../plugin/ha/group/timing';
import type { WitnessRow } from '../../../plugin/ha/ports';
import { Agenda } from './agenda';
import type { Random } from './random';

/** M1, M2 and the service network. */
export const LINKS = [0, 1, 2] as const;
const SERVICE = 2;

export type StepFunction = (
  config: GroupConfig,
  state: Readonly<GroupState>,
  event: GroupEvent,
  now: number,
) => Step;

export interface Node {
  readonly id: string;
  readonly index: number;
  readonly config: GroupConfig;
  state: Readonly<GroupState>;
  alive: boolean;
  /** Counts the lives, so that what was meant for an earlier one is dropped. */
  life: number;
  startedAt: number;
  stalledUntil: number;
  /** No heartbeat link is open before. */
  deafUntil: number;
  readonly inbox: GroupEvent[];
  mainStalledFrom: number;
  mainStalledUntil: number;
  links: number;
  sip: boolean;
  /** What the kernel of this node holds. */
  kernel: { held: boolean; expiresAt: number; renewedAt: number };
  witnessCut: boolean;
  timerVersion: number;
}

export interface WorldOptions {
  readonly random: Random;
  readonly size: number;
  readonly witness: WitnessMode;
  readonly step: StepFunction;
  /** Messages may take up to 900 ms and overtake each other. */
  readonly reorder: boolean;
  readonly equalPriority?: boolean;
  readonly preemption?: GroupConfig['preemption'];
}

/** How late the kernel removes an address, for a share of 0 to 1: one time in four up to the most, else 10 to 45 ms. */
const kernelDelay = (share: number, most: number): number =>
  share < 0.75 ? 10 + (share / 0.75) * 35 : 45 + ((share - 0.75) / 0.25) * (most - 45);

/** Instances, kernels, wires, a client's ARP table and a witness, in virtual time. */
export class World {
  readonly agenda = new Agenda();
  readonly nodes: Node[];
  readonly cut: boolean[][][];
  readonly violations: string[] = [];
  readonly owners: { at: number; id: string }[] = [];
  now = 0;
  loss = 0;
  /** Messages and witness requests may be slow and overtake each other. */
  reorder: boolean;
  replyLoss = 0;
  /** No request is so slow that it lands later than this. */
  calmFrom = Infinity;
  /** Added to the wall clock, which only the incarnation of a new life reads. */
  wallOffset = 0;
  /** Whom the client's ARP table names. */
  arp = '';
  arpAt = 0;
  row: WitnessRow | null = null;
  allowOverlap = true;
  /** The process of this node is killed right after it has done an effect of this type. */
  diesAfter: { readonly node: Node; readonly type: GroupEffect['type'] } | undefined;
  private request = 0;
  readonly answers = new Map<number, { done: boolean; reason: string }>();

  constructor(readonly options: WorldOptions) {
    const { random, size } = options;
    this.reorder = options.reorder;
    const ids = ['a', 'b', 'c', 'd'].slice(0, size);
    const timing = timingFor();
    this.nodes = ids.map((id, index) => {
      const config: GroupConfig = {
        id,
        peers: ids.filter((other) => other !== id),
        priority: options.equalPriority === true ? 100 : random.integer(1, 3),
        timing,
        preemption: options.preemption ?? 'never',
        witness: options.witness,
        drainMs: 100,
      };
      return {
        id,
        index,
        config,
        state: initialState(config, 0, 1),
        alive: false,
        life: 0,
        startedAt: 0,
        stalledUntil: 0,
        deafUntil: 0,
        inbox: [],
        mainStalledFrom: 0,
        mainStalledUntil: 0,
        links: 2,
        sip: true,
        kernel: { held: false, expiresAt: 0, renewedAt: 0 },
        witnessCut: false,
        timerVersion: 0,
      };
    });
    this.cut = LINKS.map(() => ids.map(() => ids.map(() => false)));
  }

  run(until: number): void {
    for (;;) {
      const next = this.agenda.next();
      if (next === undefined || next.at > until) {
        if (next !== undefined) this.agenda.add(next.at, next.action);
        this.now = until;
        return;
      }
      this.now = next.at;
      next.action();
    }
  }

  violate(what: string): void {
    this.violations.push(`${this.now.toFixed(1)}: ${what}`);
  }

  holds(node: Node): boolean {
    return node.kernel.held && this.now < node.kernel.expiresAt;
  }

  isRunning(node: Node): boolean {
    return node.alive && this.now >= node.stalledUntil;
  }

  /** @param deafMs the addresses of its heartbeat links come up that much later */
  start(node: Node, deafMs = 0): void {
    node.alive = true;
    node.life += 1;
    node.startedAt = this.now;
    node.stalledUntil = 0;
    node.deafUntil = this.now + deafMs;
    node.inbox.length = 0;
    // A leftover is removed before the first heartbeat.
    node.kernel.held = false;
    node.state = initialState(
      node.config,
      this.now,
      Math.max(1, Math.floor(this.now + 1e6 + this.wallOffset)),
    );
    const life = node.life;
    if (deafMs > 0) {
      this.feed(node, { type: 'hearing', on: false });
      this.agenda.add(node.deafUntil, () => {
        if (node.life === life) this.give(node, { type: 'hearing', on: true });
      });
    }
    this.feed(node, { type: 'links', active: node.links });
    this.agenda.add(this.now + this.options.random.between(1, 400), () => {
      if (node.life === life) this.give(node, { type: 'sip', healthy: node.sip });
    });
  }

  kill(node: Node): void {
    node.alive = false;
    node.life += 1;
  }

  stall(node: Node, ms: number): void {
    node.stalledUntil = Math.max(node.stalledUntil, this.now + ms);
    const life = node.life;
    this.agenda.add(node.stalledUntil, () => {
      if (node.life !== life || !node.alive || this.now < node.stalledUntil) return;
      // Timers fire before what waits in the sockets is read.
      if (this.now >= node.state.due) this.feed(node, { type: 'timer' });
      for (const event of node.inbox.splice(0)) this.feed(node, event);
      this.arm(node);
    });
  }

  stallMain(node: Node, ms: number): void {
    if (this.now >= node.mainStalledUntil) node.mainStalledFrom = this.now;
    node.mainStalledUntil = Math.max(node.mainStalledUntil, this.now + ms);
  }

  setLinks(node: Node, links: number): void {
    if (node.links === 0 && links > 0) this.give(node, { type: 'carrier-up' });
    node.links = links;
    this.give(node, { type: 'links', active: links });
  }

  setSip(node: Node, healthy: boolean): void {
    node.sip = healthy;
    this.give(node, { type: 'sip', healthy });
  }

  deleteVip(node: Node): void {
    if (!this.holds(node)) return;
    node.kernel.held = false;
    this.agenda.add(this.now + 1, () => this.give(node, { type: 'vip-lost' }));
  }

  operate(node: Node, action: 'handover' | 'maintenance-on' | 'maintenance-off' | 'terminate'): number {
    this.request += 1;
    this.give(node, { type: 'operator', request: this.request, action, to: '' });
    return this.request;
  }

  /** An event for a node: waits while the node is stalled. */
  give(node: Node, event: GroupEvent): void {
    if (!node.alive) return;
    if (this.now < node.stalledUntil) node.inbox.push(event);
    else this.feed(node, event);
  }

  private feed(node: Node, event: GroupEvent): void {
    const beatAt = this.now < node.mainStalledUntil ? node.mainStalledFrom : this.now;
    if (beatAt - node.state.mainBeatAt > 100) this.take(node, { type: 'main', beatAt });
    this.take(node, event);
    this.arm(node);
  }

  private take(node: Node, event: GroupEvent): void {
    const before = node.state;
    const { state, effects } = this.options.step(node.config, before, event, this.now);
    node.state = state;
    if (state.term < before.term || state.highestTerm < before.highestTerm)
      this.violate(`4: ${node.id} term went back`);
    if (
      state.incarnation < before.incarnation ||
      (state.incarnation === before.incarnation && state.seq < before.seq)
    ) {
      this.violate(`4: ${node.id} order went back`);
    }
    for (const effect of effects) {
      this.perform(node, effect);
      if (this.diesAfter?.node === node && effect.type === this.diesAfter.type) {
        this.diesAfter = undefined;
        this.kill(node);
        return;
      }
    }
    if (state.holding && state.name !== 'ACTIVE' && state.name !== 'HANDOVER') {
      this.violate(`11: ${node.id} would send SIP as ${state.name}`);
    }
  }

  private arm(node: Node): void {
    node.timerVersion += 1;
    const version = node.timerVersion;
    const { life } = node;
    this.agenda.add(node.state.due, () => {
      if (node.timerVersion !== version || node.life !== life || !this.isRunning(node)) return;
      this.feed(node, { type: 'timer' });
    });
  }

  private perform(node: Node, effect: GroupEffect): void {
    const { random } = this.options;
    switch (effect.type) {
      case 'add':
        this.owners.push({ at: this.now, id: node.id });
        for (const other of this.nodes) {
          if (other !== node && this.holds(other) && !this.allowOverlap) this.overlap(node, other);
        }
        this.lease(node);
        return;
      case 'renew':
        if (this.holds(node)) this.lease(node);
        else {
          node.kernel.held = false;
          this.agenda.add(this.now, () => this.give(node, { type: 'vip-lost' }));
        }
        return;
      case 'remove':
        node.kernel.held = false;
        return;
      case 'announce':
        this.announce(node);
        return;
      case 'send':
        for (const to of effect.to) this.transmit(node, to, effect.message);
        return;
      case 'drain': {
        const { life } = node;
        this.agenda.add(this.now + 0.5, () => {
          if (node.life === life) this.give(node, { type: 'drained' });
        });
        return;
      }
      case 'quiesce': {
        const { life } = node;
        this.agenda.add(this.now + random.between(1, 150), () => {
          if (node.life === life) this.give(node, { type: 'quiet' });
        });
        return;
      }
      case 'witness-read':
        this.askWitness(node, effect.id, () => ({ type: 'row', row: this.row }));
        return;
      case 'witness-write':
        this.askWitness(node, effect.id, () => {
          if (this.row?.term !== effect.expected?.term || this.row?.seq !== effect.expected?.seq) {
            return { type: 'not-applied', row: this.row };
          }
          this.row = effect.next;
          return { type: 'applied' };
        });
        return;
      case 'answer':
        this.answers.set(effect.request, effect);
        return;
      case 'discard':
      case 'state':
      case 'alarm':
        return;
    }
  }

  /**
   * With a witness no overlap is allowed, not for a moment. Without one, two instances may claim while the word of the
   * other is on its way (an instance that ends its listening just when another's turn comes): that must end at once.
   */
  private overlap(node: Node, other: Node): void {
    const what = `1/3: ${node.id} adds while ${other.id} (${other.state.name}) holds`;
    if (this.options.witness !== 'none') this.violate(what);
    else {
      this.agenda.add(this.now + 10, () => {
        if (this.holds(node) && this.holds(other)) this.violate(what);
      });
    }
  }

  private lease(node: Node): void {
    const { kernel } = node;
    kernel.held = true;
    kernel.renewedAt = this.now;
    const { lease, leaseSlack } = node.config.timing;
    kernel.expiresAt = this.now + lease + kernelDelay(this.options.random.between(0, 1), leaseSlack);
  }

  private announce(node: Node): void {
    if (!this.holds(node)) {
      // Removed by somebody a moment ago: the frame leaves, the event is on its way.
      return;
    }
    if (node.links === 0) return;
    this.arp = node.id;
    this.arpAt = this.now;
    for (const other of this.nodes) {
      if (other === node || other.links === 0 || this.cut[SERVICE]![node.index]![other.index]!) continue;
      if (!other.alive) continue;
      this.agenda.add(this.now + 1, () => {
        if (other.state.holding) this.give(other, { type: 'foreign-arp' });
      });
    }
  }

  private transmit(node: Node, to: string, message: GroupMessage): void {
    const { random } = this.options;
    const { reorder } = this;
    const target = this.nodes.find(({ id }) => id === to)!;
    if (this.now < node.deafUntil) return;
    for (const link of LINKS) {
      if (this.cut[link]![node.index]![target.index]!) continue;
      if (link === SERVICE && (node.links === 0 || target.links === 0)) continue;
      if (this.loss > 0 && random.chance(this.loss)) continue;
      const delay = reorder && random.chance(0.05) ? random.between(1, 900) : random.between(0.1, 2);
      const { life } = target;
      this.agenda.add(this.now + delay, () => {
        // The socket of an earlier life is closed.
        if (target.life === life && this.now >= target.deafUntil)
          this.give(target, { type: 'message', message });
      });
    }
  }

  private askWitness(
    node: Node,
    id: number,
    apply: () => Extract<GroupEvent, { type: 'witness' }>['reply'],
  ): void {
    const { random } = this.options;
    const { life } = node;
    const slow = this.reorder && random.chance(0.03);
    // A request that left before a cut may still be applied, and late.
    if (node.witnessCut) return;
    this.agenda.add(
      this.now + Math.min(random.between(1, slow ? 2500 : 15), Math.max(15, this.calmFrom - this.now)),
      () => {
        const reply = apply();
        if (node.witnessCut || random.chance(this.replyLoss)) return;
        this.agenda.add(
          this.now + Math.min(random.between(1, slow ? 800 : 10), Math.max(10, this.calmFrom - this.now)),
          () => {
            if (node.life === life) this.give(node, { type: 'witness', id, reply });
          },
        );
      },
    );
  }
}
