// Opens the service's store, with metrics of its use.
import { createCallMetrics } from "../call-metrics/call-metrics.ts";
import type { Config } from "../config/config.ts";
import type { DataDir } from "../runtime/data-dir.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Registry } from "../runtime/metrics.ts";
import { createDatabaseMetrics } from "../store/metrics.ts";
import type { Store } from "../store/store.ts";
import { openConfiguredStore } from "./store.ts";

/** The roles that store results: the aggregator those of agents, the scheduler the MISSED ones. */
const STORING = ["aggregator", "scheduler"] as const;

/** `watches` are services that run beside the roles. */
export async function openObservedStore(
  config: Config,
  dataDir: DataDir,
  log: Logger,
  registry: Registry,
): Promise<{ readonly store: Store; readonly watches: readonly Service[] }> {
  const storesResults = STORING.some((role) => config.roles.includes(role));
  const calls =
    storesResults && config.callMetrics === "on"
      ? createCallMetrics(registry, config.callMetricsMax)
      : undefined;
  const store = await openConfiguredStore(config, dataDir, log, {
    metrics: createDatabaseMetrics(registry),
    ...(calls && { onStored: (results) => calls.record(results) }),
  });
  return { store, watches: calls ? [calls.naming(store, log)] : [] };
}
