// Keeps the outcomes of recent runs for redelivered ticks.
import type { RunReport } from "../../model/result.ts";
import type { Clock } from "../../runtime/clock.ts";
import { jsonLength } from "./report-size.ts";
import type { Spool } from "./spool.ts";

// A message is redelivered some tens of seconds after its acknowledgement was lost.
const KEEP_MS = 120_000;
const MAX_PUBLISHED = 100_000;
/** Characters of JSON text. */
const MAX_LENGTH = 64 * 1024 * 1024;

export type KeptReports = ReturnType<typeof createKeptReports>;

/** `spool` also holds reports of earlier processes. */
export function createKeptReports(clock: Clock, spool?: Spool) {
  const published = createRecent<"published">(clock, MAX_PUBLISHED, () => 1);
  const reports = createRecent<RunReport>(clock, MAX_LENGTH, jsonLength);
  return {
    /** Returns the report if it is still to be published, or "published". */
    find: (runId: string): RunReport | "published" | undefined =>
      published.get(runId) ?? reports.get(runId) ?? spool?.find(runId),
    /** Keeps a report that could not be published. */
    keep: (report: RunReport): void => reports.set(report.run_id, report),
    published(runId: string): void {
      reports.delete(runId);
      published.set(runId, "published");
    },
  };
}

/** Keeps values for `KEEP_MS`; drops the oldest while the total exceeds the bound. */
function createRecent<T>(clock: Clock, bound: number, sizeOf: (value: T) => number) {
  interface Entry {
    readonly value: T;
    readonly size: number;
    readonly until: number;
  }
  // A Map iterates in the order of insertion: the oldest first.
  const entries = new Map<string, Entry>();
  let held = 0;
  const remove = (key: string): void => {
    held -= entries.get(key)?.size ?? 0;
    entries.delete(key);
  };
  const evict = (): void => {
    for (const [key, { until }] of entries) {
      if (until > clock.monotonic() && held <= bound) break;
      remove(key);
    }
  };
  return {
    get(key: string): T | undefined {
      const entry = entries.get(key);
      return entry && entry.until > clock.monotonic() ? entry.value : undefined;
    },
    set(key: string, value: T): void {
      remove(key);
      const size = sizeOf(value);
      entries.set(key, { value, size, until: clock.monotonic() + KEEP_MS });
      held += size;
      evict();
    },
    delete(key: string): void {
      remove(key);
      evict();
    },
  };
}
