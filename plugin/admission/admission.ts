import type { LimitsConfig } from '../config/types';
import { AddressTable } from '../routing/address';
import type { Role } from '../routing/decision';
import type { MonotonicClock } from '../telemetry/clock';
import { SourceLimits } from './source-limits';

/**
 * What this instance does with new requests: takes all of them; only those that would survive its end (a hand-over is under
 * way); none with a 503; none in silence.
 */
export const SERVICE_MODES = ['serving', 'handing_over', 'draining', 'standby'] as const;
export type ServiceMode = (typeof SERVICE_MODES)[number];

/** Why a request is not taken. `silent`: nothing is said; else 503 with Retry-After. */
export const REFUSALS = [
  'standby',
  'draining',
  'too_many',
  'too_many_of_source',
  'too_fast',
  'blocked',
] as const;
export type Refusal = (typeof REFUSALS)[number];

const SILENT: ReadonlySet<Refusal> = new Set(['standby', 'blocked']);

/**
 * Whose a request that was let in is. `ours`: soon over, our end would cut it off. `bridged`: carried as two dialogs, which may
 * ring for long. `late`: it came when a hand-over was under way. `handed_on`: the SIP server goes on with it by itself.
 */
export const STANDINGS = ['ours', 'bridged', 'late', 'handed_on'] as const;
export type Standing = (typeof STANDINGS)[number];

/** Statuses that look like a scanner at work when an endpoint gets nothing else. */
const SUSPICIOUS = new Set([400, 403, 404, 414, 416, 420, 481, 482, 483]);

/**
 * Who is let in. Sites and peers never are limited; endpoints are, each source address on its own. Counts what is
 * under way, so that a drain knows when it is done.
 */
export class Admission {
  readonly #sources: SourceLimits;
  readonly #holds: () => boolean | undefined;
  #limits: LimitsConfig;
  #exempt: AddressTable<true>;
  #mode: ServiceMode = 'serving';
  /** How many of those under way are of each source. */
  readonly #held = new Map<string, number>();
  readonly #inFlight: Record<Standing, number> = { ours: 0, bridged: 0, late: 0, handed_on: 0 };
  #idle: { readonly for: readonly Standing[]; readonly resolve: () => void }[] = [];

  /**
   * @param holds whether the addresses of the group are here at this very moment; undefined: there is no group. Asked at each
   *   request: a process that just woke up has heard nothing yet, and one that just took over is sent requests before it hears so.
   */
  constructor(limits: LimitsConfig, now: MonotonicClock, holds: () => boolean | undefined = () => undefined) {
    this.#holds = holds;
    this.#limits = limits;
    this.#sources = new SourceLimits(limits.per_source, now);
    this.#exempt = exemptTable(limits);
  }

  get inFlight(): number {
    return this.#count(STANDINGS);
  }

  get mode(): ServiceMode {
    return this.#mode;
  }

  setMode(mode: ServiceMode): void {
    this.#mode = mode;
  }

  configure(limits: LimitsConfig): void {
    this.#limits = limits;
    this.#sources.configure(limits.per_source);
    this.#exempt = exemptTable(limits);
  }

  static isSilent(refusal: Refusal): boolean {
    return SILENT.has(refusal);
  }

  /** Whether SIP may be sent now. A request that was let in is left to whoever has the addresses when it may not. */
  get maySend(): boolean {
    return this.#holds() ?? this.#mode !== 'standby';
  }

  /** Lets a request in, which is `ours` then and must `leave` once; or says why not. */
  enter(address: string, role: Role): Refusal | undefined {
    if (!this.maySend) return 'standby';
    if (this.#mode === 'draining') return 'draining';
    if (this.inFlight >= this.#limits.max_in_flight) return 'too_many';
    if (this.#isLimited(address, role)) {
      const verdict = this.#sources.take(address);
      if (verdict !== 'free') return verdict;
      if (this.#holdsItsPart(address)) return 'too_many_of_source';
    }
    this.#held.set(address, (this.#held.get(address) ?? 0) + 1);
    this.#inFlight.ours++;
    return undefined;
  }

  /** Whether a source has under way what one may have at most: a call may ring for minutes, whatever its rate. */
  #holdsItsPart(address: string): boolean {
    const { max_in_flight: max, per_source: source } = this.#limits;
    return (this.#held.get(address) ?? 0) >= Math.max(1, Math.floor((max * source.in_flight_percent) / 100));
  }

  /** A request that was let in is somebody else's from now on. */
  move(from: Standing, to: Standing): void {
    this.#inFlight[to]++;
    this.#end(from);
  }

  /** A request that was let in is over. */
  leave(address: string, standing: Standing = 'ours'): void {
    const held = (this.#held.get(address) ?? 0) - 1;
    if (held > 0) this.#held.set(address, held);
    else this.#held.delete(address);
    this.#end(standing);
  }

  #end(standing: Standing): void {
    this.#inFlight[standing]--;
    const waiting = this.#idle;
    this.#idle = waiting.filter((one) => this.#count(one.for) > 0);
    for (const one of waiting) if (this.#count(one.for) === 0) one.resolve();
  }

  #count(standings: readonly Standing[]): number {
    return standings.reduce((sum, standing) => sum + this.#inFlight[standing], 0);
  }

  /**
   * Learns how a request of an endpoint ended.
   * @param what it was about (dispatch/asked-for.ts): a source is blocked for many different ones
   * @returns true if its source is blocked from now on
   */
  ended(address: string, role: Role, status: number, what: string): boolean {
    if (!this.#isLimited(address, role)) return false;
    // A challenge says that the site knows whom it asks: no failure, and no success before it is answered.
    if (status >= 200 && status < 400) this.#sources.succeeded(address);
    else if (SUSPICIOUS.has(status)) return this.#sources.failed(address, what);
    return false;
  }

  /**
   * Resolves when none of these is under way (default: nothing that our end would cut off), at the latest after so many
   * milliseconds; false if something still is.
   */
  async idle(timeoutMs: number, of: readonly Standing[] = ['ours', 'bridged']): Promise<boolean> {
    if (this.#count(of) === 0) return true;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#idle.push({ for: of, resolve });
      timer = setTimeout(resolve, timeoutMs);
    });
    clearTimeout(timer);
    return this.#count(of) === 0;
  }

  #isLimited(address: string, role: Role): boolean {
    return role === 'endpoint' && this.#exempt.find(address) !== true;
  }
}

function exemptTable(limits: LimitsConfig): AddressTable<true> {
  const table = new AddressTable<true>();
  for (const net of limits.per_source.exempt_nets) table.add(net, true);
  return table;
}
