// Insights reports as the API returns them, and values derived from them.
import type { Explanation, PartExplanation } from "../../src/model/insight-explanation.ts";
import { INSIGHT_DELAY_MS, insightId, parseInsightId } from "../../src/model/insight.ts";
import type {
  HourInsight,
  InsightDetails,
  InsightKind,
  LocationInsight,
  Outlier,
} from "../../src/model/insight.ts";
import { periodEnd, periodStart } from "../../src/model/periods.ts";
import { bandOf, FEWEST_CALLS } from "../../src/model/score.ts";
import type { Band } from "../../src/model/score.ts";
import { startsUntil } from "./periods.ts";

interface Measures {
  readonly score: number;
  readonly pass_percent: number;
  readonly outlier_percent: number;
  readonly mean_test_length: number;
  readonly sd_test_length: number;
}

/** A report in a list. Times are ISO 8601. */
export interface InsightEntry extends Measures {
  readonly id: string;
  readonly call_id: string;
  readonly domain: string;
  readonly name: string;
  readonly start_date: string;
  /** Exclusive. */
  readonly end_date: string;
  /** −1 without a score. */
  readonly rank: number;
}

type Timed<T> = Omit<T, "time"> & { readonly time: string };

export interface InsightReport extends InsightEntry {
  readonly band: Band | null;
  readonly parts: {
    readonly availability: PartAnswer & { readonly made: number; readonly share: number };
    readonly outliers: PartAnswer & { readonly outliers: number; readonly share: number };
    readonly consistency: PartAnswer & { readonly variation: number };
  };
  readonly change: InsightChange | null;
  readonly missed: number;
  readonly failures: InsightDetails["failures"];
  readonly percentiles: InsightDetails["percentiles"];
  readonly phases: InsightDetails["phases"];
  readonly locations: readonly LocationInsight[];
  readonly worst_hours: readonly Timed<HourInsight>[];
  readonly outliers: readonly Timed<Outlier>[];
}

interface PartAnswer extends PartExplanation {
  readonly value: number;
  readonly passed: number;
}

/** Differences from the report of the period before; null where either had no such calls. */
type InsightChange = Readonly<Record<keyof Measures | "rank", number | null>> & {
  readonly insights_id: string;
};

export type PartName = keyof Explanation;
export const PART_NAMES = ["availability", "outliers", "consistency"] as const;

/** A call in the ranking, by its latest report. */
export interface RankedCall extends Measures {
  /** The call's id. */
  readonly id: string;
  readonly insights_id: string;
  readonly api_name: string;
  readonly api_url: string;
  /** Calls made. */
  readonly made: number;
  /** Null if the period before has no report, or no call passed. */
  readonly mean_test_length_before: number | null;
  readonly band: Band | null;
  /** Start and score of each report, the oldest first. */
  readonly results: readonly (readonly [start: string, score: number])[];
  readonly most_recent: string;
}

export interface Ranking {
  readonly meta: { readonly start: string };
  readonly results: readonly RankedCall[];
}

/** Smaller changes are not mentioned: they may be chance. */
export const LEAST_CHANGE = { percent: 10, ms: 5 } as const;

/** Compares the average time with the previous period's; undefined: little change, or unknown. */
export function speedOf({
  mean_test_length: ms,
  mean_test_length_before: before,
}: Pick<RankedCall, "mean_test_length" | "mean_test_length_before">):
  "slower" | "faster" | undefined {
  if (before === null || ms <= 0) return undefined;
  const by = Math.abs(ms - before);
  if (by < LEAST_CHANGE.ms || by < (before * LEAST_CHANGE.percent) / 100) return undefined;
  return ms > before ? "slower" : "faster";
}

/** Returns when the next scores arrive, in epoch milliseconds. */
export const nextScoresAt = (kind: InsightKind, now: number): number =>
  periodEnd(kind, now - INSIGHT_DELAY_MS) + INSIGHT_DELAY_MS;

/** Returns the latest period of any call, and the calls that have a report for it. */
export function latestOf(calls: readonly RankedCall[]) {
  const start = Math.max(...calls.map((call) => Date.parse(call.most_recent)));
  return { start, calls: calls.filter((call) => Date.parse(call.most_recent) === start) };
}

/** Ranks the scored calls, by id: 1 is the best, equal scores share a place. */
export function placesOf(calls: readonly RankedCall[]): ReadonlyMap<string, number> {
  const scored = calls.filter(({ band }) => band !== null).toSorted((a, b) => b.score - a.score);
  const places = new Map<string, number>();
  let place = 0;
  for (const [at, { id, score }] of scored.entries()) {
    if (score !== scored[at - 1]?.score) place = at + 1;
    places.set(id, place);
  }
  return places;
}

/** One period of a history; null if it has no report. */
export interface PastScore {
  readonly start: number;
  readonly report: InsightEntry | null;
}

export const HISTORY = 8;

export const historyOf = (
  kind: InsightKind,
  last: number,
  reports: readonly InsightEntry[],
): PastScore[] =>
  startsUntil(kind, last, HISTORY).map((start) => ({
    start,
    report: reports.find(({ start_date }) => Date.parse(start_date) === start) ?? null,
  }));

/** Derives the band of a report in a list, which has none itself. */
export const bandOfEntry = ({ score, rank }: Pick<InsightEntry, "score" | "rank">): Band | null =>
  rank === -1 ? null : bandOf({ score, made: FEWEST_CALLS });

/** Returns the ids of the reports before and after this one; undefined if `id` is no report's. */
export function neighboursOf(id: string) {
  const key = parseInsightId(id);
  if (!key) return undefined;
  const at = (start: number): string => insightId({ ...key, start });
  return {
    ...key,
    before: at(periodStart(key.kind, key.start - 1)),
    after: at(periodEnd(key.kind, key.start)),
  };
}

/** Links to a call's page with its charts on a range, in epoch milliseconds. */
export const callAt = (id: string, from: number, to: number): string =>
  `calls/${id}?from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;

/** Formats a number for a formula: `0.9983`; never 1 if it is less. */
export function formatShare(value: number, digits = 4): string {
  const shown = value < 1 ? Math.min(value, 1 - 10 ** -digits) : value;
  return String(Number(shown.toPrecision(digits)));
}
