import type { MonotonicClock } from '../telemetry/clock';
import { packFlow, unpackFlow, type Flow } from './flow';
import { isCallDevice, type Learnt } from './learn';

/** A registration and the flow it came along. */
export interface Binding {
  /** `user@host`. */
  readonly aor: string;
  /** The Contact's URI. */
  readonly contact: string;
  readonly flow: Flow;
  /** Whole seconds left. */
  readonly expiresIn: number;
  /** Pinged: behind NAT on UDP, and not given up. */
  readonly pinged: boolean;
  /** Pings in a row without an answer. */
  readonly misses: number;
}

/** A binding as it is replicated: the *remaining* time, since clocks differ between instances. */
export interface BindingRecord {
  readonly aor: string;
  readonly device: string;
  readonly contact: string;
  readonly flow: Flow;
  /** Seconds left; 0: remove it. */
  readonly expiresIn: number;
  readonly ping: boolean;
}

/** One way to one or more registered lines of a device; the unit that is pinged. */
export interface FlowEntry {
  /** packFlow, as latin1 text. */
  readonly key: string;
  ping: boolean;
  misses: number;
  lines: Line[];
  /** Place in the ping schedule; -1: none. */
  slot: number;
}

/** Up to so many lines of a flow are kept in an array of just their number. */
const FEW_LINES = 8;

interface Line {
  readonly aor: string;
  device: string;
  contact: string;
  entry: FlowEntry;
  /** Its index in `entry.lines`: a gateway may have thousands of lines on one flow, each of which comes and goes. */
  place: number;
  /** On the table's clock, in seconds. */
  expiresAt: number;
}

/** Told of flows that come, go, or change between pinged and not. */
export interface FlowObserver {
  added(entry: FlowEntry): void;
  removed(entry: FlowEntry): void;
}

/**
 * The registrations that went through us, learnt from 2xx answers. What it holds serves keepalive and display only:
 * requests find their way by the token, so losing the table loses no call.
 *
 * Bounded: at `maxBindings` new ones are refused and counted, known ones are still refreshed.
 */
export class BindingTable {
  #maxBindings: number;
  readonly #now: MonotonicClock;
  readonly #flows = new Map<string, FlowEntry>();
  /** Per address of record: one line, or several by device (no map for the many that have one). */
  readonly #lines = new Map<string, Line | Map<string, Line>>();
  #size = 0;
  #refused = 0;
  #observer: FlowObserver | undefined;
  #onRecord: ((record: BindingRecord) => void) | undefined;

  constructor(options: { readonly maxBindings: number; readonly now: MonotonicClock }) {
    this.#maxBindings = options.maxBindings;
    this.#now = options.now;
  }

  /** Takes another bound; what is over it stays until it runs out. */
  configure({ maxBindings }: { readonly maxBindings: number }): void {
    this.#maxBindings = maxBindings;
  }

  /** Bindings held. */
  get size(): number {
    return this.#size;
  }

  /** Flows held; fewer than bindings where devices have several lines. */
  get flowCount(): number {
    return this.#flows.size;
  }

  /** Bindings refused because the table was full. */
  get refused(): number {
    return this.#refused;
  }

  /** At most one: the keepalive schedule. */
  observe(observer: FlowObserver): void {
    this.#observer = observer;
    for (const entry of this.#flows.values()) observer.added(entry);
  }

  /** At most one: hears each change that was learnt here (not those put in by `apply`), to replicate it. */
  onRecord(listener: (record: BindingRecord) => void): void {
    this.#onRecord = listener;
  }

  /** Takes in what `learn` made of a REGISTER and its 2xx. `ping`: the device is behind NAT on UDP. */
  take(learnt: Learnt, flow: Flow, ping: boolean): void {
    const { aor } = learnt;
    if (learnt.all) {
      for (const line of [...this.#of(aor)]) this.#change(this.#recordOf(line, 0));
      return;
    }
    for (const { uri, device, expires } of learnt.contacts)
      this.#change({ aor, device, contact: uri, flow, expiresIn: expires, ping });
  }

  /** Takes in a record of another instance. */
  apply(record: BindingRecord): void {
    const line = this.#bound(record);
    if (record.expiresIn <= 0) {
      if (line !== undefined) this.#drop(line);
      return;
    }
    if (line === undefined && this.#size >= this.#maxBindings) {
      this.#refused++;
      return;
    }
    if (line !== undefined && line.entry.key === keyOf(record.flow)) {
      this.#refresh(line, record);
      return;
    }
    // A device that moved: its old flow goes, calls follow the new one.
    if (line !== undefined) this.#drop(line);
    this.#add(record);
  }

  /** All bindings, for a standby that joins. */
  *records(): Iterable<BindingRecord> {
    for (const lines of this.#lines.values())
      for (const line of linesIn(lines))
        yield this.#recordOf(line, Math.max(1, Math.round(line.expiresAt - this.#seconds())));
  }

  /** Bindings for display, at most `limit`; only those whose address of record contains `text`, if given. */
  list(limit: number, text = ''): Binding[] {
    const found: Binding[] = [];
    for (const [aor, lines] of this.#lines) {
      if (!aor.includes(text)) continue;
      for (const line of linesIn(lines)) {
        if (found.length >= limit) return found;
        found.push({
          aor,
          contact: line.contact,
          flow: flowOf(line.entry),
          expiresIn: Math.max(0, Math.round(line.expiresAt - this.#seconds())),
          pinged: line.entry.ping,
          misses: line.entry.misses,
        });
      }
    }
    return found;
  }

  /** Drops the lines of a flow that have run out; false if none is left and the flow is gone. */
  sweep(entry: FlowEntry): boolean {
    const now = this.#seconds();
    for (const line of entry.lines.filter((each) => each.expiresAt <= now)) this.#drop(line);
    return entry.lines.length > 0;
  }

  /**
   * The user part of the one address of record that is registered over a flow; undefined if there is none, or several
   * (an office phone with many lines), since then the flow alone says nothing of who is calling.
   */
  userOf(flow: Flow): string | undefined {
    const now = this.#seconds();
    let aor: string | undefined;
    for (const line of this.#flows.get(keyOf(flow))?.lines ?? []) {
      if (line.expiresAt <= now) continue;
      if (aor !== undefined && aor !== line.aor) return undefined;
      aor = line.aor;
    }
    return aor?.slice(0, aor.includes('@') ? aor.lastIndexOf('@') : undefined);
  }

  /** Drops all bindings of a flow whose connection has closed; returns how many. */
  dropFlow(flow: Flow): number {
    const lines = [...(this.#flows.get(keyOf(flow))?.lines ?? [])];
    for (const line of lines) this.#change(this.#recordOf(line, 0));
    return lines.length;
  }

  #change(record: BindingRecord): void {
    this.apply(record);
    this.#onRecord?.(record);
  }

  #add(record: BindingRecord): void {
    const key = keyOf(record.flow);
    let entry = this.#flows.get(key);
    if (entry === undefined) {
      entry = { key, ping: record.ping, misses: 0, lines: [], slot: -1 };
      this.#flows.set(key, entry);
      this.#observer?.added(entry);
    }
    // A registration proves that the way is open again.
    entry.misses = 0;
    entry.ping = record.ping;
    const { aor, device, contact } = record;
    const expiresAt = this.#seconds() + record.expiresIn;
    const line = { aor, device, contact, entry, place: entry.lines.length, expiresAt };
    // push leaves room for 16 more, which the many flows with one line have no use for.
    if (entry.lines.length < FEW_LINES) entry.lines = [...entry.lines, line];
    else entry.lines.push(line);
    const lines = this.#lines.get(aor);
    if (lines === undefined) this.#lines.set(aor, line);
    else if (lines instanceof Map) lines.set(device, line);
    else
      this.#lines.set(
        aor,
        new Map([
          [lines.device, lines],
          [device, line],
        ]),
      );
    this.#size++;
  }

  /** The same device along the same way: its place in the schedule stays. */
  #refresh(line: Line, record: BindingRecord): void {
    if (line.device !== record.device) this.#rename(line, record.device);
    line.contact = record.contact;
    line.expiresAt = this.#seconds() + record.expiresIn;
    line.entry.misses = 0;
    line.entry.ping = record.ping;
  }

  #drop(line: Line): void {
    const { entry, aor } = line;
    const last = entry.lines.pop();
    if (last !== undefined && last !== line) {
      entry.lines[line.place] = last;
      last.place = line.place;
    }
    if (entry.lines.length === 0) {
      this.#flows.delete(entry.key);
      this.#observer?.removed(entry);
    }
    const lines = this.#lines.get(aor);
    if (!(lines instanceof Map)) this.#lines.delete(aor);
    else {
      lines.delete(line.device);
      if (lines.size === 1) for (const only of lines.values()) this.#lines.set(aor, only);
    }
    this.#size--;
  }

  #rename(line: Line, device: string): void {
    const lines = this.#lines.get(line.aor);
    if (lines instanceof Map) {
      lines.delete(line.device);
      lines.set(device, line);
    }
    line.device = device;
  }

  /**
   * The binding a record is about: the device's. Of devices without an instance also the one with the same Contact
   * (RFC 3261 §10.3: what a registrar matches by): a phone that restarts has a new Call-ID and the old Contact.
   */
  #bound({ aor, device, contact }: BindingRecord): Line | undefined {
    const lines = this.#lines.get(aor);
    const own = lines instanceof Map ? lines.get(device) : lines?.device === device ? lines : undefined;
    if (own !== undefined || !isCallDevice(device)) return own;
    for (const line of this.#of(aor)) if (line.contact === contact && isCallDevice(line.device)) return line;
    return undefined;
  }

  #of(aor: string): Iterable<Line> {
    const lines = this.#lines.get(aor);
    return lines === undefined ? [] : linesIn(lines);
  }

  #recordOf({ aor, device, contact, entry }: Line, expiresIn: number): BindingRecord {
    return { aor, device, contact, flow: flowOf(entry), expiresIn, ping: entry.ping };
  }

  #seconds(): number {
    return this.#now() / 1000;
  }
}

const linesIn = (lines: Line | Map<string, Line>): Iterable<Line> =>
  lines instanceof Map ? lines.values() : [lines];

/** The flow an entry stands for. */
export function flowOf(entry: FlowEntry): Flow {
  const flow = unpackFlow(Buffer.from(entry.key, 'latin1'));
  if (flow === undefined) throw new Error('a flow entry has a key that is no flow');
  return flow;
}

const keyOf = (flow: Flow): string => packFlow(flow).toString('latin1');
