// The summary of the calls of one period. Summaries merge in any order and any split: moments by
// the pairwise formulas of Chan, Golub and LeVeque (1979), extended to the third by Pébay (2008),
// "Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
// statistical moments". `src/store/stats/fold.ts` has the same in SQL.
import hdr from "hdr-histogram-js";
import { byPhase, PHASES } from "./timing.ts";
import type { Phase } from "./timing.ts";

/** Whole microseconds, so that sums are exact, over the calls that reached a phase. */
export interface PhaseSum {
  readonly count: number;
  readonly sum: number;
}

/** Latencies are whole milliseconds. `min` and `max` are 0 when `count` is 0. */
export interface Moments {
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  /** Sums of the second and third powers of the differences from the mean. */
  readonly m2: number;
  readonly m3: number;
}

export interface Summary extends Moments {
  /** How many latencies are in each bucket, by `bucketOf`. */
  readonly buckets: ReadonlyMap<number, number>;
  readonly phases: Readonly<Record<Phase, PhaseSum>>;
}

/** One call, as a summary counts it: latency in milliseconds, phases in microseconds. */
export interface Sample {
  readonly latency: number;
  readonly phases: Readonly<Record<Phase, number | null>>;
}

export const NO_PHASES = byPhase<PhaseSum>(() => ({ count: 0, sum: 0 }));

export const NO_MOMENTS: Moments = { count: 0, min: 0, max: 0, mean: 0, m2: 0, m3: 0 };

export const EMPTY_SUMMARY: Summary = {
  ...NO_MOMENTS,
  buckets: new Map(),
  phases: NO_PHASES,
};

/** For runs without a latency, such as MISSED. A negative count subtracts. */
export const countOnly = (count: number): Summary => ({
  ...EMPTY_SUMMARY,
  count,
});

/** One hour, which is beyond any deadline. */
const HIGHEST_LATENCY = 3_600_000;

/** Latencies below this have a bucket each; above, a bucket keeps a latency's highest 8 bits. */
const EXACT_LATENCIES = 256;

/**
 * Returns the lowest latency in the same bucket, in milliseconds. Buckets are those of an HDR
 * histogram with two significant digits: percentiles are within 1 %, and exact below 256 ms.
 */
export function bucketOf(latency: number): number {
  const value = Math.min(latency, HIGHEST_LATENCY);
  if (value < EXACT_LATENCIES) return value;
  const bits = Math.clz32(EXACT_LATENCIES) + 1 - Math.clz32(value);
  return (value >> bits) << bits;
}

/** Returns the first latency above this bucket, in milliseconds. */
export const endOfBucket = (bucket: number): number =>
  bucket + Math.max(1, 2 ** (Math.clz32(EXACT_LATENCIES) + 1 - Math.clz32(bucket)));

const newHistogram = () =>
  hdr.build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST_LATENCY,
    numberOfSignificantValueDigits: 2,
    bitBucketSize: 64,
  });

export function summarize(samples: Iterable<Sample>): Summary {
  let [count, min, max, mean, m2, m3] = [0, 0, 0, 0, 0, 0];
  const buckets = new Map<number, number>();
  const phases = { ...NO_PHASES };
  for (const { latency, phases: reached } of samples) {
    const before = count;
    count += 1;
    min = before === 0 ? latency : Math.min(min, latency);
    max = Math.max(max, latency);
    const delta = latency - mean;
    const step = delta / count;
    const term = delta * step * before;
    mean += step;
    m3 += term * step * (count - 2) - 3 * step * m2;
    m2 += term;
    const bucket = bucketOf(latency);
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
    for (const phase of PHASES) phases[phase] = addPhase(phases[phase], reached[phase]);
  }
  return { count, min, max, mean, m2, m3, buckets, phases };
}

const addPhase = (to: PhaseSum, us: number | null): PhaseSum =>
  us === null ? to : { count: to.count + 1, sum: to.sum + us };

export function mergeSummaries(a: Summary, b: Summary): Summary {
  if (a.count === 0) return b;
  if (b.count === 0) return a;
  const moments = mergeMoments(a, b);
  if (moments.count === 0) return EMPTY_SUMMARY;
  return {
    ...moments,
    buckets: mergeBuckets(a.buckets, b.buckets),
    phases: byPhase((phase) => ({
      count: a.phases[phase].count + b.phases[phase].count,
      sum: a.phases[phase].sum + b.phases[phase].sum,
    })),
  };
}

function mergeBuckets(a: Summary["buckets"], b: Summary["buckets"]): Summary["buckets"] {
  const merged = new Map(a);
  for (const [bucket, count] of b) merged.set(bucket, (merged.get(bucket) ?? 0) + count);
  return merged;
}

export function mergeMoments(a: Moments, b: Moments): Moments {
  if (a.count === 0) return b;
  if (b.count === 0) return a;
  const count = a.count + b.count;
  if (count === 0) return NO_MOMENTS;
  const delta = b.mean - a.mean;
  const [shareA, shareB] = [a.count / count, b.count / count];
  return {
    count,
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    mean: a.mean + delta * shareB,
    m2: a.m2 + b.m2 + delta * delta * a.count * shareB,
    m3:
      a.m3 +
      b.m3 +
      delta ** 3 * a.count * shareB * (shareA - shareB) +
      3 * delta * (shareA * b.m2 - shareB * a.m2),
  };
}

/** Population standard deviation, in milliseconds. */
export const standardDeviation = ({ count, m2 }: Summary): number =>
  count === 0 ? 0 : Math.sqrt(Math.max(m2, 0) / count);

/**
 * Population skewness: third central moment over the cube of the standard deviation; 0 when all
 * values are equal.
 */
export function skewness(summary: Summary): number {
  const deviation = standardDeviation(summary);
  // Below this share of the mean the deviation is rounding noise of equal values.
  if (deviation <= Math.abs(summary.mean) * 1e-9) return 0;
  return summary.m3 / summary.count / deviation ** 3;
}

/**
 * Returns the latency at each percentile (0 to 100), in milliseconds, within 1 %; null if there are
 * no latencies, or if not all of them are in buckets, since those of old periods are removed.
 */
export function percentiles(
  { count, buckets, max }: Summary,
  wanted: readonly number[],
): (number | null)[] {
  if (!isInBuckets({ count, buckets })) return wanted.map(() => null);
  const histogram = newHistogram();
  for (const [bucket, count] of buckets) histogram.recordValueWithCount(bucket, count);
  return wanted.map((percentile) => Math.min(histogram.getValueAtPercentile(percentile), max));
}

/** Whether there are latencies, and all are in buckets: those of old periods are removed. */
export function isInBuckets({ count, buckets }: Pick<Summary, "count" | "buckets">): boolean {
  let inBuckets = 0;
  for (const some of buckets.values()) inBuckets += some;
  return inBuckets > 0 && inBuckets >= count;
}
