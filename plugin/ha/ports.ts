/**
 * What the group needs of the world, as narrow interfaces. The native addon and its iproute2 twin implement
 * the network ones (one contract suite runs on both), the registry implements `WitnessStore` with Cassandra's
 * lightweight transactions, main/ wires them. Nothing here knows SIP.
 */

/** An address the group shares: the VIP or one of its aliases, always handled as /32 or /128. */
export interface VipAddress {
  /** IPv4 dotted or IPv6 without brackets and without prefix length. */
  readonly address: string;
  readonly family: 4 | 6;
  /** Network interface that carries it, e.g. `eth0`. */
  readonly interface: string;
}

/** An address found on an interface. */
export interface HeldAddress extends VipAddress {
  readonly prefix: number;
  /** Seconds the kernel will keep it if nobody renews it; `Infinity` for a permanent one. */
  readonly validS: number;
}

/**
 * Adds and removes addresses under a kernel lease (`valid_lft`): what nobody renews, the kernel removes.
 * Every call takes all addresses at once, resolves when the kernel has answered for each, and rejects with
 * DSBC_NETWORK_FAILED (details: operation, address, interface, errno) on the first refusal, after having tried the rest.
 */
export interface VipDriver {
  /**
   * Adds each as /32 or /128 with `valid_lft` and `preferred_lft` of `lifetimeS` whole seconds (IPv6 with NODAD and
   * NOPREFIXROUTE). An address that is already there gets the new lifetime.
   */
  add(addresses: readonly VipAddress[], lifetimeS: number): Promise<void>;
  /**
   * These addresses may be added soon, with this lifetime. From 300 ms later on a lease of one second ends at most 0.1 s
   * late; without, one that was never renewed may end a quarter of a second late. Longer ones may always.
   * Rejects when that cannot be; everything else works all the same.
   */
  prepare(addresses: readonly VipAddress[], lifetimeS: number): Promise<void>;
  /** Starts the lifetime afresh. An address that is gone counts as a failure (errno ENOENT) and is not added again. */
  renew(addresses: readonly VipAddress[], lifetimeS: number): Promise<void>;
  /** Removes each; one that is already gone is no failure, nor one whose interface is. */
  remove(addresses: readonly VipAddress[]): Promise<void>;
  /**
   * Ends receiving on each while sending goes on, until it is removed and added again; one that does not receive is no failure.
   * For the moment before a removal in which what was received is still sent on its way.
   */
  deafen(addresses: readonly VipAddress[]): Promise<void>;
  /** Everything on an interface, whatever its prefix and whoever added it. */
  list(interfaceName: string): Promise<readonly HeldAddress[]>;
}

/**
 * Tells the neighbours where the addresses are now. IPv4: ARP request form (sender = target, broadcast) and reply form
 * with target hardware = sender hardware. IPv6: unsolicited neighbour advertisement, override flag and target
 * link-layer option, to all-nodes. Resolves when every frame is handed to the kernel.
 */
export interface Announcer {
  announce(addresses: readonly VipAddress[]): Promise<void>;
}

/** State of one network interface. `active` means administratively up and with carrier. */
export interface LinkState {
  readonly interface: string;
  readonly up: boolean;
  readonly carrier: boolean;
}

export type NetworkEvent =
  | { readonly type: 'link'; readonly link: LinkState }
  /**
   * Somebody (perhaps the kernel, at the end of a lease) added or removed an address. `shadowed`: the same one with another prefix
   * than ours came or went.
   */
  | {
      readonly type: 'address';
      readonly action: 'added' | 'removed' | 'shadowed';
      readonly address: string;
      readonly interface: string;
    }
  /** An ARP packet or neighbour advertisement, not sent by us, claims a watched address for another hardware address. */
  | {
      readonly type: 'foreign-arp';
      readonly address: string;
      readonly interface: string;
      readonly hardware: string;
    };

/** Watches interfaces and, on them, the addresses given. */
export interface NetworkWatcher {
  links(interfaces: readonly string[]): Promise<readonly LinkState[]>;
  /** Calls back until the returned function is called. A driver that cannot hear foreign ARP says so by `hearsForeignArp`. */
  watch(
    interfaces: readonly string[],
    addresses: readonly VipAddress[],
    listener: (event: NetworkEvent) => void,
  ): () => void;
  readonly hearsForeignArp: boolean;
}

/**
 * Milliseconds (with fraction) of CLOCK_BOOTTIME: goes on through suspend, never back, the same in every
 * thread and process of the machine.
 */
export type BootClock = () => number;

/** The network part as one thing: the addon or its twin. */
export interface Network extends VipDriver, Announcer, NetworkWatcher {
  readonly name: 'native' | 'iproute2';
  readonly bootTime: BootClock;
  /** Ends every watch and closes sockets. Addresses stay: whoever added them removes them. Idempotent. */
  close(): Promise<void>;
}

/**
 * What a network module exports. The group runs in a worker thread, which loads the module by its path:
 * an implementation cannot be passed between threads.
 */
export interface NetworkModule {
  /** Rejects with DSBC_NETWORK_FAILED when the machine cannot do it (capability, program or addon missing). */
  createNetwork(): Promise<Network>;
}

/** The one row of a group's witness. `owner` is empty after a release. */
export interface WitnessRow {
  readonly owner: string;
  readonly term: number;
  readonly seq: number;
}

/**
 * The witness: one row per group under linearisable compare-and-set (Cassandra LWT, SERIAL). Never retries by itself,
 * never decides: time and ownership are the group's business. A rejection means *unknown*, not lost: the write may still
 * be applied.
 */
export interface WitnessStore {
  /** Linearisable read (SERIAL). `null`: there is no row yet. */
  read(group: string): Promise<WitnessRow | null>;
  /**
   * Writes `next` if the row still has the (term, seq) of `expected` (`null`: if there is no row).
   * @returns applied, and the row found otherwise
   */
  compareAndSet(
    group: string,
    expected: Pick<WitnessRow, 'term' | 'seq'> | null,
    next: WitnessRow,
  ): Promise<{ readonly applied: boolean; readonly current: WitnessRow | null }>;
}
