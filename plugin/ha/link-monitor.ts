import type { Logger } from '../telemetry/logger';
import type { GroupEvent } from './group/event';
import type { LinkState, NetworkEvent, NetworkWatcher } from './ports';
import type { GroupSettings } from './settings';
import { serviceInterfaces } from './settings';

const isActive = ({ up, carrier }: LinkState): boolean => up && carrier;

/** Turns what the network reports into events of the machine: links counted, addresses gone, foreign announcements. */
export class LinkMonitor {
  private readonly active = new Map<string, boolean>();
  private stop: (() => void) | undefined;

  constructor(
    private readonly settings: GroupSettings,
    private readonly watcher: NetworkWatcher,
    private readonly give: (event: GroupEvent) => void,
    private readonly log: Logger,
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
        if (event.action === 'removed' && isOurs) this.give({ type: 'vip-lost' });
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
