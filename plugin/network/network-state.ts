import { SocketAddress } from 'node:net';
import type { LinkState, NetworkEvent, VipAddress } from '../ha/ports';

/** The text the kernel prints for an address, so that two spellings of one compare equal. */
export const canonical = (address: string): string =>
  address.includes(':') ? new SocketAddress({ address, family: 'ipv6' }).address : address;

/** What is known of the watched interfaces and addresses at one moment. */
export interface Snapshot {
  readonly links: readonly LinkState[];
  /** What is on the watched interfaces. `isHost`: as /32 or /128, which is how the group adds its own. */
  readonly addresses: readonly {
    readonly interface: string;
    readonly address: string;
    readonly isHost: boolean;
  }[];
}

/**
 * Turns what the kernel says into events: only changes, only of what one listener watches, and the address in the
 * spelling it was asked for. The kernel repeats itself at every renewal of a lease.
 */
export class NetworkState {
  readonly #interfaces: ReadonlySet<string>;
  /** `interface address` (canonical) to the watched address. */
  readonly #watched = new Map<string, VipAddress>();
  readonly #links = new Map<string, LinkState>();
  readonly #held = new Set<string>();
  /** Watched addresses that are there with another prefix. */
  readonly #shadowed = new Set<string>();

  constructor(
    interfaces: readonly string[],
    addresses: readonly VipAddress[],
    private readonly listener: (event: NetworkEvent) => void,
  ) {
    this.#interfaces = new Set([...interfaces, ...addresses.map((address) => address.interface)]);
    for (const vip of addresses) this.#watched.set(`${vip.interface} ${canonical(vip.address)}`, vip);
  }

  get interfaces(): readonly string[] {
    return [...this.#interfaces];
  }

  /** How things are at the start: no events. */
  seed({ links, addresses }: Snapshot): void {
    for (const link of links) this.#links.set(link.interface, link);
    for (const held of addresses)
      (held.isHost ? this.#held : this.#shadowed).add(`${held.interface} ${held.address}`);
  }

  link(link: LinkState): void {
    if (!this.#interfaces.has(link.interface)) return;
    const before = this.#links.get(link.interface);
    this.#links.set(link.interface, link);
    if (before?.up !== link.up || before.carrier !== link.carrier) this.listener({ type: 'link', link });
  }

  address(action: 'added' | 'removed', interfaceName: string, address: string): void {
    const key = `${interfaceName} ${address}`;
    const vip = this.#watched.get(key);
    if (vip === undefined || this.#held.has(key) === (action === 'added')) return;
    if (action === 'added') this.#held.add(key);
    else this.#held.delete(key);
    this.listener({ type: 'address', action, address: vip.address, interface: interfaceName });
  }

  /** The same address with another prefix: nobody adds it so but by hand. */
  shadow(isThere: boolean, interfaceName: string, address: string): void {
    const key = `${interfaceName} ${address}`;
    const vip = this.#watched.get(key);
    if (vip === undefined || this.#shadowed.has(key) === isThere) return;
    if (isThere) this.#shadowed.add(key);
    else this.#shadowed.delete(key);
    this.listener({ type: 'address', action: 'shadowed', address: vip.address, interface: interfaceName });
  }

  foreignClaim(interfaceName: string, address: string, hardware: string): void {
    const vip = this.#watched.get(`${interfaceName} ${address}`);
    if (vip === undefined) return;
    this.listener({ type: 'foreign-arp', address: vip.address, interface: interfaceName, hardware });
  }

  /** Everything anew, after events were lost or when a driver only hears that something changed. */
  sync({ links, addresses }: Snapshot): void {
    for (const link of links) this.link(link);
    const keys = (isHost: boolean): ReadonlySet<string> =>
      new Set(
        addresses.filter((held) => held.isHost === isHost).map((held) => `${held.interface} ${held.address}`),
      );
    const [held, shadowed] = [keys(true), keys(false)];
    for (const key of [...this.#held]) if (!held.has(key)) this.address('removed', ...partsOf(key));
    for (const key of held) this.address('added', ...partsOf(key));
    for (const key of [...this.#shadowed]) if (!shadowed.has(key)) this.shadow(false, ...partsOf(key));
    for (const key of shadowed) this.shadow(true, ...partsOf(key));
  }
}

/** Interface and address of a key. */
function partsOf(key: string): [interfaceName: string, address: string] {
  const space = key.indexOf(' ');
  return [key.slice(0, space), key.slice(space + 1)];
}
