// Periods of statistics as the pages name them: on UTC boundaries, whatever the reader's time zone.
import { periodEnd, periodStart } from "../../src/model/periods.ts";
import type { PeriodKind } from "../../src/model/periods.ts";

export const wordOf = (kind: PeriodKind): string => kind.toLowerCase();

/** `2026-11-09`. */
export const dayOf = (ms: number): string =>
  new Date(ms).toISOString().slice(0, "yyyy-mm-dd".length);

/** `Week of 2026-11-09 to 2026-11-15`, `October 2026`, `2026`, `2026-11-09`. */
export function nameOfPeriod(kind: Exclude<PeriodKind, "HOUR">, start: number): string {
  const year = new Date(start).getUTCFullYear();
  if (kind === "WEEK") return `Week of ${dayOf(start)} to ${dayOf(periodEnd(kind, start) - 1)}`;
  if (kind === "MONTH") return `${monthOf(start)} ${year}`;
  if (kind === "YEAR") return String(year);
  return dayOf(start);
}

/** The label below a bar: `11-09`, or `Oct`. */
export const shortNameOfPeriod = (kind: PeriodKind, start: number): string =>
  kind === "MONTH" ? monthOf(start).slice(0, 3) : dayOf(start).slice("yyyy-".length);

/** Returns the starts of periods up to the one that begins at `last`, the oldest first. */
export function startsUntil(kind: PeriodKind, last: number, count: number): number[] {
  const starts = [last];
  while (starts.length < count) starts.unshift(periodStart(kind, (starts[0] ?? 0) - 1));
  return starts;
}

const MONTH = new Intl.DateTimeFormat("en", { month: "long", timeZone: "UTC" });

const monthOf = (ms: number): string => MONTH.format(ms);
