import type { LimitsConfig } from '../config/types';
import { AddressTable } from '../routing/address';
import type { Role } from '../routing/decision';
import type { MonotonicClock } from '../telemetry/clock';
import { SourceLimits } from './source-limits';

/** What this instance does with new requests: all of them, none with a 503, or none in silence. */
export const SERVICE_MODES = ['serving', 'draining', 'standby'] as const;
export type ServiceMode = (typeof SERVICE_MODES)[number];

/** Why a request is not taken. `silent`: nothing is said; else 503 with Retry-After. */
export const REFUSALS = ['standby', 'draining', 'too_many', 'too_fast', 'blocked'] as const;
export type Refusal = (typeof REFUSALS)[number];

const SILENT: ReadonlySet<Refusal> = new Set(['standby', 'blocked']);

/** Statuses that look like a scanner at work when an endpoint gets nothing else. */
const SUSPICIOUS = new Set([400, 403, 404, 414, 416, 420, 481, 482, 483]);

/**
 * Who is let in. Sites and peers never are limited; endpoints are, each source address on its own. Counts what is
 * under way, so that a drain knows when it is done.
 */
export class Admission {
  readonly #sources: SourceLimits;
  readonly #isServing: () => boolean;
  #limits: LimitsConfig;
  #exempt: AddressTable<true>;
  #mode: ServiceMode = 'serving';
  #inFlight = 0;
  /** Of these, the ones that a SIP server goes on with by itself: their end is not ours to wait for. */
  #handedOn = 0;
  #idle: (() => void)[] = [];

  /** @param isServing asked at each request, since a process that just woke up has heard nothing yet */
  constructor(limits: LimitsConfig, now: MonotonicClock, isServing: () => boolean = () => true) {
    this.#isServing = isServing;
    this.#limits = limits;
    this.#sources = new SourceLimits(limits.per_source, now);
    this.#exempt = exemptTable(limits);
  }

  get inFlight(): number {
    return this.#inFlight;
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

  /** Lets a request in, which then must `leave` once; or says why not. */
  enter(address: string, role: Role): Refusal | undefined {
    if (this.#mode !== 'serving') return this.#mode;
    if (!this.#isServing()) return 'standby';
    if (this.#inFlight >= this.#limits.max_in_flight) return 'too_many';
    if (this.#isLimited(address, role)) {
      const verdict = this.#sources.take(address);
      if (verdict !== 'free') return verdict;
    }
    this.#inFlight++;
    return undefined;
  }

  /** A request that was let in is the SIP server's from now on: it is proxied, and would survive our end. */
  handOn(): void {
    this.#handedOn++;
    this.#tellIdle();
  }

  /** @param wasHandedOn `handOn` was called for it */
  leave(wasHandedOn = false): void {
    this.#inFlight--;
    if (wasHandedOn) this.#handedOn--;
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#inFlight > this.#handedOn) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /**
   * Learns how a request of an endpoint ended.
   * @param what the key it was about, or what was wrong with it: a source is blocked for many different failures
   * @returns true if its source is blocked from now on
   */
  ended(address: string, role: Role, status: number, what: string): boolean {
    if (!this.#isLimited(address, role)) return false;
    // A challenge says that the site knows whom it asks: no failure, and no success before it is answered.
    if (status >= 200 && status < 400) this.#sources.succeeded(address);
    else if (SUSPICIOUS.has(status)) return this.#sources.failed(address, what.slice(0, 64));
    return false;
  }

  /**
   * Resolves when nothing is under way that our end would cut off, at the latest after so many milliseconds; false if
   * something still is.
   */
  async idle(timeoutMs: number): Promise<boolean> {
    if (this.#inFlight === this.#handedOn) return true;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
      timer = setTimeout(resolve, timeoutMs);
    });
    clearTimeout(timer);
    return this.#inFlight === this.#handedOn;
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
