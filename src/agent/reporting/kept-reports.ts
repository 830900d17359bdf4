// What became of runs that ended a short while ago: a tick that comes again is answered from here,
// and not run again.
import type { RunReport } from "../../model/result.ts";
import type { Clock } from "../../runtime/clock.ts";
import { jsonLength } from "./report-size.ts";
import type { Spool } from "./spool.ts";

export interface KeptReports {
  /** The report, which is to be published again, or that it has been published. */
  find(runId: string): RunReport | "published" | undefined;
  /** For a report that could not be published. */
  keep(report: RunReport): void;
  published(runId: string): void;
}

// A message comes again some tens of seconds after its acknowledgement was lost.
const KEEP_MS = 120_000;
const KEEP_RUNS = 100_000;
/** Characters of JSON text. */
const KEEP_LENGTH = 64 * 1024 * 1024;

export function createKeptReports(clock: Clock, spool?: Spool): KeptReports {
  const published = createRecent<"published">(clock, KEEP_RUNS, () => 1);
  const reports = createRecent<RunReport>(clock, KEEP_LENGTH, jsonLength);
  return {
    find: (runId) => published.get(runId) ?? reports.get(runId) ?? spool?.find(runId),
    keep: (report) => reports.set(report.run_id, report),
    published(runId) {
      reports.delete(runId);
      published.set(runId, "published");
    },
  };
}

/**
 * Values of the last `KEEP_MS`; the oldest make room where together they are larger than the bound.
 */
function createRecent<T>(clock: Clock, bound: number, sizeOf: (value: T) => number) {
  interface Entry {
    readonly value: T;
    readonly size: number;
    readonly until: number;
  }
  // A Map is in the order of insertion: the oldest stand first.
  const entries = new Map<string, Entry>();
  let held = 0;
  const remove = (key: string): void => {
    held -= entries.get(key)?.size ?? 0;
    entries.delete(key);
  };
  const evict = (): void => {
    const now = clock.monotonic();
    for (const [key, { until }] of entries) {
      if (until > now && held <= bound) break;
      remove(key);
    }
  };
  return {
    get(key: string): T | undefined {
      evict();
      return entries.get(key)?.value;
    },
    set(key: string, value: T): void {
      remove(key);
      const size = sizeOf(value);
      entries.set(key, { value, size, until: clock.monotonic() + KEEP_MS });
      held += size;
      evict();
    },
    delete: remove,
  };
}
