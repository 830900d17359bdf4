// The metrics registry of a process. Each role defines its metrics in `<role>/metrics.ts`.
import { AggregatorRegistry, Gauge, Registry, collectDefaultMetrics } from "prom-client";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

/** With the metrics of the process, event-loop lag included, and of its build. */
export function createRegistry({ version }: { readonly version: string }): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "sonde_build_info",
    help: "Always 1; the label is the running version.",
    labelNames: ["version"],
    registers: [registry],
  }).set({ version }, 1);
  return registry;
}

/** The values of a registry at one moment; crosses between threads. */
export type MetricsSnapshot = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>;

/** The text of /metrics: the metrics of this process, with those of its threads added up. */
export async function renderMetrics(
  registry: Registry,
  threads: readonly MetricsSnapshot[],
): Promise<string> {
  const own = await registry.getMetricsAsJSON();
  // What the package leaves out of a cluster's metrics belongs to the process that has it.
  const kept = own.map((metric) =>
    metric.aggregator === "omit" ? { ...metric, aggregator: "first" } : metric,
  );
  return AggregatorRegistry.aggregate([kept, ...threads]).metrics();
}
