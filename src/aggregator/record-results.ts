// Records batches of reports in the ledger.
import { isUnavailable } from "../model/errors.ts";
import type { RunReport } from "../model/result.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Recorded } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { AggregatorMetrics } from "./metrics.ts";

export interface RecordResultsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AggregatorMetrics;
}

/** Rejects while the database is unavailable: the bus then keeps the reports. */
export async function recordResults(
  options: RecordResultsOptions,
  reports: readonly RunReport[],
): Promise<void> {
  try {
    await recordBatch(options, reports);
  } catch (cause) {
    if (isUnavailable(cause)) throw cause;
    await recordOneByOne(options, reports);
  }
}

/** Rejects on any error, with nothing recorded. */
export async function recordBatch(
  { store, clock, log, metrics }: RecordResultsOptions,
  reports: readonly RunReport[],
): Promise<Recorded> {
  const started = clock.monotonic();
  const recorded = await store.results.record(reports);
  const seconds = (clock.monotonic() - started) / 1000;
  metrics.batchSeconds.observe(seconds);
  metrics.batchResults.observe(reports.length);
  if (recorded.recorded > 0) metrics.recordedNow();
  countOutcomes(metrics, recorded);
  const level = recorded.unknown > 0 ? "warn" : "debug";
  log[level]({ ...recorded, duration_ms: Math.round(seconds * 1000) }, "results recorded");
  return recorded;
}

/** A report that the database rejects must not hold up the others; its run ends as MISSED. */
async function recordOneByOne(
  options: RecordResultsOptions,
  reports: readonly RunReport[],
): Promise<void> {
  const { log, metrics } = options;
  for (const report of reports) {
    try {
      await recordBatch(options, [report]);
    } catch (err) {
      if (isUnavailable(err)) throw err;
      metrics.results.inc({ outcome: "unusable" });
      const { run_id, location_id, agent_id } = report;
      log.error({ err, run_id, location_id, agent_id }, "report could not be recorded");
    }
  }
}

function countOutcomes(
  metrics: AggregatorMetrics,
  { recorded, late, duplicate, unknown }: Recorded,
): void {
  metrics.results.inc({ outcome: "recorded" }, recorded - late);
  metrics.results.inc({ outcome: "late" }, late);
  metrics.results.inc({ outcome: "duplicate" }, duplicate);
  metrics.results.inc({ outcome: "unknown" }, unknown);
}
