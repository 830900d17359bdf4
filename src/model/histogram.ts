// How the latencies of a call are spread over periods, and where its outliers begin: from the
// counters of summaries, so that the single results are not needed.
import { categoryOf, MADE_CODES } from "./result.ts";
import type { ResultCode } from "./result.ts";
import { measureLocation } from "./score.ts";
import { codesOfType, select } from "./stat.ts";
import type { PeriodSummaries } from "./stat.ts";
import { EMPTY_SUMMARY, endOfBucket, isInBuckets, mergeSummaries } from "./summary.ts";

/** Whole milliseconds: from `from` (inclusive) to `to` (exclusive). */
export interface Bucket {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Of one location; quartiles and the fence are null where no call passed. */
export interface Spread {
  readonly location_id: string;
  /** Calls, passed or not. */
  readonly made: number;
  readonly passed: number;
  readonly q1: number | null;
  readonly median: number | null;
  readonly q3: number | null;
  /** A latency from here on, in milliseconds, is an outlier. */
  readonly outlier_from: number | null;
  readonly outliers: number;
}

export interface Histogram {
  /** Calls with a result of the wanted type. */
  readonly count: number;
  /** Ascending, none of them empty; null where retention has removed counters of these periods. */
  readonly buckets: readonly Bucket[] | null;
  /** Where calls were made. */
  readonly locations: readonly Spread[];
  /** How often each result occurred, the most frequent first; of any type. */
  readonly results: readonly { readonly result: ResultCode; readonly count: number }[];
}

/** The summaries of all periods together, by location. */
export type LocationSummaries = ReadonlyMap<string, PeriodSummaries>;

export function histogramOf(byLocation: LocationSummaries, type: string): Histogram {
  const codes = codesOfType(type);
  const summary = [...byLocation.values()].reduce(
    (merged, summaries) => mergeSummaries(merged, select(summaries, codes)),
    EMPTY_SUMMARY,
  );
  // Of runs without a call there is no latency, and so no counter.
  const isMeasured = codes.every((code) => categoryOf(code) !== null);
  const isWhole = summary.count === 0 || !isMeasured || isInBuckets(summary);
  return {
    count: summary.count,
    buckets: isWhole ? bucketsOf(summary.buckets) : null,
    locations: [...byLocation]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([location_id, summaries]) => spreadOf(location_id, summaries))
      .filter(({ made }) => made > 0),
    results: countsOf([...byLocation.values()]),
  };
}

function countsOf(places: readonly PeriodSummaries[]): Histogram["results"] {
  const counts = new Map<ResultCode, number>();
  for (const [result, { count }] of places.flatMap((summaries) => [...summaries]))
    counts.set(result, (counts.get(result) ?? 0) + count);
  return [...counts]
    .map(([result, count]) => ({ result, count }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count);
}

const bucketsOf = (buckets: ReadonlyMap<number, number>): Bucket[] =>
  [...buckets]
    .filter(([, count]) => count > 0)
    .toSorted(([a], [b]) => a - b)
    .map(([from, count]) => ({ from, to: endOfBucket(from), count }));

const PASSED = MADE_CODES.filter((code) => categoryOf(code) === "PASS");

/**
 * As `measureLocation` of the latencies that the buckets stand for: exact below 256 ms, above
 * within 1 %. Counters do not tell uncertain results, which are no outliers of a report.
 */
function spreadOf(location_id: string, summaries: PeriodSummaries): Spread {
  const made = select(summaries, MADE_CODES).count;
  const summary = select(summaries, PASSED);
  const none = { q1: null, median: null, q3: null, outlier_from: null, outliers: 0 };
  if (!isInBuckets(summary)) return { location_id, made, passed: summary.count, ...none };
  const passed = [...summary.buckets].map(([latency, count]) => ({ latency, count, uncertain: 0 }));
  const { q1, median, q3, outlier_from, outliers } = measureLocation({
    location_id,
    passed,
  }).spread;
  return { location_id, made, passed: summary.count, q1, median, q3, outlier_from, outliers };
}
