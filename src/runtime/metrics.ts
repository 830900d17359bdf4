// The metrics registry of a process. Each role defines its metrics in `<role>/metrics.ts`.
import { AggregatorRegistry, Gauge, Registry, collectDefaultMetrics } from "prom-client";
import type { Aggregator } from "prom-client";
import { writeMetrics } from "./exposition.ts";
import type { Format, MetricsSnapshot, Sample, SnapshotMetric } from "./exposition.ts";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

/** Gauges named like counters: those without `_total` say the same by type. */
const MISNAMED = ["handles", "requests", "resources"].map((what) => `nodejs_active_${what}_total`);

/** With the metrics of the process, event-loop lag included, and of its build. */
export function createRegistry({ version }: { readonly version: string }): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  new Gauge({
    name: "sonde_build_info",
    help: "Always 1; the label is the running version.",
    labelNames: ["version"],
    registers: [registry],
  }).set({ version }, 1);
  return registry;
}

export interface SampledMetric {
  readonly name: string;
  readonly help: string;
  /** Default: gauge. */
  readonly type?: "counter" | "gauge" | "histogram";
  /** How the metrics of threads become one; default: their sum. */
  readonly aggregator?: Aggregator;
  readonly registers: Registry[];
  /** Called at each scrape: what has no sample then is not exported. Must not wait for anything. */
  readonly samples: () => readonly Sample[];
}

/** Registers a metric whose series come and go. */
export function registerSampled({
  samples,
  type = "gauge",
  aggregator = "sum",
  ...given
}: SampledMetric): void {
  const config = { ...given, aggregator };
  const metric = new Gauge(config);
  const get = async () => {
    const { name, help, aggregator } = config;
    const values = samples().map(({ labels = {}, ...sample }) => ({ labels, ...sample }));
    return { name, help, aggregator, type, values } satisfies SnapshotMetric;
  };
  Object.assign(metric, { get });
}

/** A gauge without labels; no sample where the value is undefined. */
export const registerReading = (
  config: Omit<SampledMetric, "samples" | "type">,
  read: () => number | undefined,
): void =>
  registerSampled({
    ...config,
    samples: () => {
      const value = read();
      return value === undefined ? [] : [{ value }];
    },
  });

export const snapshotOf = (registry: Registry): Promise<MetricsSnapshot> =>
  registry.getMetricsAsJSON();

/** The text of /metrics: the metrics of this process, with those of its threads added up. */
export async function renderMetrics(
  registry: Registry,
  threads: readonly MetricsSnapshot[],
  format: Format = "prometheus",
): Promise<string> {
  const own = await snapshotOf(registry);
  const inThreads = new Set(threads.flatMap((thread) => thread.map(({ name }) => name)));
  const alone = own.filter(({ name }) => !inThreads.has(name));
  const shared = own.filter(({ name }) => inThreads.has(name));
  const added = AggregatorRegistry.aggregate([shared, ...threads]);
  return writeMetrics([...alone, ...(await added.getMetricsAsJSON())], format);
}
