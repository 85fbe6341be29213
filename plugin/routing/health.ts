import type { MonotonicClock } from '../telemetry/clock';
import type { Logger } from '../telemetry/logger';
import type { Destination } from './decision';
import {
  afterAttempt,
  afterProbe,
  newNodeHealth,
  settled,
  type HealthSettings,
  type NodeHealth,
  type Sighting,
} from './node-health';
import { nodeKey } from './snapshot';

/** A node as seen from one SIP server: what the one can't reach another may. */
export interface ProbeTarget {
  readonly server: string;
  readonly destination: Destination;
}

/** Sends one OPTIONS. Settles within the health time-out; a rejection counts as a transport error. */
export type SendProbe = (target: ProbeTarget, timeoutMs: number) => Promise<Sighting>;

/** What is shown of one node. */
export interface NodeReport extends ProbeTarget {
  readonly health: NodeHealth;
}

export interface HealthParts {
  readonly settings: HealthSettings;
  readonly send: SendProbe;
  readonly now: MonotonicClock;
  readonly log: Logger;
  /** 0 to 1, for the jitter. */
  readonly random: () => number;
  /** Called when a node's state has changed. */
  readonly onChange: (report: NodeReport) => void;
}

interface Watched {
  readonly target: ProbeTarget;
  health: NodeHealth;
  timer: NodeJS.Timeout | undefined;
  probing: boolean;
}

const keyOf = ({ server, destination }: ProbeTarget): string =>
  `${server} ${nodeKey(destination.system, destination.site, destination.node)}`;

/**
 * Watches every node from every SIP server: by probes of its own, and by how real requests end. A standby instance
 * sends nothing, so its picture is as old as its last active time; real traffic corrects it within seconds.
 */
export class Health {
  readonly #parts: HealthParts;
  readonly #nodes = new Map<string, Watched>();
  #settings: HealthSettings;
  #active = false;

  constructor(parts: HealthParts) {
    this.#parts = parts;
    this.#settings = parts.settings;
  }

  /** Takes the nodes of a configuration; those that stay keep their health. */
  watch(targets: readonly ProbeTarget[], settings: HealthSettings): void {
    this.#settings = settings;
    const wanted = new Map(targets.map((target) => [keyOf(target), target]));
    for (const [key, node] of this.#nodes) {
      if (wanted.has(key)) continue;
      clearTimeout(node.timer);
      this.#nodes.delete(key);
    }
    for (const [key, target] of wanted) {
      if (this.#nodes.has(key)) continue;
      const node: Watched = {
        target,
        health: newNodeHealth(this.#parts.now()),
        timer: undefined,
        probing: false,
      };
      this.#nodes.set(key, node);
      if (this.#active) this.#schedule(node, this.#parts.random() * this.#settings.interval_ms);
    }
  }

  /** Starts probing, or stops it: a standby must not send. */
  setActive(active: boolean): void {
    if (active === this.#active) return;
    this.#active = active;
    for (const node of this.#nodes.values()) {
      clearTimeout(node.timer);
      if (active) this.#schedule(node, this.#parts.random() * this.#settings.interval_ms);
    }
  }

  stop(): void {
    this.setActive(false);
    for (const node of this.#nodes.values()) clearTimeout(node.timer);
  }

  isDown(server: string, key: string): boolean {
    const node = this.#nodes.get(`${server} ${key}`);
    return node !== undefined && settled(node.health, this.#parts.now()).state !== 'up';
  }

  reports(): readonly NodeReport[] {
    const now = this.#parts.now();
    return [...this.#nodes.values()].map(({ target, health }) => ({
      ...target,
      health: settled(health, now),
    }));
  }

  /** How an attempt of real traffic ended. A failure is looked into at once by a probe. */
  attempted(
    server: string,
    node: { readonly system: string; readonly site: string; readonly node: string },
    sighting: Sighting,
  ): void {
    const watched = this.#nodes.get(`${server} ${nodeKey(node.system, node.site, node.node)}`);
    if (watched === undefined || !this.#active) return;
    const now = this.#parts.now();
    const { state, failures } = watched.health;
    this.#set(watched, afterAttempt(watched.health, sighting, this.#settings, now, this.#mayEject(watched)));
    const isNews = watched.health.state === 'up' ? failures === 0 : state !== watched.health.state;
    if (sighting.kind !== 'answer' && isNews) this.#schedule(watched, 0);
    if (watched.health.state === 'ejected') this.#wakeAt(watched);
  }

  #mayEject({ target }: Watched): boolean {
    const now = this.#parts.now();
    const peers = [...this.#nodes.values()].filter(
      (one) =>
        one.target.server === target.server && one.target.destination.system === target.destination.system,
    );
    const out = peers.filter((one) => settled(one.health, now).state !== 'up').length;
    return (out + 1) * 100 <= peers.length * this.#settings.ejection.max_percent;
  }

  /** Tells of the end of an ejection when it comes. */
  #wakeAt(node: Watched): void {
    const wait = Math.max(0, node.health.ejectedUntil - this.#parts.now());
    this.#schedule(node, Math.min(wait, this.#settings.interval_ms));
  }

  #schedule(node: Watched, delayMs: number): void {
    clearTimeout(node.timer);
    if (!this.#active) return;
    node.timer = setTimeout(() => void this.#probe(node), delayMs);
    node.timer.unref();
  }

  async #probe(node: Watched): Promise<void> {
    if (node.probing) return;
    node.probing = true;
    let sighting: Sighting;
    try {
      sighting = await this.#parts.send(node.target, this.#settings.timeout_ms);
    } catch (error) {
      sighting = { kind: 'transport_error', reason: error instanceof Error ? error.message : String(error) };
    }
    node.probing = false;
    // Gone from the configuration, or no longer active: what came back counts for nothing.
    if (this.#nodes.get(keyOf(node.target)) !== node || !this.#active) return;
    this.#set(node, afterProbe(node.health, sighting, this.#settings, this.#parts.now()));
    // The first sign that things have changed is followed up at once, so that down is known soon.
    const { interval_ms: interval, jitter_percent: jitter } = this.#settings;
    const factor = 1 + ((this.#parts.random() * 2 - 1) * jitter) / 100;
    this.#schedule(node, node.health.against > 0 && node.health.state === 'up' ? 0 : interval * factor);
  }

  #set(node: Watched, health: NodeHealth): void {
    const before = node.health.state;
    node.health = health;
    if (before === health.state) return;
    const { server, destination } = node.target;
    const { system, site, node: name } = destination;
    const line = { server, system, site, node: name, state: health.state, reason: health.reason };
    if (health.state === 'up') this.#parts.log.info(line, 'node is up');
    else this.#parts.log.warn(line, `node is ${health.state}`);
    this.#parts.onChange({ ...node.target, health });
  }
}
