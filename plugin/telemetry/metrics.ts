import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import {
  METRICS,
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName,
  type MetricSpec,
} from './metric-table';

/** What rooms report numbers through. */
export interface Metrics {
  /** Adds to a counter. */
  add<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  /** Sets a gauge. */
  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Puts a time into a histogram. */
  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, seconds: number): void;
}

/** For callers that pass none. */
export const noMetrics: Metrics = {
  add: () => undefined,
  set: () => undefined,
  observe: () => undefined,
};

/** The metrics of one instance, and their Prometheus text. Several may live in one process. */
export class MetricsRegistry implements Metrics {
  readonly #registry = new Registry();
  readonly #counters = new Map<MetricName, Counter>();
  readonly #gauges = new Map<MetricName, Gauge>();
  readonly #histograms = new Map<MetricName, Histogram>();
  readonly #collectors = new Set<() => void | Promise<void>>();

  /** @param options.process also the metrics of the Node process: CPU, memory, event loop, garbage collection. */
  constructor(options: { readonly process: boolean }) {
    for (const [name, spec] of Object.entries(METRICS) as [MetricName, MetricSpec][]) this.#make(name, spec);
    if (options.process) collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  add<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    this.#counters.get(name)?.inc(labels, by);
  }

  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#gauges.get(name)?.set(labels, value);
  }

  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, seconds: number): void {
    this.#histograms.get(name)?.observe(labels, seconds);
  }

  /** Forgets all label values of a gauge, before they are set anew (after a reload sites may be gone). */
  clear(name: GaugeName): void {
    this.#gauges.get(name)?.reset();
  }

  /** The values of a counter, by label. */
  async values<Name extends CounterName>(
    name: Name,
  ): Promise<readonly { readonly labels: Partial<LabelsOf<Name>>; readonly value: number }[]> {
    const read = await this.#counters.get(name)?.get();
    return (read?.values ?? []) as { labels: Partial<LabelsOf<Name>>; value: number }[];
  }

  /** Called before each reading, to set gauges from what is true then. Returns a function that ends it. */
  onCollect(collector: () => void | Promise<void>): () => void {
    this.#collectors.add(collector);
    return () => this.#collectors.delete(collector);
  }

  /** Prometheus text. A collector that throws costs its own gauges only. */
  async text(): Promise<string> {
    for (const collect of this.#collectors) {
      try {
        await collect();
      } catch {
        // The rest of the numbers matter more when something is wrong.
      }
    }
    return this.#registry.metrics();
  }

  #make(name: MetricName, { type, help, labels, buckets }: MetricSpec): void {
    const shape = { name, help, labelNames: [...labels], registers: [this.#registry] };
    if (type === 'counter') this.#counters.set(name, new Counter(shape));
    else if (type === 'gauge') this.#gauges.set(name, new Gauge(shape));
    else this.#histograms.set(name, new Histogram({ ...shape, buckets: [...(buckets ?? [])] }));
  }
}
