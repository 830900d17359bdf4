// Reports of runs that ended a short while ago or are not delivered: a tick that comes again is answered from here.
import type { RunReport } from "../model/result.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Spool } from "./spool.ts";

export interface KeptReports {
  find(runId: string): RunReport | undefined;
  keep(report: RunReport): void;
}

// A message comes again some tens of seconds after its acknowledgement was lost.
const KEEP_MS = 120_000;
const KEEP_MOST = 5000;

export function createKeptReports(clock: Clock, spool?: Spool): KeptReports {
  // A Map is in the order of insertion: the oldest stand first.
  const kept = new Map<string, { report: RunReport; until: number }>();
  return {
    find: (runId) => kept.get(runId)?.report ?? spool?.find(runId),
    keep(report) {
      const now = clock.monotonic();
      kept.delete(report.run_id);
      kept.set(report.run_id, { report, until: now + KEEP_MS });
      for (const [runId, { until }] of kept) {
        if (until > now && kept.size <= KEEP_MOST) break;
        kept.delete(runId);
      }
    },
  };
}
