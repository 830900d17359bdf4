// Takes batches of reports into the ledger. Rejects while the database cannot be used, so that the
// bus keeps them.
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

export function createRecordResults({ store, clock, log, metrics }: RecordResultsOptions) {
  const record = async (reports: readonly RunReport[]): Promise<void> => {
    const started = clock.monotonic();
    const recorded = await store.results.record(reports);
    const seconds = (clock.monotonic() - started) / 1000;
    metrics.batchSeconds.observe(seconds);
    countOutcomes(metrics, recorded);
    const level = recorded.unknown > 0 ? "warn" : "debug";
    log[level]({ ...recorded, duration_ms: Math.round(seconds * 1000) }, "results recorded");
  };

  return async (reports: readonly RunReport[]): Promise<void> => {
    try {
      await record(reports);
    } catch (cause) {
      if (isUnavailable(cause)) throw cause;
      await recordOneByOne(reports, record, { log, metrics });
    }
  };
}

/**
 * One report that the database refuses must not hold up the others for ever; its run ends as
 * MISSED.
 */
async function recordOneByOne(
  reports: readonly RunReport[],
  record: (reports: readonly RunReport[]) => Promise<void>,
  { log, metrics }: Pick<RecordResultsOptions, "log" | "metrics">,
): Promise<void> {
  for (const report of reports) {
    try {
      await record([report]);
    } catch (err) {
      if (isUnavailable(err)) throw err;
      metrics.results.inc({ outcome: "unusable" });
      log.error(
        { err, run_id: report.run_id, location_id: report.location_id },
        "result could not be stored",
      );
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
