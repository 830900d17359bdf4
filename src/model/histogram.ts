// The histogram of a call's latencies over some periods, and where its outliers begin, computed
// from the counters of summaries without the single results.
import { categoryOf, MADE_CODES, PASSED_CODES } from "./result.ts";
import type { ResultCode } from "./result.ts";
import { outliersFrom, quartilesOf } from "./score.ts";
import type { Quartiles } from "./score.ts";
import { codesOfType, select } from "./stat.ts";
import type { PeriodSummaries } from "./stat.ts";
import { sum } from "./sum.ts";
import { bucketOf, EMPTY_SUMMARY, endOfBucket, isInBuckets, mergeSummaries } from "./summary.ts";

/** Whole milliseconds: from `from` (inclusive) to `to` (exclusive). */
export interface Bucket {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/**
 * The latencies of one location. Quartiles and `outlier_from` are null if no call passed; they and
 * `outliers` are null if retention has removed counters.
 */
export interface Spread {
  readonly location_id: string;
  /** Calls made, passed or not. */
  readonly made: number;
  readonly passed: number;
  readonly q1: number | null;
  readonly median: number | null;
  readonly q3: number | null;
  /** A latency from here on, in milliseconds, is an outlier. */
  readonly outlier_from: number | null;
  readonly outliers: number | null;
}

export interface Histogram {
  /** Calls with a result of the wanted type. */
  readonly count: number;
  /** Ascending, none of them empty; null where retention has removed counters of these periods. */
  readonly buckets: readonly Bucket[] | null;
  /** The locations where calls were made. */
  readonly locations: readonly Spread[];
  /** How often each result occurred, of any type, the most frequent first. */
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
  // Runs without a call have no latency, and so no counter.
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

/**
 * Finds outliers by the definition of a report, exact below 256 ms. Above, what the buckets leave
 * open favours the target: Q1 is the least that it can be, median and Q3 the most, and the limit is
 * the end of its bucket. Counters do not show which results are uncertain; in a report, these are
 * no outliers.
 */
function spreadOf(location_id: string, summaries: PeriodSummaries): Spread {
  const made = select(summaries, MADE_CODES).count;
  const summary = select(summaries, PASSED_CODES);
  const uncounted = summary.count === 0 ? 0 : null;
  const none = { q1: null, median: null, q3: null, outlier_from: null, outliers: uncounted };
  if (!isInBuckets(summary)) return { location_id, made, passed: summary.count, ...none };
  const buckets = bucketsOf(summary.buckets);
  const quartiles = (latencyIn: (bucket: Bucket) => number): Quartiles =>
    quartilesOf(
      buckets.map((bucket) => ({ latency: latencyIn(bucket), count: bucket.count, uncertain: 0 })),
    );
  const least = quartiles(({ from }) => from);
  const most = quartiles(({ to }) => to - 1);
  const limit = outliersFrom({ ...most, q1: least.q1 });
  const outlier_from = endOfBucket(bucketOf(limit - 1));
  const outliers = buckets.filter(({ from }) => from >= outlier_from);
  return {
    location_id,
    made,
    passed: summary.count,
    ...least,
    outlier_from,
    outliers: sum(outliers.map(({ count }) => count)),
  };
}
