// How the latencies of a call are spread over periods, and where its outliers begin: from the
// counters of summaries, so that the single results are not needed.
import { categoryOf, MADE_CODES } from "./result.ts";
import { measureLocation } from "./score.ts";
import type { LocationSpread } from "./score.ts";
import { codesOfType, select } from "./stat.ts";
import type { PeriodSummaries } from "./stat.ts";
import { EMPTY_SUMMARY, endOfBucket, isInBuckets, mergeSummaries } from "./summary.ts";

/** Whole milliseconds: from `from` (inclusive) to `to` (exclusive). */
export interface Bucket {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

export type Spread = Omit<LocationSpread, "mean_test_length" | "variation">;

export interface Histogram {
  /** Calls with a result of the wanted type. */
  readonly count: number;
  /** Ascending, none of them empty; null where retention has removed counters of these periods. */
  readonly buckets: readonly Bucket[] | null;
  /** Of the calls that passed, where there are such and their counters. */
  readonly locations: readonly Spread[];
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
      .flatMap(([location_id, summaries]) => spreadOf(location_id, summaries)),
  };
}

const bucketsOf = (buckets: ReadonlyMap<number, number>): Bucket[] =>
  [...buckets]
    .filter(([, count]) => count > 0)
    .toSorted(([a], [b]) => a - b)
    .map(([from, count]) => ({ from, to: endOfBucket(from), count }));

const PASSED = MADE_CODES.filter((code) => categoryOf(code) === "PASS");

/**
 * As `measureLocation` of the latencies that the buckets stand for: exact below 256 ms, above within
 * 1 %. Counters do not tell uncertain results, which are no outliers of a report.
 */
function spreadOf(location_id: string, summaries: PeriodSummaries): Spread[] {
  const summary = select(summaries, PASSED);
  if (!isInBuckets(summary)) return [];
  const passed = [...summary.buckets].map(([latency, count]) => ({ latency, count, uncertain: 0 }));
  const {
    mean_test_length: _,
    variation: __,
    ...spread
  } = measureLocation({
    location_id,
    passed,
  }).spread;
  return [spread];
}
