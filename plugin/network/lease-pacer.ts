import { randomInt } from 'node:crypto';
import type { BootClock, VipAddress } from '../ha/ports';

/*
 * Makes the kernel end a lease of one second on time.
 *
 * The kernel checks the leases of a namespace by one timer per family, which every added or renewed address sets anew:
 * to the next end of any lease, put off to the next full second of jiffies if that is less than 250 ms later, and at
 * least a second from now (check_lifetime in net/ipv4/devinet.c, addrconf_verify_rtnl in net/ipv6/addrconf.c). So the
 * lease just renewed may end up to 250 ms late, unless another one ends at least that much earlier: even when put off,
 * it is over before the second is, and the timer is set to that second exactly.
 *
 * A pacer is such another lease: an address on the loopback that nobody uses. Two take turns, so that one of them
 * always has its next end within 20 to 750 ms. They are renewed right behind the leases they pace and, as long as there
 * are none, by a timer. Never in between: any change puts the timer off again. The timer is a deferrable one, too: it
 * does not wake an idle CPU. So when a lease was not renewed, its pacer is, again and again from the lease's end on: any
 * change has the kernel look at once. (LeaseGuard does that where the process is gone.)
 */

/** What a pacer is added with: deprecated after 1 s, which counts as an end, gone after 2 s. */
export const PACER_VALID_S = 2;
export const PACER_PREFERRED_S = 1;
/** A pacer helps from this age on (ADDRCONF_TIMER_FUZZ, a quarter of a second), until it is a second old. */
const LEAD_MS = 250;
/** Turns while there is no lease. */
const TURN_MS = 400;
/** A lease that is over is certainly gone so much later. */
const AFTER_MS = 250;
/** From this age on a lease of one second that was not renewed is being ended: the kernel counts it over 20 ms early. */
const ENDING_MS = 980;
const EVERY_MS = 40;

interface Pacer extends VipAddress {
  renewedAt: number;
}

const keyOf = (vip: VipAddress): string => `${vip.address} ${vip.interface}`;

/** In 127.85.0.0/16 or fe80::d5bc:0:0:0/80: reachable on this machine alone, and never a source address of its own accord. */
function pairOf(family: 4 | 6): readonly [Pacer, Pacer] {
  const [high, low] = [randomInt(256), 2 * randomInt(127)];
  const start = family === 4 ? `127.85.${high}.` : `fe80::d5bc:0:${high}:`;
  const pacer = (last: number): Pacer => ({
    address: `${start}${last}`,
    family,
    interface: 'lo',
    renewedAt: -Infinity,
  });
  return [pacer(low + 1), pacer(low + 2)];
}

/** Chooses which pacers to renew, and when. */
export class LeasePacer {
  readonly #pairs = { 4: pairOf(4), 6: pairOf(6) };
  /** When each lease is certainly over. */
  readonly #leases = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #ending: NodeJS.Timeout | undefined;
  #renew: ((pacers: readonly VipAddress[]) => void) | undefined;

  constructor(private readonly now: BootClock) {}

  /** The leases were just started or renewed: the pacers to renew right behind them. */
  behind(leases: readonly VipAddress[], lifetimeS: number): readonly VipAddress[] {
    const now = this.now();
    for (const lease of leases) this.#leases.set(keyOf(lease), now + lifetimeS * 1000 + AFTER_MS);
    if (lifetimeS !== 1) return [];
    this.#end(leases, ENDING_MS);
    return this.#due(leases);
  }

  /** Has the kernel look until the leases must be over, unless they are renewed or removed before. */
  #end(leases: readonly VipAddress[], inMs: number): void {
    clearTimeout(this.#ending);
    this.#ending = setTimeout(() => {
      const now = this.now();
      if (this.#renew === undefined || !leases.some((lease) => (this.#leases.get(keyOf(lease)) ?? 0) > now))
        return;
      this.#renew(this.pacersOf(leases));
      this.#end(leases, EVERY_MS);
    }, inMs);
    this.#ending.unref();
  }

  /** The addresses were removed. */
  removed(leases: readonly VipAddress[]): void {
    for (const lease of leases) this.#leases.delete(keyOf(lease));
  }

  /**
   * Keeps pacers for the families of `expected` while there is no lease, so that the first one ends on time as well.
   * @returns those to renew now; later ones are given to `renew`
   */
  start(
    expected: readonly VipAddress[],
    renew: (pacers: readonly VipAddress[]) => void,
  ): readonly VipAddress[] {
    clearInterval(this.#timer);
    this.#renew = renew;
    this.#timer = setInterval(() => {
      const now = this.now();
      if ([...this.#leases.values()].every((overAt) => overAt < now)) renew(this.#due(expected));
    }, TURN_MS);
    this.#timer.unref();
    return this.#due(expected);
  }

  /** One for each family. */
  pacersOf(leases: readonly VipAddress[]): readonly VipAddress[] {
    return [...new Set(leases.map(({ family }) => family))].map((family) => this.#pairs[family][0]);
  }

  close(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#ending);
  }

  /** The older pacer of each family, once the newer one helps. */
  #due(leases: readonly VipAddress[]): readonly VipAddress[] {
    const now = this.now();
    return [...new Set(leases.map(({ family }) => family))].flatMap((family) => {
      const [older, newer] = [...this.#pairs[family]].sort((a, b) => a.renewedAt - b.renewedAt);
      if (older === undefined || newer === undefined || now - newer.renewedAt < LEAD_MS) return [];
      older.renewedAt = now;
      return [older];
    });
  }
}
