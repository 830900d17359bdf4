// Builds an insights report from its period's data: every latency counted, the merged statistics,
// and the hours.
import type {
  HourInsight,
  Insight,
  InsightDetails,
  InsightKey,
  LocationInsight,
  Outlier,
} from "./insight.ts";
import { categoryOf } from "./result.ts";
import type { ResultCode } from "./result.ts";
import type { LatencyCount, LocationLatencies, LocationSpread, Score } from "./score.ts";
import { advancedStatOf } from "./stat.ts";
import type { AdvancedStat, PeriodSummaries } from "./stat.ts";
import { sum } from "./sum.ts";
import { NO_PHASES } from "./timing.ts";

/** How many results at a location ended with this code and took this long. */
export interface CountedLatency extends LatencyCount {
  readonly location_id: string;
  readonly result: ResultCode;
}

/** The calls of one hour that had this result. */
export interface HourResults {
  /** Start of the hour. */
  readonly time: number;
  readonly result: ResultCode;
  readonly count: number;
  /** The mean of their latencies, in milliseconds. */
  readonly mean: number;
}

/** The calls that were made at one location. */
export interface LocationCount extends LocationLatencies {
  readonly made: number;
}

const WORST_HOURS = 5;

/** Adds up results that are read piece by piece; keeps each latency of a location once. */
export function createLatencyCounts() {
  const counts = new Map<string, { made: number; passed: Map<number, LatencyCount> }>();
  return {
    add(counted: readonly CountedLatency[]): void {
      for (const { location_id, result, latency, count, uncertain } of counted) {
        const category = categoryOf(result);
        if (category === null) continue;
        const at = counts.get(location_id) ?? { made: 0, passed: new Map<number, LatencyCount>() };
        counts.set(location_id, at);
        at.made += count;
        if (category !== "PASS") continue;
        const before = at.passed.get(latency) ?? { count: 0, uncertain: 0 };
        at.passed.set(latency, {
          latency,
          count: before.count + count,
          uncertain: before.uncertain + uncertain,
        });
      }
    },
    /** In the order of the locations' ids. */
    locations: (): LocationCount[] =>
      [...counts]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([location_id, { made, passed }]) => ({
          location_id,
          made,
          passed: [...passed.values()],
        })),
  };
}

/** Counts the calls that were made, passed or not. */
export const madeIn = (summaries: PeriodSummaries): number =>
  sum([...summaries].map(([code, { count }]) => (categoryOf(code) === null ? 0 : count)));

export interface InsightParts {
  readonly score: Score;
  readonly locations: readonly LocationCount[];
  readonly summaries: PeriodSummaries;
  readonly hours: readonly HourResults[];
  readonly outliers: readonly Outlier[];
}

/** A period without calls has a report too: it shows what was missed. */
export function reportOf(
  { call_id, kind, start }: InsightKey,
  { score, locations, summaries, hours, outliers }: InsightParts,
): Omit<Insight, "rank"> {
  const { parts, locations: spreads, ...numbers } = score;
  const stat = advancedStatOf(summaries, "COMPLETE");
  const { p50, p75, p90, p95, p99, phases, missed } = stat ?? NO_STAT;
  return {
    call_id,
    kind,
    start,
    ...numbers,
    details: {
      parts,
      percentiles: { p50, p75, p90, p95, p99 },
      phases,
      missed,
      locations: locations.map((location) => locationOf(location, spreads)),
      failures: failuresIn(summaries),
      worst_hours: worstOf(hours),
      outliers,
    },
  };
}

/** For a period in which runs were only skipped, or the fault was ours. */
const NO_STAT: Omit<AdvancedStat, "pass_percent"> = {
  p50: null,
  p75: null,
  p90: null,
  p95: null,
  p99: null,
  missed: 0,
  phases: NO_PHASES,
};

function locationOf(
  { location_id, made }: LocationCount,
  spreads: readonly LocationSpread[],
): LocationInsight {
  const found = spreads.find((spread) => spread.location_id === location_id);
  const { passed, ...spread }: typeof NO_SPREAD = found ?? NO_SPREAD;
  return { location_id, made, passed, pass_percent: (100 * passed) / made, ...spread };
}

const NO_SPREAD: Omit<LocationSpread, "location_id"> = {
  passed: 0,
  q1: 0,
  median: 0,
  q3: 0,
  outlier_from: 0,
  outliers: 0,
  mean_test_length: 0,
  variation: 0,
};

const failuresIn = (summaries: PeriodSummaries): InsightDetails["failures"] =>
  [...summaries]
    .filter(([code, { count }]) => code !== "COMPLETE" && count > 0)
    .map(([result, { count }]) => ({ result, count }))
    .toSorted((a, b) => b.count - a.count || (a.result < b.result ? -1 : 1));

/** Ranks hours by the share of calls that passed, the number that did not, and the mean time. */
export const worstOf = (hours: readonly HourResults[]): HourInsight[] =>
  [...Map.groupBy(hours, ({ time }) => time)]
    .map(([time, results]) => hourOf(time, results))
    .filter(({ made }) => made > 0)
    .toSorted(
      (a, b) =>
        a.passed / a.made - b.passed / b.made ||
        b.made - b.passed - (a.made - a.passed) ||
        (b.mean_test_length ?? 0) - (a.mean_test_length ?? 0) ||
        a.time - b.time,
    )
    .slice(0, WORST_HOURS);

function hourOf(time: number, results: readonly HourResults[]): HourInsight {
  const made = results.filter(({ result }) => categoryOf(result) !== null);
  const passed = made.filter(({ result }) => categoryOf(result) === "PASS");
  const count = sum(passed.map((each) => each.count));
  const total = sum(passed.map((each) => each.count * each.mean));
  return {
    time,
    made: sum(made.map((each) => each.count)),
    passed: count,
    mean_test_length: count === 0 ? null : total / count,
  };
}
