import type { Logger } from '../telemetry/logger';
import type { GroupEvent } from './group/event';
import type { HeldAddress, LinkState, NetworkEvent, NetworkWatcher } from './ports';
import type { GroupSettings } from './settings';
import { serviceInterfaces } from './settings';

const isActive = ({ up, carrier }: LinkState): boolean => up && carrier;

/** What is on an interface, and whether the group's addresses there are our own. */
interface HeldAddresses {
  readonly list: (interfaceName: string) => Promise<readonly HeldAddress[]>;
  readonly isOurs: () => boolean;
}

/** Turns what the network reports into events of the machine: links counted, addresses gone, foreign announcements. */
export class LinkMonitor {
  private readonly active = new Map<string, boolean>();
  /** Of the group's addresses, those that somebody else added. */
  private readonly foreign = new Set<string>();
  private stop: (() => void) | undefined;

  constructor(
    private readonly settings: GroupSettings,
    private readonly watcher: NetworkWatcher,
    private readonly give: (event: GroupEvent) => void,
    private readonly log: Logger,
    private readonly addresses: HeldAddresses,
  ) {}

  /** Begins to watch, then reads the present state, so that no change falls in between. */
  async start(): Promise<void> {
    const counted = serviceInterfaces(this.settings);
    const watched = [...new Set([...counted, ...this.settings.vips.map((vip) => vip.interface)])];
    for (const name of counted) this.active.set(name, false);
    this.stop = this.watcher.watch(watched, this.settings.vips, (event) => this.onEvent(event));
    for (const link of await this.watcher.links(counted)) this.active.set(link.interface, isActive(link));
    this.count();
  }

  close(): void {
    this.stop?.();
  }

  private onEvent(event: NetworkEvent): void {
    switch (event.type) {
      case 'link':
        this.onLink(event.link);
        return;
      case 'address': {
        const { address, interface: name } = event;
        const isOurs = this.settings.vips.some((vip) => vip.address === address && vip.interface === name);
        if (!isOurs) return;
        if (event.action === 'removed') this.give({ type: 'vip-lost' });
        void this.lookForForeign(name);
        return;
      }
      case 'foreign-arp':
        this.log.debug(
          { address: event.address, interface: event.interface, hardware: event.hardware },
          'another machine announces an address of the group',
        );
        this.give({ type: 'foreign-arp' });
    }
  }

  /**
   * Addresses of the group that somebody added for good. They are not ours to remove, and would be ours to remove if we
   * had taken them over, so this instance stays without.
   */
  private async lookForForeign(name: string): Promise<void> {
    if (this.addresses.isOurs()) return;
    let held: readonly HeldAddress[];
    try {
      held = await this.addresses.list(name);
    } catch (error) {
      this.log.warn({ err: error, interface: name }, 'addresses could not be listed');
      return;
    }
    if (this.addresses.isOurs()) return;
    for (const { address, interface: its } of this.settings.vips) {
      if (its !== name) continue;
      const on = held.some((found) => found.address === address && found.validS === Infinity);
      if (on === this.foreign.has(address)) continue;
      if (on) this.foreign.add(address);
      else this.foreign.delete(address);
      const reason = `${address} was added to ${name} by somebody else, and must be removed by hand`;
      this.give({ type: 'obstacle', obstacle: { alarm: 'vip_foreign', about: address, reason }, on });
    }
  }

  private onLink(link: LinkState): void {
    const before = this.active.get(link.interface);
    if (before === undefined || before === isActive(link)) return;
    this.active.set(link.interface, isActive(link));
    this.log.info({ interface: link.interface, active: isActive(link) }, 'service link changed');
    this.count();
    if (isActive(link)) this.give({ type: 'carrier-up' });
  }

  private count(): void {
    this.give({ type: 'links', active: [...this.active.values()].filter(Boolean).length });
  }
}
