// The statistics of a report: the periods that its rows have in common, and the totals of rows.
import { FIRST_INSTANT } from "./instant.ts";
import { periodEnd, periodStart } from "./periods.ts";
import type { PeriodKind } from "./periods.ts";
import type { PeriodSummaries } from "./stat.ts";
import { EMPTY_SUMMARY, mergeSummaries } from "./summary.ts";

/** Returns the starts of at most `limit` periods, newest first, from the one that contains `ms`. */
export function periodsBefore(kind: PeriodKind, ms: number, limit: number): number[] {
  const times: number[] = [];
  for (let time = ms; time >= FIRST_INSTANT && times.length < limit; time -= 1) {
    time = periodStart(kind, time);
    times.push(time);
  }
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
