// How a call did in the last 24 hours, from its hourly statistics.
import { formatPeriodTime } from "./instant.ts";
import { HOUR_MS, periodStart } from "./periods.ts";
import { categoryOf } from "./result.ts";
import type { ResultCategory, ResultCode } from "./result.ts";
import { sum } from "./sum.ts";
import { EMPTY_SUMMARY, percentiles } from "./summary.ts";

export const HOURS = 24;

/** Returns the start of the first of the 24 hours that end with the present one. */
export const firstHour = (now: number): number => periodStart("HOUR", now) - (HOURS - 1) * HOUR_MS;

/** The runs of one hour that had one result, over all locations. */
export interface HourCount {
  /** The start of the hour. */
  readonly period: number;
  readonly code: ResultCode;
  readonly count: number;
  /** The highest latency, in milliseconds. */
  readonly max: number;
}

/** A call's last 24 hours; `hours` has the counts of each hour from `time` on. */
export interface CallDay {
  readonly time: string;
  /** Calls made. */
  readonly count: number;
  readonly pass_percent: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly missed: number;
  readonly hours: Readonly<Record<"pass" | "warning" | "fail" | "missed", readonly number[]>>;
}

const LANES = { PASS: "pass", WARNING: "warning", FAIL: "fail" } as const satisfies Record<
  ResultCategory,
  string
>;

/** `buckets` counts the latencies of the calls made, over the whole time. */
export function dayOf(
  from: number,
  counts: readonly HourCount[],
  buckets: ReadonlyMap<number, number>,
): CallDay {
  const none = (): number[] => Array.from({ length: HOURS }, () => 0);
  const hours = { pass: none(), warning: none(), fail: none(), missed: none() };
  let max = 0;
  for (const { period, code, count, max: highest } of counts) {
    const category = categoryOf(code);
    const lane = category ? LANES[category] : code === "MISSED" ? "missed" : undefined;
    const hour = (period - from) / HOUR_MS;
    if (lane === undefined) continue;
    hours[lane][hour] = (hours[lane][hour] ?? 0) + count;
    if (category) max = Math.max(max, highest);
  }
  const [passed, missed] = [sum(hours.pass), sum(hours.missed)];
  const count = passed + sum(hours.warning) + sum(hours.fail);
  const [p50 = null, p95 = null] = percentiles({ ...EMPTY_SUMMARY, count, max, buckets }, [50, 95]);
  const pass_percent = count === 0 ? null : (100 * passed) / count;
  return { time: formatPeriodTime(from), count, pass_percent, p50, p95, missed, hours };
}
