// Records batches of reports in the ledger.
import { halvesOf } from "../model/chunks.ts";
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
    const [report] = reports;
    if (report && reports.length === 1) dropUnusable(options, report, cause);
    // Isolates a report that the database rejects: it must not hold up the others.
    else for (const half of halvesOf(reports)) await recordResults(options, half);
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
  if (recorded.recorded > 0) metrics.lastRecorded.set(clock.now() / 1000);
  countOutcomes(metrics, recorded);
  const facts = { ...recorded, duration_ms: Math.round(seconds * 1000) };
  if (recorded.unknown > 0) log.warn(facts, "reports dropped: they match no ordered run");
  else log.debug(facts, "results recorded");
  return recorded;
}

/** Its run ends as MISSED. */
function dropUnusable(
  { log, metrics }: RecordResultsOptions,
  { run_id, location_id, agent_id }: RunReport,
  err: unknown,
): void {
  metrics.results.inc({ outcome: "unusable" });
  log.error({ err, run_id, location_id, agent_id }, "report could not be recorded");
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
