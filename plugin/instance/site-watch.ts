import type { Config } from '../config/types';
import { probe, type OwnRequestsParts } from '../dispatch/own-requests';
import type { AttemptRecord } from '../relay/relay';
import { Health, type NodeReport, type ProbeTarget } from '../routing/health';
import type { Sighting } from '../routing/node-health';
import { SiteStates } from '../routing/site-states';
import type { Snapshot } from '../routing/snapshot';
import type { MonotonicClock } from '../telemetry/clock';
import type { Logger } from '../telemetry/logger';
import type { MetricsRegistry } from '../telemetry/metrics';

export interface SiteWatchParts {
  readonly config: Config;
  readonly snapshot: Snapshot;
  /** The way out for probes. */
  readonly ownRequests: OwnRequestsParts;
  /** The SIP servers that probe, by name: what one of them reaches another may not. */
  readonly servers: (config: Config) => readonly string[];
  readonly metrics: MetricsRegistry;
  readonly now: MonotonicClock;
  readonly log: Logger;
}

/** What is known of every site: probes, what traffic saw, and operators' decisions, kept together. */
export class SiteWatch {
  readonly health: Health;
  readonly states: SiteStates;
  readonly #parts: SiteWatchParts;

  constructor(parts: SiteWatchParts) {
    this.#parts = parts;
    this.health = new Health({
      settings: parts.config.health,
      send: (target, timeoutMs) => this.#probe(target, timeoutMs),
      now: parts.now,
      log: parts.log,
      random: Math.random,
      onChange: (report) => this.#changed(report),
    });
    this.states = new SiteStates(parts.snapshot, (server, key) => this.health.isDown(server, key));
  }

  /** Probes the nodes of this configuration; what is known of nodes that stay is kept. */
  watch(config: Config, snapshot: Snapshot): void {
    const nodes = [...snapshot.systems.values()].flatMap((system) =>
      system.sites.flatMap((site) => site.nodes.map((node) => node.destination)),
    );
    const targets = this.#parts
      .servers(config)
      .flatMap((server) => nodes.map((destination) => ({ server, destination })));
    this.health.watch(targets, config.health);
  }

  /** Takes an attempt of the traffic as a sighting of its node. */
  attempted(attempt: AttemptRecord): void {
    const { target, server } = attempt;
    const sighting = sightingOf(attempt);
    if (sighting === undefined || target.system === undefined || target.site === undefined) return;
    const node = { system: target.system, site: target.site, node: target.node ?? target.uri };
    this.health.attempted(server, node, sighting);
  }

  async #probe(target: ProbeTarget, timeoutMs: number): Promise<Sighting> {
    const sighting = await probe(this.#parts.ownRequests, target, timeoutMs);
    const { system, site } = target.destination;
    if (sighting.kind === 'answer')
      this.#parts.metrics.observe('dsbc_probe_seconds', { system, site }, sighting.milliseconds / 1000);
    return sighting;
  }

  #changed({ destination, health }: NodeReport): void {
    this.states.changed();
    const { system, site } = destination;
    if (health.state === 'ejected') this.#parts.metrics.add('dsbc_ejections_total', { system, site });
  }
}

function sightingOf({ outcome, status, retryAfterS, milliseconds }: AttemptRecord): Sighting | undefined {
  if (outcome === 'silence') return { kind: 'silence' };
  if (outcome === 'transport_error') return { kind: 'transport_error' };
  if (outcome !== 'answer' || status === undefined) return undefined;
  return { kind: 'answer', status, milliseconds, retryAfterS };
}
