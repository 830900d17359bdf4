// The statistics of reports: the API's answers, and the comparison of rows.
import { parseInstant } from "../../src/model/instant.ts";
import { periodEnd, periodStart } from "../../src/model/periods.ts";
import type { PeriodKind } from "../../src/model/periods.ts";
import type { AdvancedStat, Stat } from "../../src/model/stat.ts";
import { formatMs, formatPercent } from "./number.ts";

/** The kinds of period that a report can be viewed by. */
export const REPORT_KINDS = ["DAY", "WEEK", "MONTH", "YEAR"] as const;
export type ReportKind = (typeof REPORT_KINDS)[number];

/** Which calls are timed. */
const REPORT_TYPES = ["COMPLETE", "ALL"] as const;
export type ReportType = (typeof REPORT_TYPES)[number];

/** `stat` is null without such calls, `adv_stat` without calls or missed runs. */
export interface ReportEntry {
  readonly stat: Stat | null;
  readonly adv_stat: AdvancedStat | null;
}

export interface StatRow {
  readonly call_id: string;
  /** The call's name. */
  readonly name: string;
  readonly location_id: string;
  readonly stats: readonly ReportEntry[];
}

export interface StatGroup {
  readonly name: string;
  readonly rows: readonly StatRow[];
  readonly totals: readonly ReportEntry[];
}

/** The measures by which the rows of a group can be compared. */
export const MEASURES = {
  pass_percent: { name: "Pass percent", better: "more", show: formatPercent },
  avg_latency: { name: "Average", better: "less", show: formatMs },
  p50: { name: "p50", better: "less", show: formatMs },
  p95: { name: "p95", better: "less", show: formatMs },
  p99: { name: "p99", better: "less", show: formatMs },
} as const;

export type MeasureName = keyof typeof MEASURES;
export const MEASURE_NAMES = Object.keys(MEASURES) as readonly MeasureName[];

/** Null: nothing was measured. */
function measureOf({ stat, adv_stat }: ReportEntry, name: MeasureName): number | null {
  if (name === "avg_latency") return stat?.avg_latency ?? null;
  return adv_stat?.[name] ?? null;
}

export type Mark = "best" | "worst";

/** Marks the best and the worst entries; undefined for the others, and if all are equal. */
export function marksOf(
  entries: readonly ReportEntry[],
  name: MeasureName,
): readonly (Mark | undefined)[] {
  const values = entries.map((entry) => measureOf(entry, name));
  const measured = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...measured), Math.max(...measured)];
  if (measured.length < 2 || low === high) return entries.map(() => undefined);
  const [best, worst] = MEASURES[name].better === "less" ? [low, high] : [high, low];
  return values.map((value) => (value === best ? "best" : value === worst ? "worst" : undefined));
}

/** The settings of a report's page. */
export interface ReportPeriod {
  readonly kind: ReportKind;
  /** The start of the period. */
  readonly start: number;
  readonly type: ReportType;
  /** The measure by which the rows of a group are compared. */
  readonly by: MeasureName;
}

const pick = <T extends string>(all: readonly T[], given: string | undefined, usual: T): T =>
  all.find((one) => one.toLowerCase() === given) ?? usual;

/** Reads the settings from the query; without a time, the last whole period before `now`. */
export function viewedPeriod(
  query: Readonly<Record<string, string | undefined>>,
  now: number,
): ReportPeriod {
  const kind = pick(REPORT_KINDS, query["kind"], "WEEK");
  return {
    kind,
    start: periodStart(kind, parseInstant(query["time"] ?? "") ?? periodStart(kind, now) - 1),
    type: pick(REPORT_TYPES, query["type"], "COMPLETE"),
    by: pick(MEASURE_NAMES, query["by"], "p95"),
  };
}

/** Returns the starts of the periods before and after that of `ms`; none after that of `now`. */
export function periodsBeside(kind: PeriodKind, ms: number, now: number) {
  const after = periodEnd(kind, ms);
  return {
    before: periodStart(kind, periodStart(kind, ms) - 1),
    after: after <= now ? after : undefined,
  };
}
