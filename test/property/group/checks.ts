import type { Node, World } from './world';
import { LINKS } from './world';

const CHECK_EVERY_MS = 50;

/** Watches a world from outside, on the wire and in the kernels, and writes down what ha.md forbids. */
export class Checks {
  private ownerlessSince = 0;
  /** Since when the network has been whole, without loss. */
  private wholeSince = 0;
  private readonly fitSince: number[];
  /** From here on: one owner, right ARP. Infinity: still under faults. */
  healedAt = Infinity;
  /** Once an owner is there it must stay (calm schedules). */
  ownerMustStay = false;
  private owner = '';

  constructor(private readonly world: World) {
    this.fitSince = world.nodes.map(() => Infinity);
  }

  start(): void {
    const again = (): void => {
      this.check();
      this.world.agenda.add(this.world.now + CHECK_EVERY_MS, again);
    };
    this.world.agenda.add(0, again);
  }

  private get patience(): number {
    return this.world.options.witness === 'none' ? 2000 : 4000;
  }

  private check(): void {
    const { world } = this;
    for (const node of world.nodes) this.checkHold(node);
    this.checkService();
    if (world.now > this.healedAt + this.patience) this.checkHealed();
    if (this.ownerMustStay) this.checkOwnerStays();
  }

  /** 5: held implies serving, or a lease that the kernel has not ended yet: 1 s, and what it may add (timing.ts). */
  private checkHold(node: Node): void {
    const { world } = this;
    if (!world.holds(node)) return;
    const serving = world.isRunning(node) && node.state.holding;
    if (serving && world.now < node.mainStalledUntil && world.now - node.mainStalledFrom > 950) {
      world.violate(`3: ${node.id} serves with a stalled main thread`);
    }
    const { lease, leaseSlack } = node.config.timing;
    if (!serving && world.now - node.kernel.renewedAt > lease + leaseSlack) {
      world.violate(`5: ${node.id} holds unserved for ${world.now - node.kernel.renewedAt} ms`);
    }
  }

  /** 12: one live, connected, eligible instance is enough for an owner in time. */
  private checkService(): void {
    const { world } = this;
    const { now } = world;
    const whole =
      world.loss === 0 &&
      world.replyLoss === 0 &&
      !LINKS.some((link) => world.cut[link]!.some((row) => row.some(Boolean))) &&
      !world.nodes.some((node) => node.witnessCut) &&
      !world.reorder;
    if (!whole) this.wholeSince = now;
    for (const node of world.nodes) {
      const fit =
        world.isRunning(node) &&
        node.links > 0 &&
        node.sip &&
        now >= node.mainStalledUntil &&
        !node.state.maintenance &&
        !node.state.leaving &&
        now - node.startedAt > 1500;
      if (!fit) this.fitSince[node.index] = Infinity;
      else if (this.fitSince[node.index] === Infinity) this.fitSince[node.index] = now;
    }
    if (world.nodes.some((node) => world.isRunning(node) && node.state.holding && world.holds(node))) {
      this.ownerlessSince = now;
    }
    const since = Math.max(this.ownerlessSince, this.wholeSince, Math.min(...this.fitSince));
    if (now - since > this.patience + CHECK_EVERY_MS) world.violate(`12: nobody serves since ${since}`);
  }

  /** 2 and 6: after healing, one owner and the last announcement its own. */
  private checkHealed(): void {
    const { world } = this;
    const holders = world.nodes.filter((node) => world.holds(node));
    // A hand-over under way shows nobody for a moment.
    if (holders.length === 0 && this.ownerlessSince > world.now - 2 * CHECK_EVERY_MS) return;
    if (holders.length !== 1) {
      world.violate(`2: ${holders.length} owners after healing: ${holders.map(({ id }) => id).join()}`);
      return;
    }
    if (world.arp !== holders[0]!.id)
      world.violate(`2/6: ARP names ${world.arp}, owner is ${holders[0]!.id}`);
  }

  /** 7, 8, 9, 10. */
  private checkOwnerStays(): void {
    const holder = this.world.nodes.find((node) => this.world.isRunning(node) && this.world.holds(node));
    if (holder === undefined) return;
    if (this.owner !== '' && this.owner !== holder.id) {
      this.world.violate(`7/8/9/10: switched from ${this.owner} to ${holder.id} without need`);
    }
    this.owner = holder.id;
  }
}
