import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { uptime } from 'node:os';
import type { HeldAddress, LinkState, Network, NetworkEvent, VipAddress } from '../ha/ports';
import { neighbourAdvertisement } from './advertisement';
import { ADDRESS_GONE, networkFailure, ROUTE_GONE, type Attempt } from './failure';
import { LeaseGuard } from './lease-guard';
import { LeasePacer, PACER_PREFERRED_S, PACER_VALID_S } from './lease-pacer';
import { canonical, NetworkState, type Snapshot } from './network-state';

/** Longer than any of these programs needs; a hung one is killed. */
const PROGRAM_TIMEOUT_MS = 5000;
/** `arping` waits a while behind its packet: so many run side by side. */
const ANNOUNCERS = 16;

interface Finished {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], input = ''): Promise<Finished> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      [...args],
      { timeout: PROGRAM_TIMEOUT_MS, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : (error.code ?? 'ETIMEDOUT'), stdout, stderr }),
    );
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** What iproute2 prints for the errors that matter, by errno. */
const MESSAGES: readonly [pattern: RegExp, errno: string][] = [
  [/Operation not permitted/, 'EPERM'],
  [/Cannot find device|does not exist|No such device/, 'ENODEV'],
  [/Cannot assign requested address|[Aa]ddress not found/, 'EADDRNOTAVAIL'],
  [/Permission denied/, 'EACCES'],
  [/Network is down/, 'ENETDOWN'],
  [/No such process/, 'ESRCH'],
  [/File exists/, 'EEXIST'],
  [/any valid prefix|Invalid|Error:/, 'EINVAL'],
];

const errnoOf = ({ code, stderr }: Finished): string =>
  typeof code === 'string' ? code : (MESSAGES.find(([pattern]) => pattern.test(stderr))?.[1] ?? 'EIO');

const fail = (attempt: Attempt, finished: Finished): Error =>
  networkFailure(
    attempt,
    errnoOf(finished),
    new Error(finished.stderr.trim() || `exit code ${finished.code}`),
  );

/** A line for `ip -batch`. */
const leaseLine = (vip: VipAddress, validS: number, preferredS = validS): string =>
  `address replace ${prefixOf(vip)} dev ${vip.interface} valid_lft ${validS} preferred_lft ${preferredS}${
    vip.family === 6 ? ' nodad noprefixroute' : ''
  }`;

const prefixOf = (vip: VipAddress): string => `${vip.address}/${vip.family === 6 ? 128 : 32}`;

const paceLine = (pacer: VipAddress): string => leaseLine(pacer, PACER_VALID_S, PACER_PREFERRED_S);

/** What `ip -json address show` prints, as far as it is read. */
interface ShownLink {
  readonly ifindex: number;
  readonly ifname: string;
  readonly link_type?: string;
  /** The hardware address. */
  readonly address?: string;
  readonly flags: readonly string[];
  readonly addr_info?: readonly {
    readonly local?: string;
    readonly prefixlen?: number;
    readonly valid_life_time?: number;
  }[];
}

const PERMANENT = 2 ** 32 - 1;

/**
 * The network part on iproute2 and arping, for machines where the addon cannot be. Slower (some milliseconds per
 * program) and deaf to foreign ARP. IPv6 announcements need perl. The programs need the capabilities
 * NET_ADMIN and NET_RAW as ambient ones, or root.
 */
class Iproute2Network implements Network {
  readonly name = 'iproute2';
  readonly hearsForeignArp = false;
  readonly #states = new Set<NetworkState>();
  readonly #guard = new LeaseGuard();
  readonly #pacer = new LeasePacer(() => this.bootTime());
  #monitor: ChildProcess | undefined;
  #closed = false;
  #offset = 0;
  #last = 0;

  /** /proc/uptime counts CLOCK_BOOTTIME in steps of 10 ms; the monotonic clock fills in between. */
  readonly bootTime = (): number => {
    const boot = uptime() * 1000;
    const monotonic = performance.now();
    if (Math.abs(boot - (monotonic + this.#offset)) > 15) this.#offset = boot - monotonic;
    this.#last = Math.max(this.#last, monotonic + this.#offset);
    return this.#last;
  };

  async prepare(addresses: readonly VipAddress[], lifetimeS: number): Promise<void> {
    if (lifetimeS !== 1) {
      await this.#guard.start([]);
      return;
    }
    const pace = (pacers: readonly VipAddress[]): Promise<void> =>
      this.#batch('pace leases by', pacers, paceLine);
    await pace(this.#pacer.start(addresses, (pacers) => void pace(pacers).catch(() => undefined)));
    await this.#guard.start(this.#pacer.pacersOf(addresses));
  }

  async add(addresses: readonly VipAddress[], lifetimeS: number): Promise<void> {
    this.#guard.hold(addresses);
    const pacers = this.#pacer.behind(addresses, lifetimeS);
    await this.#batch('add', addresses, (vip) => leaseLine(vip, lifetimeS), {
      behind: pacers.map(paceLine),
    });
  }

  async renew(addresses: readonly VipAddress[], lifetimeS: number): Promise<void> {
    // `ip address change` adds what is not there, so presence is asked first.
    const held = new Set<string>();
    for (const name of new Set(addresses.map((vip) => vip.interface))) {
      for (const found of await this.list(name)) if (isHost(found)) held.add(`${name} ${found.address}`);
    }
    const isHeld = (vip: VipAddress): boolean => held.has(`${vip.interface} ${canonical(vip.address)}`);
    const lost = addresses.find((vip) => !isHeld(vip));
    await this.add(addresses.filter(isHeld), lifetimeS);
    if (lost !== undefined) throw networkFailure({ operation: 'renew', ...lost }, 'ENOENT');
  }

  async remove(addresses: readonly VipAddress[]): Promise<void> {
    await this.#batch('remove', addresses, (vip) => `address del ${prefixOf(vip)} dev ${vip.interface}`, {
      tolerated: ADDRESS_GONE,
    });
    this.#guard.release(addresses);
    this.#pacer.removed(addresses);
  }

  async deafen(addresses: readonly VipAddress[]): Promise<void> {
    await this.#batch(
      'deafen',
      addresses,
      (vip) => `route del local ${prefixOf(vip)} dev ${vip.interface} table local`,
      { tolerated: ROUTE_GONE },
    );
  }

  async list(interfaceName: string): Promise<readonly HeldAddress[]> {
    const shown = await this.#show(['address', 'show', 'dev', interfaceName], {
      operation: 'list',
      interface: interfaceName,
    });
    return shown.flatMap((link) => heldOn(link));
  }

  async links(interfaces: readonly string[]): Promise<readonly LinkState[]> {
    const shown = await this.#show(['link', 'show'], { operation: 'links' });
    return statesOf(shown, interfaces);
  }

  async announce(addresses: readonly VipAddress[]): Promise<void> {
    const shown = await this.#show(['link', 'show'], { operation: 'links' });
    const isEthernet = (vip: VipAddress): boolean =>
      shown.find(({ ifname }) => ifname === vip.interface)?.link_type !== 'loopback';
    let first = await announceIpv6(
      addresses.filter(({ family }) => family === 6),
      shown,
    );
    const waiting = addresses.filter((vip) => vip.family === 4 && isEthernet(vip));
    const work = async (): Promise<void> => {
      for (let vip = waiting.shift(); vip !== undefined; vip = waiting.shift()) {
        const failure = await announceIpv4(vip);
        first ??= failure;
      }
    };
    await Promise.all(Array.from({ length: ANNOUNCERS }, work));
    if (first !== undefined) throw first;
  }

  watch(
    interfaces: readonly string[],
    addresses: readonly VipAddress[],
    listener: (event: NetworkEvent) => void,
  ): () => void {
    const state = new NetworkState(interfaces, addresses, listener);
    let isSeeded = false;
    this.#onChange.set(state, async () => {
      const snapshot = await this.#snapshot(state.interfaces);
      if (!this.#states.has(state)) return;
      if (isSeeded) state.sync(snapshot);
      else state.seed(snapshot);
      isSeeded = true;
    });
    this.#states.add(state);
    this.#startMonitor();
    this.#changed();
    return () => {
      this.#states.delete(state);
      this.#onChange.delete(state);
    };
  }

  async close(): Promise<void> {
    await Promise.resolve();
    this.#closed = true;
    this.#pacer.close();
    this.#guard.close();
    this.#states.clear();
    this.#onChange.clear();
    this.#monitor?.kill();
    this.#monitor = undefined;
  }

  readonly #onChange = new Map<NetworkState, () => Promise<void>>();
  #running = false;
  #again = false;

  /** What `ip monitor` says is only taken as "something changed": everything is asked anew, one round at a time. */
  #changed(): void {
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = true;
    void this.#look().finally(() => {
      this.#running = false;
      if (this.#again && !this.#closed) this.#changed();
    });
  }

  async #look(): Promise<void> {
    this.#again = false;
    // A round that fails (an interface is just vanishing) is made up for by the next change.
    for (const look of [...this.#onChange.values()]) await look().catch(() => undefined);
  }

  #startMonitor(): void {
    if (this.#monitor !== undefined || this.#closed) return;
    const monitor = spawn('ip', ['-o', 'monitor', 'link', 'address'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#monitor = monitor;
    monitor.stdout.on('data', () => this.#changed());
    monitor.on('error', () => undefined);
    monitor.on('close', () => {
      if (this.#monitor === monitor) this.#monitor = undefined;
      // Somebody killed it: start over, and look at what was missed.
      if (this.#closed || this.#states.size === 0) return;
      const restart = setTimeout(() => {
        this.#startMonitor();
        this.#changed();
      }, 500);
      restart.unref();
    });
  }

  async #snapshot(interfaces: readonly string[]): Promise<Snapshot> {
    const shown = await this.#show(['address', 'show'], { operation: 'list' });
    const watched = shown.filter((link) => interfaces.includes(link.ifname));
    return {
      links: statesOf(shown, interfaces),
      addresses: watched.flatMap((link) => heldOn(link).map((held) => ({ ...held, isHost: isHost(held) }))),
    };
  }

  async #show(args: readonly string[], attempt: Attempt): Promise<readonly ShownLink[]> {
    const finished = await run('ip', ['-json', ...args]);
    if (finished.code !== 0) throw fail(attempt, finished);
    return JSON.parse(finished.stdout || '[]') as ShownLink[];
  }

  /**
   * All lines in one `ip -batch`, which goes on behind a line that fails; `tolerated` are errnos that count as done,
   * `behind` are lines that come last and may fail.
   */
  async #batch(
    operation: string,
    addresses: readonly VipAddress[],
    line: (vip: VipAddress) => string,
    {
      tolerated = [],
      behind = [],
    }: { readonly tolerated?: readonly string[]; readonly behind?: readonly string[] } = {},
  ): Promise<void> {
    if (addresses.length === 0) return;
    const finished = await run(
      'ip',
      ['-force', '-batch', '-'],
      [...addresses.map(line), ...behind].map((text) => `${text}\n`).join(''),
    );
    if (finished.code === 0) return;
    // Each failure is its message, then "Command failed -:<line>".
    const failures = [...finished.stderr.matchAll(/([\s\S]*?)Command failed -:(\d+)/g)];
    if (failures.length === 0) throw fail({ operation }, finished);
    for (const [, stderr = '', number = ''] of failures) {
      const failure = { ...finished, stderr };
      const vip = addresses[Number(number) - 1];
      if (vip !== undefined && !tolerated.includes(errnoOf(failure)))
        throw fail({ operation, ...vip }, failure);
    }
  }
}

const isHost = (held: HeldAddress): boolean => held.prefix === (held.family === 6 ? 128 : 32);

function heldOn(link: ShownLink): HeldAddress[] {
  return (link.addr_info ?? []).flatMap(({ local, prefixlen, valid_life_time: validS }) =>
    local === undefined || prefixlen === undefined
      ? []
      : [
          {
            address: local,
            family: local.includes(':') ? (6 as const) : (4 as const),
            interface: link.ifname,
            prefix: prefixlen,
            validS: validS === undefined || validS === PERMANENT ? Infinity : validS,
          },
        ],
  );
}

/** One that does not exist is neither up nor has carrier. */
const statesOf = (shown: readonly ShownLink[], interfaces: readonly string[]): LinkState[] =>
  interfaces.map((name) => {
    const flags = shown.find((link) => link.ifname === name)?.flags ?? [];
    return { interface: name, up: flags.includes('UP'), carrier: flags.includes('LOWER_UP') };
  });

/** Both forms of gratuitous ARP; arping (iputils) sends one at a time. */
async function announceIpv4(vip: VipAddress): Promise<Error | undefined> {
  for (const form of ['-U', '-A']) {
    const finished = await run('arping', [form, '-c', '1', '-w', '1', '-I', vip.interface, vip.address]);
    if (finished.code !== 0) return fail({ operation: 'announce by arping', ...vip }, finished);
  }
  return undefined;
}

/** Sends raw frames: `<interface index> <hex>` a line. AF_PACKET is 17, SOCK_RAW 3; the address is a sockaddr_ll. */
const SEND_FRAMES = `
socket(my $s, 17, 3, 0) or die "$!\\n";
while (<STDIN>) {
  my ($index, $hex) = split;
  my $frame = pack("H*", $hex);
  my $to = pack("SnlSCCa8", 17, 0x86dd, $index, 1, 0, 6, substr($frame, 0, 6));
  send($s, $frame, 0, $to) or die "$!\\n";
}`;

/** No packaged program sets override flag and link-layer option, so perl sends frames that are made here. */
async function announceIpv6(
  addresses: readonly VipAddress[],
  shown: readonly ShownLink[],
): Promise<Error | undefined> {
  const [first] = addresses;
  if (first === undefined) return undefined;
  const lines: string[] = [];
  for (const vip of addresses) {
    const link = shown.find(({ ifname }) => ifname === vip.interface);
    if (link === undefined) return networkFailure({ operation: 'announce', ...vip }, 'ENODEV');
    if (link.link_type !== 'ether') continue;
    lines.push(
      `${link.ifindex} ${neighbourAdvertisement(link.address ?? '', vip.address).toString('hex')}\n`,
    );
  }
  const finished = await run('perl', ['-e', SEND_FRAMES], lines.join(''));
  return finished.code === 0 ? undefined : fail({ operation: 'announce by perl', ...first }, finished);
}

/**
 * The network part on programs.
 * @throws DsbcError DSBC_NETWORK_FAILED when `ip` is missing
 */
export async function createNetwork(): Promise<Network> {
  const finished = await run('ip', ['-V']);
  if (finished.code !== 0) throw fail({ operation: 'run ip (package iproute2)' }, finished);
  return new Iproute2Network();
}
