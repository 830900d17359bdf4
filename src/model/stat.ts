// Statistics as the API returns them, computed from summaries.
import { categoryOf, MADE_CODES, PASSED_CODES, RESULT_CODES, RESERVED_CODES } from "./result.ts";
import type { ResultCode } from "./result.ts";
import {
  EMPTY_SUMMARY,
  mergeSummaries,
  percentiles,
  skewness,
  standardDeviation,
} from "./summary.ts";
import type { Summary } from "./summary.ts";
import { byPhase } from "./timing.ts";
import type { Phase } from "./timing.ts";
import { formatPeriodTime } from "./instant.ts";

export const STAT_TYPES: readonly string[] = ["ALL", ...RESULT_CODES, ...RESERVED_CODES];

export interface Stat {
  readonly time: string;
  readonly count: number;
  readonly max_latency: number | null;
  readonly avg_latency: number | null;
  readonly min_latency?: number | null;
  readonly standard_deviation?: number;
  readonly skewness?: number;
}

export interface AdvancedStat {
  readonly p50: number | null;
  readonly p75: number | null;
  readonly p90: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly missed: number;
  /** Of the calls made; null if there were none. */
  readonly pass_percent: number | null;
  /** Averages in milliseconds over the calls that reached the phase. */
  readonly phases: Readonly<Record<Phase, number | null>>;
}

/** The summaries of one period by result code, locations already merged. */
export type PeriodSummaries = ReadonlyMap<ResultCode, Summary>;

/** Returns the codes that a filter `type` selects. */
export const codesOfType = (type: string): readonly ResultCode[] =>
  type === "ALL" ? MADE_CODES : RESULT_CODES.filter((code) => code === type);

/** Merges the summaries of these codes into one. */
export function select(summaries: PeriodSummaries, codes: readonly ResultCode[]): Summary {
  return codes.reduce(
    (merged, code) => mergeSummaries(merged, summaries.get(code) ?? EMPTY_SUMMARY),
    EMPTY_SUMMARY,
  );
}

/** Null when the period has no such calls. `time` is the start of the period. */
export function statOf(summaries: PeriodSummaries, type: string, time: number): Stat | null {
  const codes = codesOfType(type);
  const summary = select(summaries, codes);
  if (summary.count === 0) return null;
  const measured = codes.every((code) => categoryOf(code) !== null);
  const stat = {
    time: formatPeriodTime(time),
    count: summary.count,
    max_latency: measured ? summary.max : null,
    avg_latency: measured ? summary.mean : null,
  };
  if (type !== "COMPLETE") return stat;
  return {
    ...stat,
    min_latency: measured ? summary.min : null,
    standard_deviation: standardDeviation(summary),
    skewness: skewness(summary),
  };
}

/** Null for a period in which no call was made and no run missed. */
export function advancedStatOf(summaries: PeriodSummaries, type: string): AdvancedStat | null {
  const made = select(summaries, MADE_CODES);
  const missed = summaries.get("MISSED")?.count ?? 0;
  if (made.count === 0 && missed === 0) return null;
  const summary = select(summaries, codesOfType(type));
  const passed = select(summaries, PASSED_CODES);
  const [p50 = null, p75 = null, p90 = null, p95 = null, p99 = null] = percentiles(
    summary,
    [50, 75, 90, 95, 99],
  );
  return {
    p50,
    p75,
    p90,
    p95,
    p99,
    missed,
    pass_percent: made.count === 0 ? null : (100 * passed.count) / made.count,
    phases: byPhase((phase) => {
      const { count, sum } = summary.phases[phase];
      return count === 0 ? null : sum / count / 1000;
    }),
  };
}
