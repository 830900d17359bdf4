// The metrics registry of a process. The metrics themselves stand with their role, in
// `<role>/metrics.ts`.
import { Gauge, Registry, collectDefaultMetrics } from "prom-client";

export { Counter, Gauge, Histogram, Registry } from "prom-client";

/**
 * A registry of its own, holding the process metrics (event-loop lag among them) and the build that
 * runs.
 */
export function createRegistry({ version }: { readonly version: string }): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "sonde_build_info",
    help: "Always 1; its label names the version that runs.",
    labelNames: ["version"],
    registers: [registry],
  }).set({ version }, 1);
  return registry;
}
