// The statistics of a report: the periods that its rows have in common, and the totals of rows.
import { periodEnd, periodStart } from "./periods.ts";
import type { PeriodKind } from "./periods.ts";
import type { PeriodSummaries } from "./stat.ts";
import { EMPTY_SUMMARY, mergeSummaries } from "./summary.ts";

/** Returns the starts of `limit` periods, newest first, from the one that contains `ms`. */
export function periodsBefore(kind: PeriodKind, ms: number, limit: number): number[] {
  const times = [periodStart(kind, ms)];
  while (times.length < limit) times.push(periodStart(kind, (times.at(-1) ?? 0) - 1));
  return times;
}

/**
 * Returns the starts of at most `limit` periods, oldest first, from the one that contains `ms` to
 * the one that contains `now`.
 */
export function periodsSince(kind: PeriodKind, ms: number, limit: number, now: number): number[] {
  const times = [periodStart(kind, ms)];
  for (let next = periodEnd(kind, ms); next <= now; next = periodEnd(kind, next)) {
    if (times.length === limit) break;
    times.push(next);
  }
  return times;
}

/** Merges the summaries of two rows for one period. */
export function mergePeriods(a: PeriodSummaries, b: PeriodSummaries): PeriodSummaries {
  const merged = new Map(a);
  for (const [code, summary] of b)
    merged.set(code, mergeSummaries(merged.get(code) ?? EMPTY_SUMMARY, summary));
  return merged;
}
