// Publishes reports; those that fit into no message of the bus go without their details.
import type { Bus } from "../../bus/bus.ts";
import { TooLargeError } from "../../bus/bus.ts";
import type { RunReport } from "../../model/result.ts";
import type { Logger } from "../../runtime/logger.ts";
import type { AgentMetrics } from "../metrics.ts";
import { bareReport } from "./report-size.ts";

export interface FittingSettings {
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
}

/**
 * Resolves, as `Bus.publishReports` does, with the ids of the runs that it can never carry, which
 * are logged and counted; rejects as that does for other reasons.
 */
export async function publishFitting(
  { bus, log, metrics }: FittingSettings,
  reports: readonly RunReport[],
): Promise<readonly string[]> {
  const large = await publish(bus, reports);
  if (!large) return [];
  const named = reports.filter(({ run_id }) => large.runIds.includes(run_id));
  const never = await publish(bus, named.map(bareReport));
  if (!never) {
    log.warn({ err: large }, "reports were delivered without their details");
    return [];
  }
  log.error({ err: never }, "reports can never be delivered: not even bare");
  metrics.spoolDropped.inc({ reason: "too_large" }, never.runIds.length);
  return never.runIds;
}

/** What the bus said of those that are too large; the others are then stored. */
async function publish(
  bus: Bus,
  reports: readonly RunReport[],
): Promise<TooLargeError | undefined> {
  try {
    await bus.publishReports(reports);
    return undefined;
  } catch (cause) {
    if (cause instanceof TooLargeError) return cause;
    throw cause;
  }
}
