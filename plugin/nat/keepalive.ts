import type { KeepaliveConfig } from '../config/types';
import type { Logger } from '../telemetry/logger';
import { flowOf, type BindingTable, type FlowEntry } from './bindings';
import type { Flow } from './flow';

/** Sends one ping; true if anything answered in time. Must settle; a rejection counts as no answer. */
export type SendPing = (target: PingTarget) => Promise<boolean>;

export interface PingTarget {
  readonly flow: Flow;
  /** The Contact of one line behind the flow, for the Request-URI. */
  readonly contact: string;
}

export interface KeepaliveCounts {
  readonly sent: number;
  readonly answered: number;
  readonly missed: number;
  /** Flows given up after `misses` pings in a row. */
  readonly abandoned: number;
}

/** How often the schedule looks; short, so that a tick sends few pings at once. */
const TICK_MS = 20;
/** After a stall of up to a second the ticks that were missed are made up for, one with each that follows: no burst. */
const MAX_BEHIND = 1000 / TICK_MS;
const SLOTS_PER_TICK = 2;

/**
 * Pings every flow behind NAT once per interval, spread evenly over it, while this instance is active; and
 * drops bindings that ran out, pinged or not, whether active or not.
 *
 * The interval is a ring of slots of 20 ms. A new flow goes to a slot with the fewest, so its first ping comes within
 * one interval and the rate stays flat.
 */
export class Keepalive {
  readonly #table: BindingTable;
  #config: KeepaliveConfig;
  readonly #send: SendPing;
  readonly #log: Logger;
  #slots: Set<FlowEntry>[];
  #scheduled = 0;
  #cursor = 0;
  #fillFrom = 0;
  /** Ticks that are due. */
  #behind = 0;
  #active = false;
  #timer: NodeJS.Timeout | undefined;
  #next = 0;
  readonly #now: () => number;
  readonly #counts = { sent: 0, answered: 0, missed: 0, abandoned: 0 };

  constructor(options: {
    readonly table: BindingTable;
    readonly config: KeepaliveConfig;
    readonly send: SendPing;
    readonly now: () => number;
    readonly log: Logger;
  }) {
    this.#table = options.table;
    this.#config = options.config;
    this.#send = options.send;
    this.#now = options.now;
    this.#log = options.log;
    this.#slots = slotsFor(options.config);
    this.#table.observe({ added: (entry) => this.#schedule(entry), removed: (entry) => this.#remove(entry) });
  }

  get counts(): KeepaliveCounts {
    return { ...this.#counts };
  }

  /** Takes other settings; with another interval all flows are spread anew over it. */
  configure(config: KeepaliveConfig): void {
    const isSame = config.interval_s === this.#config.interval_s;
    this.#config = config;
    if (isSame) return;
    const before = this.#slots;
    this.#slots = slotsFor(config);
    this.#scheduled = 0;
    this.#fillFrom = 0;
    this.#cursor = 0;
    for (const slot of before) for (const entry of slot) this.#schedule(entry);
  }

  /** Only the active instance of a group pings: a standby has no right to the entry address. */
  setActive(active: boolean): void {
    this.#active = active;
  }

  /** Idempotent. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#next = this.#now() + TICK_MS;
    this.#behind = 0;
    this.#timer = setInterval(() => this.#onTick(), TICK_MS);
    this.#timer.unref();
  }

  /** Idempotent. Pings under way settle on their own, without effect. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #onTick(): void {
    const now = this.#now();
    const due = Math.floor((now - this.#next) / TICK_MS) + 1;
    if (due <= 0 && this.#behind === 0) return;
    this.#next += Math.max(0, due) * TICK_MS;
    this.#behind = Math.min(this.#behind + Math.max(0, due), MAX_BEHIND);
    for (let slots = Math.min(this.#behind, SLOTS_PER_TICK); slots > 0; slots--) {
      this.#behind--;
      this.#runSlot();
    }
  }

  #runSlot(): void {
    const slot = this.#slots[this.#cursor];
    this.#cursor = (this.#cursor + 1) % this.#slots.length;
    if (slot === undefined) return;
    for (const entry of slot)
      if (this.#table.sweep(entry) && this.#active && this.#config.enabled && entry.ping) this.#ping(entry);
  }

  #ping(entry: FlowEntry): void {
    const line = entry.lines[0];
    if (line === undefined) return;
    this.#counts.sent++;
    this.#send({ flow: flowOf(entry), contact: line.contact }).then(
      (answered) => this.#onResult(entry, answered),
      (error: unknown) => {
        this.#log.debug({ err: error }, 'ping failed');
        this.#onResult(entry, false);
      },
    );
  }

  #onResult(entry: FlowEntry, answered: boolean): void {
    if (answered) {
      this.#counts.answered++;
      entry.misses = 0;
      return;
    }
    this.#counts.missed++;
    // Stopped, handed over or gone meanwhile: the silence says nothing about the endpoint.
    if (!this.#active || this.#timer === undefined || entry.slot < 0) return;
    entry.misses++;
    if (entry.misses < this.#config.misses) return;
    entry.ping = false;
    this.#counts.abandoned++;
    this.#log.info(
      { flow: flowOf(entry), aor: entry.lines[0]?.aor, misses: entry.misses },
      'endpoint does not answer pings',
    );
  }

  /** A slot that holds no more than the average; looks on from where it last found one. */
  #schedule(entry: FlowEntry): void {
    const most = Math.floor(this.#scheduled / this.#slots.length);
    for (let step = 0; step < this.#slots.length; step++) {
      const at = (this.#fillFrom + step) % this.#slots.length;
      const slot = this.#slots[at];
      if (slot === undefined || slot.size > most) continue;
      slot.add(entry);
      entry.slot = at;
      // A step that shares no factor with most ring sizes: neighbours in time of registration don't ping together.
      this.#fillFrom = (at + 617) % this.#slots.length;
      this.#scheduled++;
      return;
    }
  }

  #remove(entry: FlowEntry): void {
    this.#slots[entry.slot]?.delete(entry);
    entry.slot = -1;
    this.#scheduled--;
  }
}

const slotsFor = ({ interval_s: seconds }: KeepaliveConfig): Set<FlowEntry>[] =>
  Array.from({ length: Math.round((seconds * 1000) / TICK_MS) }, () => new Set());
