// The metrics registry of a process. Each role defines its metrics in `<role>/metrics.ts`.
import { Gauge, Registry, collectDefaultMetrics } from "prom-client";

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
