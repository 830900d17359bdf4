// The metrics registry of a process. Each role defines its metrics in `<role>/metrics.ts`.
import { AggregatorRegistry, Gauge, Registry, collectDefaultMetrics } from "prom-client";
import type { Aggregator } from "prom-client";
import { writeMetrics } from "./exposition.ts";
import type { Format, MetricsSnapshot, Sample, SnapshotMetric } from "./exposition.ts";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

/** Gauges named like counters. Those without `_total` report the same values by type. */
const MISNAMED = ["handles", "requests", "resources"].map((what) => `nodejs_active_${what}_total`);

/**
 * How often the delay of the event loop is measured; its percentiles and extremes include this
 * interval. prom-client's 10 ms would take two thirds as much CPU as the rest of an idle process.
 */
export const LAG_SAMPLED_EVERY_MS = 50;

/**
 * Creates a registry with the metrics of the process, including event-loop lag, and of its build.
 */
export function createRegistry({ version }: { readonly version: string }): Registry {
  const registry = new Registry();
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: LAG_SAMPLED_EVERY_MS,
  });
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
  /** How the metrics of threads are combined; default: their sum. */
  readonly aggregator?: Aggregator;
  readonly registers: Registry[];
  /** Called at each scrape: a series without a sample is not exported. Must not block. */
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

/** Registers a gauge without labels, which has no sample while its value is undefined. */
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

/** Returns the text of /metrics: this process's metrics, combined with those of its threads. */
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
