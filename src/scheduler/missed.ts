// Records runs as MISSED, and counts and logs them by reason.
import { explainMissed } from "../model/missed.ts";
import type { MissedReason } from "../model/missed.ts";
import type { PendingRun, UnreportedOutcome } from "../store/records.ts";
import type { SchedulerParts } from "./parts.ts";

export interface MissedWithReason extends UnreportedOutcome {
  readonly reason: MissedReason;
}

export const missedFor = (reason: MissedReason, run: PendingRun): MissedWithReason => ({
  run,
  reason,
  result: "MISSED",
  message: explainMissed(reason, run.location_id),
});

/** Runs that have an outcome by now are neither recorded nor counted. */
export async function recordMissed(
  { store, log, metrics }: SchedulerParts,
  missed: readonly MissedWithReason[],
): Promise<void> {
  for (const [reason, runs] of Map.groupBy(missed, (each) => each.reason)) {
    const recorded = await store.results.recordUnreported(runs);
    if (recorded === 0) continue;
    metrics.missed.inc({ reason }, recorded);
    log.warn({ reason, missed: recorded }, "runs missed");
  }
}
