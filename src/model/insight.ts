// An insights report: the score of a call over one closed week or month, and its explanation.
import type { Ownership } from "./access.ts";
import { periodEnd, periodStart } from "./periods.ts";
import type { AdvancedStat } from "./stat.ts";
import type { LocationSpread, Score, ScoreParts } from "./score.ts";
import type { ResultCode } from "./result.ts";

export const INSIGHT_KINDS = ["WEEK", "MONTH"] as const;
export type InsightKind = (typeof INSIGHT_KINDS)[number];

/** The numbers that reports use for their kind. */
export const REPORT_TYPES = { MONTH: 0, WEEK: 1 } as const satisfies Record<InsightKind, number>;

export const kindOf = (reportType: number): InsightKind =>
  reportType === REPORT_TYPES.WEEK ? "WEEK" : "MONTH";

/** Time for results to arrive after a period has closed. */
export const INSIGHT_DELAY_MS = 10 * 60_000;

/** Held by the process that computes reports. All periods that ended by its cursor are marked. */
export const INSIGHTS_LEASE = "insights";

/** A week or a month, by its start in epoch milliseconds. */
export interface InsightPeriod {
  readonly kind: InsightKind;
  readonly start: number;
}

/** Identifies a report. */
export interface InsightKey extends InsightPeriod {
  readonly call_id: string;
}

/** A report to be computed. `version` tells whether its mark has been renewed since. */
export interface StaleInsight extends InsightKey {
  readonly version: number;
}

/** A report without its explanation. */
export interface InsightSummary extends InsightKey, Omit<Score, "parts" | "locations"> {
  /** 1 is the best; −1 if there is no score. */
  readonly rank: number;
}

/** As a list shows it, with the name and the domain of its call. */
export interface ListedInsight extends InsightSummary {
  /** Its place in lists. */
  readonly number: number;
  readonly name: string;
  readonly domain: string;
}

export interface Insight extends InsightSummary {
  readonly details: InsightDetails;
}

/** A report without its rank, which follows from the others of its owner. */
export type NewInsight = Omit<Insight, "rank"> & Ownership;

/** What explains a score. Times are epoch milliseconds. */
export interface InsightDetails {
  readonly parts: ScoreParts;
  readonly percentiles: Pick<AdvancedStat, "p50" | "p75" | "p90" | "p95" | "p99">;
  readonly phases: AdvancedStat["phases"];
  readonly missed: number;
  readonly locations: readonly LocationInsight[];
  /** The results other than COMPLETE, MISSED included, the most frequent first. */
  readonly failures: readonly { readonly result: ResultCode; readonly count: number }[];
  /** At most five, the worst first. */
  readonly worst_hours: readonly HourInsight[];
  /** At most twenty, the slowest first. */
  readonly outliers: readonly Outlier[];
}

/** Where no call passed, all but `made` is 0. */
export interface LocationInsight extends LocationSpread {
  readonly made: number;
  readonly pass_percent: number;
}

export interface HourInsight {
  readonly time: number;
  readonly made: number;
  readonly passed: number;
  /** Over the calls that passed, in milliseconds; null if there were none. */
  readonly mean_test_length: number | null;
}

export interface Outlier {
  readonly result_id: string;
  readonly time: number;
  readonly location_id: string;
  readonly latency: number;
}

/** `<call_id>__<start>__<end>`, with dates; `end` is exclusive. */
export const insightId = ({ call_id, kind, start }: InsightKey): string =>
  [call_id, dateOf(start), dateOf(periodEnd(kind, start))].join("__");

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Undefined for anything but an id that `insightId` makes. */
export function parseInsightId(id: string): InsightKey | undefined {
  const [, call_id = "", from = ""] = /^(.+)__(\d{4}-\d\d-\d\d)__\d{4}-\d\d-\d\d$/.exec(id) ?? [];
  const start = Date.parse(from);
  if (Number.isNaN(start)) return undefined;
  return INSIGHT_KINDS.map((kind) => ({ call_id, kind, start })).find(
    (key) => insightId(key) === id,
  );
}

/** The periods that closed after `from` and up to `until`, the oldest first. */
export function closedBetween(
  from: number,
  until: number,
): (InsightPeriod & { readonly end: number })[] {
  return INSIGHT_KINDS.flatMap((kind) => {
    const closed = [];
    for (let start = periodStart(kind, from); periodEnd(kind, start) <= until;) {
      const end = periodEnd(kind, start);
      closed.push({ kind, start, end });
      start = end;
    }
    return closed;
  }).toSorted((a, b) => a.end - b.end);
}

/** The periods closed by `until` that overlap the time from `from` to `to`. */
export const closedWithin = (
  from: number,
  to: number,
  until: number,
): (InsightPeriod & { readonly end: number })[] =>
  closedBetween(from, until).filter(({ start }) => start < to);
