// The score of a call over a week or a month, computed from its single results. docs/insights.md
// explains each part. The order of the results does not matter: latencies are counted, then read in
// ascending order.
import { sum } from "./sum.ts";

/** A latency in whole milliseconds, and how many of the calls that passed took that long. */
export interface LatencyCount {
  readonly latency: number;
  readonly count: number;
  /** Of those, how many say little about the target: `isUncertain` in uncertainty.ts. */
  readonly uncertain: number;
}

/** The calls that passed at one location, in any order, counted together or not. */
export interface LocationLatencies {
  readonly location_id: string;
  readonly passed: readonly LatencyCount[];
}

/** In milliseconds, computed by type 7 of Hyndman and Fan (1996). */
export interface Quartiles {
  readonly q1: number;
  readonly median: number;
  readonly q3: number;
}

export interface LocationSpread extends Quartiles {
  readonly location_id: string;
  readonly passed: number;
  /** A latency from here on, in milliseconds, is an outlier. */
  readonly outlier_from: number;
  readonly outliers: number;
  /** Over the calls that passed, outliers included, in milliseconds. */
  readonly mean_test_length: number;
  /** Population standard deviation ÷ mean of the latencies that are no outliers. */
  readonly variation: number;
}

export interface Score {
  readonly made: number;
  readonly passed: number;
  readonly outliers: number;
  /** 0 to 999; 0 if there are too few calls. */
  readonly score: number;
  readonly pass_percent: number;
  readonly outlier_percent: number;
  /** Over the calls that passed, outliers included, in milliseconds. */
  readonly mean_test_length: number;
  /** Population standard deviation over the same calls, in milliseconds. */
  readonly sd_test_length: number;
  readonly parts: ScoreParts;
  readonly locations: readonly LocationSpread[];
}

/** All but `variation` are from 0 to 1; their product is the score's share of 999. */
export interface ScoreParts {
  readonly availability: number;
  readonly outliers: number;
  readonly consistency: number;
  /** The mean over all locations, weighted by their numbers of latencies that are no outliers. */
  readonly variation: number;
}

export const SCORE_VERSION = "v4";
export const HIGHEST_SCORE = 999;

/** With fewer calls made, a period has no score and no rank. */
export const FEWEST_CALLS = 24;

export const BANDS = ["good", "fair", "poor"] as const;
export type Band = (typeof BANDS)[number];

export const GOOD_FROM = 800;
export const FAIR_FROM = 600;

/** Null if there is no score. */
export function bandOf({ score, made }: Pick<Score, "score" | "made">): Band | null {
  if (made < FEWEST_CALLS) return null;
  if (score >= GOOD_FROM) return "good";
  return score >= FAIR_FROM ? "fair" : "poor";
}

/** What is measured over the calls that passed at one location. */
export interface MeasuredLocation {
  readonly spread: LocationSpread;
  /** The sum of the latencies, in milliseconds. */
  readonly sum: number;
  /** The sum of the squared differences of the latencies from their mean. */
  readonly squares: number;
}

/** Takes tens of milliseconds where a month of calls all took different times. */
export function measureLocation({ location_id, passed }: LocationLatencies): MeasuredLocation {
  const inOrder = inOrderOf(passed);
  const spread = spreadOf(location_id, inOrder);
  return {
    spread,
    sum: sumOf(inOrder),
    squares: squaresOf(inOrder, spread.mean_test_length),
  };
}

/** Lists each latency once, ascending: rounding must not depend on how results were counted. */
function inOrderOf(passed: readonly LatencyCount[]): LatencyCount[] {
  const inOrder: LatencyCount[] = [];
  for (const each of passed.toSorted((a, b) => a.latency - b.latency)) {
    const last = inOrder.at(-1);
    if (last?.latency === each.latency)
      inOrder[inOrder.length - 1] = {
        latency: last.latency,
        count: last.count + each.count,
        uncertain: last.uncertain + each.uncertain,
      };
    else if (each.count > 0) inOrder.push(each);
  }
  return inOrder;
}

/** `made` counts the calls at all locations, passed or not. */
export function scoreOfMeasured(made: number, measured: readonly MeasuredLocation[]): Score {
  const locations = measured.map(({ spread }) => spread).filter(({ passed }) => passed > 0);
  const passed = sum(locations.map((each) => each.passed));
  const outliers = sum(locations.map((each) => each.outliers));
  const [passShare, outlierShare] = [share(passed, made), share(outliers, passed)];
  const parts = partsOf(passShare, outlierShare, averageVariation(locations));
  const mean = share(sum(measured.map((each) => each.sum)), passed);
  const squares = measured.map(
    ({ spread, squares: own }) => own + spread.passed * (spread.mean_test_length - mean) ** 2,
  );
  return {
    made,
    passed,
    outliers,
    score: made < FEWEST_CALLS || passed === 0 ? 0 : scoreOfParts(parts),
    pass_percent: share(100 * passed, made),
    outlier_percent: share(100 * outliers, passed),
    mean_test_length: mean,
    sd_test_length: Math.sqrt(share(sum(squares), passed)),
    parts,
    locations,
  };
}

/** `outlierShare` is the share of outliers among the calls that passed. */
export const partsOf = (
  passShare: number,
  outlierShare: number,
  variation: number,
): ScoreParts => ({
  availability: passShare ** 9,
  outliers: (1 - outlierShare) ** 2,
  consistency: 1 / (1 + variation ** 2 / 4),
  variation,
});

export const scoreOfParts = ({ availability, outliers, consistency }: ScoreParts): number =>
  Math.round(HIGHEST_SCORE * availability * outliers * consistency);

/**
 * An outlier is more than `FENCE_RANGES` interquartile ranges above the third quartile, and at
 * least `LEAST_ABOVE_MEDIAN_MS` above the median.
 */
const FENCE_RANGES = 3;
const LEAST_ABOVE_MEDIAN_MS = 10;

/** Returns the first whole latency that is an outlier. */
export function outliersFrom({ q1, median, q3 }: Quartiles): number {
  const fence = q3 + FENCE_RANGES * (q3 - q1);
  return Math.max(Math.floor(fence) + 1, Math.ceil(median + LEAST_ABOVE_MEDIAN_MS));
}

/** Expects the latencies in ascending order. */
function spreadOf(location_id: string, passed: readonly LatencyCount[]): LocationSpread {
  const quartiles = quartilesOf(passed);
  const outlier_from = outliersFrom(quartiles);
  const isFar = ({ latency }: LatencyCount): boolean => latency >= outlier_from;
  const usual = passed
    .map((each) => (isFar(each) ? { ...each, count: each.uncertain } : each))
    .filter(({ count }) => count > 0);
  const mean = meanOf(usual);
  return {
    location_id,
    passed: countOf(passed),
    ...quartiles,
    outlier_from,
    outliers: countOf(passed) - countOf(usual),
    mean_test_length: meanOf(passed),
    variation: mean === 0 ? 0 : deviationOf(usual, mean) / mean,
  };
}

/** Expects the latencies in ascending order. */
export function quartilesOf(passed: readonly LatencyCount[]): Quartiles {
  const last = countOf(passed) - 1;
  const at = (share: number): number => {
    const place = last * share;
    const below = nth(passed, Math.floor(place));
    return below + (place - Math.floor(place)) * (nth(passed, Math.ceil(place)) - below);
  };
  return { q1: at(0.25), median: at(0.5), q3: at(0.75) };
}

/** Returns the latency at a place, counted from 0, in ascending order. */
function nth(passed: readonly LatencyCount[], place: number): number {
  let before = 0;
  for (const { latency, count } of passed) {
    before += count;
    if (place < before) return latency;
  }
  return 0;
}

const averageVariation = (locations: readonly LocationSpread[]): number =>
  share(
    sum(locations.map(({ variation, passed, outliers }) => variation * (passed - outliers))),
    sum(locations.map(({ passed, outliers }) => passed - outliers)),
  );

const countOf = (counts: readonly LatencyCount[]): number => sum(counts.map(({ count }) => count));

const sumOf = (counts: readonly LatencyCount[]): number =>
  sum(counts.map(({ latency, count }) => latency * count));

const meanOf = (counts: readonly LatencyCount[]): number => share(sumOf(counts), countOf(counts));

const squaresOf = (counts: readonly LatencyCount[], mean: number): number =>
  sum(counts.map(({ latency, count }) => count * (latency - mean) ** 2));

/** The population standard deviation. */
const deviationOf = (counts: readonly LatencyCount[], mean: number): number =>
  Math.sqrt(share(squaresOf(counts, mean), countOf(counts)));

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
