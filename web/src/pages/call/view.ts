// The settings of a call's page: a range of time, a measure, a location, the calls that count.
import { DAY_MS, HOUR_MS, periodEnd, periodStart, WEEK_MS } from "../../../../src/model/periods.ts";
import type { PeriodKind } from "../../../../src/model/periods.ts";
import { MINUTE_MS } from "../../../../src/model/slots.ts";
import type { Range } from "../../parts/chart/chart-spec.ts";

/** Ranges that end now. */
export const SPANS = {
  hour: { name: "Hour", ms: HOUR_MS },
  day: { name: "Day", ms: DAY_MS },
  week: { name: "Week", ms: WEEK_MS },
  month: { name: "Month", ms: 30 * DAY_MS },
  year: { name: "Year", ms: 365 * DAY_MS },
} as const;
export type SpanName = keyof typeof SPANS;

export const MEASURES = {
  p50: "p50",
  p75: "p75",
  p90: "p90",
  p95: "p95",
  p99: "p99",
  avg: "Average",
  max: "Slowest",
} as const;
export type Measure = keyof typeof MEASURES;

/** What a point in the charts stands for; RAW: a single result. */
export type Grain = PeriodKind | "RAW";

export interface View {
  /** Undefined if the range was chosen by zooming. */
  readonly span: SpanName | undefined;
  readonly range: Range;
  readonly grain: Grain;
  readonly measure: Measure;
  /** Undefined: all locations. */
  readonly location: string | undefined;
  /** Calls that passed, unless the reader selects every call made: timeouts dwarf the rest. */
  readonly type: "ALL" | "COMPLETE";
}

type Query = Readonly<Record<string, string | undefined>>;

const isNameIn = <T extends object>(names: T, name: string | undefined): name is keyof T & string =>
  name !== undefined && Object.hasOwn(names, name);

/** Returns a range that a call's measurements fill. `first` is the start of their first hour. */
export const usualSpan = (first: number | undefined, now: number): SpanName =>
  first !== undefined && now - first < 2 * HOUR_MS ? "hour" : "day";

/**
 * Reads the view from the query, and ignores what is invalid in it. `now` is in epoch
 * milliseconds; `usual` applies if the query has no range.
 */
export function viewOf(query: Query, now: number, usual: SpanName = "day"): View {
  const zoomed = zoomedRange(query);
  const span = zoomed ? undefined : isNameIn(SPANS, query["range"]) ? query["range"] : usual;
  const range = zoomed ?? rangeOf(span ?? usual, now);
  return {
    span,
    range,
    grain: grainOf(range),
    measure: isNameIn(MEASURES, query["measure"]) ? query["measure"] : "p50",
    location: query["location"] || undefined,
    type: query["calls"] === "all" ? "ALL" : "COMPLETE",
  };
}

function zoomedRange(query: Query): Range | undefined {
  const [from, to] = [Date.parse(query["from"] ?? ""), Date.parse(query["to"] ?? "")];
  return to - from >= MINUTE_MS ? [from, to] : undefined;
}

/** Returns a range that ends with the current period, so it stays the same until then. */
function rangeOf(span: SpanName, now: number): Range {
  if (span === "hour") {
    const end = Math.ceil(now / MINUTE_MS) * MINUTE_MS;
    return [end - HOUR_MS, end];
  }
  const grain = grainOf([now - SPANS[span].ms, now]);
  const kind = grain === "RAW" ? "HOUR" : grain;
  const end = periodEnd(kind, now);
  return [periodStart(kind, end - SPANS[span].ms), end];
}

/** Chooses a grain with enough points for a line, and few enough to be read at once. */
export function grainOf([from, to]: Range): Grain {
  const ms = to - from;
  if (ms <= 100 * MINUTE_MS) return "RAW";
  if (ms <= 9 * DAY_MS) return "HOUR";
  if (ms <= 100 * DAY_MS) return "DAY";
  return ms <= 800 * DAY_MS ? "WEEK" : "MONTH";
}

/** Returns the kind of period for statistics over a range: single results have none. */
export const kindOf = (grain: Grain): PeriodKind => (grain === "RAW" ? "HOUR" : grain);

/** Returns the query for a range chosen by zooming: whole minutes, none in the future. */
export function zoomQuery(range: Range | undefined, now: number): Query {
  if (!range) return { from: undefined, to: undefined };
  const latest = Math.ceil(now / MINUTE_MS) * MINUTE_MS;
  const to = Math.min(Math.ceil(range[1] / MINUTE_MS) * MINUTE_MS, latest);
  const from = Math.min(Math.floor(range[0] / MINUTE_MS) * MINUTE_MS, to - 5 * MINUTE_MS);
  return { range: undefined, from: isoMinute(from), to: isoMinute(to) };
}

const isoMinute = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16)}Z`;

/** Counts the periods of a kind that a range touches. */
export function periodsIn(kind: PeriodKind, [from, to]: Range): number {
  let periods = 0;
  for (let at = periodStart(kind, from); at < to; at = periodEnd(kind, at)) periods += 1;
  return periods;
}
