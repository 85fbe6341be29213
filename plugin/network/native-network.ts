import type { DsbcError } from '../errors';
import type { HeldAddress, LinkState, Network, NetworkEvent, VipAddress } from '../ha/ports';
import { loadAddon, type NativeAddon, type RawLink, type RawNetwork, type RawNetworkEvent } from '../native';
import { ADDRESS_GONE, networkFailure, ROUTE_GONE, tryAll, type Attempt } from './failure';
import { LeaseGuard } from './lease-guard';
import { LeasePacer, PACER_PREFERRED_S, PACER_VALID_S } from './lease-pacer';
import { canonical, NetworkState, type Snapshot } from './network-state';

const familyOf = (address: string): 4 | 6 => (address.includes(':') ? 6 : 4);
const errnoOf = (failure: DsbcError | undefined): string => String(failure?.details['errno']);
const hostPrefix = (address: string): number => (address.includes(':') ? 128 : 32);
const PERMANENT = 2 ** 32 - 1;

const linkState = ({ name, up, carrier }: RawLink): LinkState => ({ interface: name, up, carrier });

function check(attempt: Attempt, errno: number): DsbcError | undefined {
  return errno === 0 ? undefined : networkFailure(attempt, errno);
}

/** The network part on the addon: rtnetlink and one packet socket. Every call is a few system calls, none waits. */
class NativeNetwork implements Network {
  readonly name = 'native';
  readonly hearsForeignArp = true;
  readonly #states = new Set<NetworkState>();
  readonly #guard = new LeaseGuard();
  readonly #pacer = new LeasePacer(() => this.bootTime());
  #watching = false;
  #closed = false;
  /** Of our own interfaces, by index; what they send is no foreign claim. */
  #links = new Map<number, RawLink>();

  constructor(
    private readonly addon: NativeAddon,
    private readonly raw: RawNetwork,
  ) {}

  readonly bootTime = (): number => this.addon.bootTime();

  async prepare(addresses: readonly VipAddress[], lifetimeS: number): Promise<void> {
    if (lifetimeS !== 1) {
      await this.#guard.start([]);
      return;
    }
    const failure = this.#pace(this.#pacer.start(addresses, (pacers) => void this.#pace(pacers)));
    if (failure !== undefined) throw failure;
    await this.#guard.start(this.#pacer.pacersOf(addresses));
  }

  async add(addresses: readonly VipAddress[], lifetimeS: number): Promise<void> {
    await Promise.resolve();
    this.#guard.hold(addresses);
    this.#lease(addresses, lifetimeS, (vip) =>
      check({ operation: 'add', ...vip }, this.raw.add(vip.interface, vip.address, lifetimeS)),
    );
  }

  async renew(addresses: readonly VipAddress[], lifetimeS: number): Promise<void> {
    await Promise.resolve();
    // The kernel adds what is not there, whatever the flags say, so presence is asked first.
    const held = new Map<string, ReadonlySet<string>>();
    for (const { interface: name } of addresses) {
      if (!held.has(name))
        held.set(
          name,
          new Set(
            this.#rawAddresses(name)
              .filter(isHost)
              .map((found) => found.address),
          ),
        );
    }
    this.#lease(addresses, lifetimeS, (vip) => {
      const attempt = { operation: 'renew', ...vip };
      if (held.get(vip.interface)?.has(canonical(vip.address)) !== true)
        return networkFailure(attempt, 'ENOENT');
      return check(attempt, this.raw.add(vip.interface, vip.address, lifetimeS));
    });
  }

  async remove(addresses: readonly VipAddress[]): Promise<void> {
    await Promise.resolve();
    tryAll(addresses, (vip) => {
      const failure = check({ operation: 'remove', ...vip }, this.raw.remove(vip.interface, vip.address));
      return ADDRESS_GONE.includes(errnoOf(failure)) ? undefined : failure;
    });
    this.#guard.release(addresses);
    this.#pacer.removed(addresses);
  }

  async deafen(addresses: readonly VipAddress[]): Promise<void> {
    await Promise.resolve();
    tryAll(addresses, (vip) => {
      const failure = check({ operation: 'deafen', ...vip }, this.raw.deafen(vip.interface, vip.address));
      return ROUTE_GONE.includes(errnoOf(failure)) ? undefined : failure;
    });
  }

  async list(interfaceName: string): Promise<readonly HeldAddress[]> {
    await Promise.resolve();
    return this.#rawAddresses(interfaceName).map(({ address, prefix, validS }) => ({
      address,
      family: familyOf(address),
      interface: interfaceName,
      prefix,
      validS: validS === PERMANENT ? Infinity : validS,
    }));
  }

  async announce(addresses: readonly VipAddress[]): Promise<void> {
    await Promise.resolve();
    tryAll(addresses, (vip) =>
      check({ operation: 'announce', ...vip }, this.raw.announce(vip.interface, vip.address)),
    );
  }

  async links(interfaces: readonly string[]): Promise<readonly LinkState[]> {
    await Promise.resolve();
    return this.#linkStates(interfaces);
  }

  watch(
    interfaces: readonly string[],
    addresses: readonly VipAddress[],
    listener: (event: NetworkEvent) => void,
  ): () => void {
    const state = new NetworkState(interfaces, addresses, listener);
    if (!this.#watching) {
      const failure = check(
        { operation: 'watch' },
        this.raw.watch((events) => this.#heard(events)),
      );
      if (failure !== undefined) throw failure;
      this.#watching = true;
    }
    state.seed(this.#snapshot(state));
    this.#states.add(state);
    return () => void this.#states.delete(state);
  }

  async close(): Promise<void> {
    await Promise.resolve();
    if (this.#closed) return;
    this.#closed = true;
    this.#pacer.close();
    this.#guard.close();
    this.#states.clear();
    this.raw.close();
  }

  /** Tries all, throws the first failure; the pacers come right behind, whatever failed. */
  #lease(
    addresses: readonly VipAddress[],
    lifetimeS: number,
    attempt: (vip: VipAddress) => DsbcError | undefined,
  ): void {
    try {
      tryAll(addresses, attempt);
    } finally {
      this.#pace(this.#pacer.behind(addresses, lifetimeS));
    }
  }

  #pace(pacers: readonly VipAddress[]): DsbcError | undefined {
    return pacers
      .map((pacer) =>
        check(
          { operation: 'pace leases by', ...pacer },
          this.raw.add(pacer.interface, pacer.address, PACER_VALID_S, PACER_PREFERRED_S),
        ),
      )
      .find((failure) => failure !== undefined);
  }

  #heard(events: readonly RawNetworkEvent[]): void {
    for (const event of events) for (const state of [...this.#states]) this.#tell(state, event);
  }

  #tell(state: NetworkState, event: RawNetworkEvent): void {
    if (event.type === 'lost') state.sync(this.#snapshot(state));
    else if (event.type === 'link') {
      const { link, gone } = event;
      if (gone) this.#links.delete(link.index);
      else this.#links.set(link.index, link);
      state.link(gone ? { interface: link.name, up: false, carrier: false } : linkState(link));
    } else {
      const name = this.#links.get(event.index)?.name;
      if (name === undefined) return;
      if (event.type === 'address') {
        if (isHost(event)) state.address(event.gone ? 'removed' : 'added', name, event.address);
        else state.shadow(!event.gone, name, event.address);
      } else if (![...this.#links.values()].some((own) => own.hardware === event.hardware)) {
        state.foreignClaim(name, event.address, event.hardware);
      }
    }
  }

  #snapshot(state: NetworkState): Snapshot {
    const links = this.#linkStates(state.interfaces);
    const present = new Set([...this.#links.values()].map((link) => link.name));
    const addresses = state.interfaces
      .filter((name) => present.has(name))
      .flatMap((name) =>
        this.#rawAddresses(name).map((held) => ({
          interface: name,
          address: held.address,
          isHost: isHost(held),
        })),
      );
    return { links, addresses };
  }

  /** One that does not exist is neither up nor has carrier. */
  #linkStates(interfaces: readonly string[]): LinkState[] {
    const links = this.raw.links();
    if (typeof links === 'number') throw networkFailure({ operation: 'links' }, links);
    this.#links = new Map(links.map((link) => [link.index, link]));
    return interfaces.map((name) => {
      const found = links.find((link) => link.name === name);
      return found === undefined ? { interface: name, up: false, carrier: false } : linkState(found);
    });
  }

  #rawAddresses(interfaceName: string): Exclude<ReturnType<RawNetwork['addresses']>, number> {
    const found = this.raw.addresses(interfaceName);
    if (typeof found === 'number')
      throw networkFailure({ operation: 'list', interface: interfaceName }, found);
    return found;
  }
}

const isHost = (held: { address: string; prefix: number }): boolean =>
  held.prefix === hostPrefix(held.address);

/**
 * Opens the addon's network part (Linux).
 * @throws DsbcError DSBC_NETWORK_FAILED when the addon cannot be loaded or a capability is missing
 */
export async function createNetwork(): Promise<Network> {
  await Promise.resolve();
  let addon: NativeAddon;
  try {
    addon = loadAddon();
  } catch (cause) {
    throw networkFailure({ operation: 'load the native addon' }, 'ENOENT', cause);
  }
  if (addon.Network === undefined) throw networkFailure({ operation: 'open' }, 'ENOSYS');
  const raw = new addon.Network();
  const errno = raw.open();
  if (errno !== 0) {
    raw.close();
    throw networkFailure({ operation: 'open' }, errno);
  }
  return new NativeNetwork(addon, raw);
}
