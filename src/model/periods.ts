// Calendar periods of statistics, all on UTC boundaries. An ISO week starts on Monday (ISO 8601).

export const PERIOD_KINDS = ["HOUR", "DAY", "WEEK", "MONTH", "YEAR"] as const;
export type PeriodKind = (typeof PERIOD_KINDS)[number];

/** What statistics are kept by: a week is merged from its days, a year from its months. */
export const KEPT_KINDS = ["HOUR", "DAY", "MONTH"] as const satisfies readonly PeriodKind[];
export type KeptKind = (typeof KEPT_KINDS)[number];

/** Which kept periods make up a period of each kind. */
export const PARTS: Readonly<Record<PeriodKind, KeptKind>> = {
  HOUR: "HOUR",
  DAY: "DAY",
  WEEK: "DAY",
  MONTH: "MONTH",
  YEAR: "MONTH",
};

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const WEEK_MS = 7 * DAY_MS;
const MONDAY_MS = 4 * DAY_MS; // the first after the epoch

const floor = (ms: number, unit: number): number => Math.floor(ms / unit) * unit;

const STARTS: Readonly<Record<PeriodKind, (ms: number) => number>> = {
  HOUR: (ms) => floor(ms, HOUR_MS),
  DAY: (ms) => floor(ms, DAY_MS),
  WEEK: (ms) => floor(ms - MONDAY_MS, WEEK_MS) + MONDAY_MS,
  MONTH: (ms) => firstOf(ms, 0),
  YEAR: (ms) => utc(new Date(ms).getUTCFullYear(), 0),
};

const NEXT: Readonly<Record<PeriodKind, (start: number) => number>> = {
  HOUR: (start) => start + HOUR_MS,
  DAY: (start) => start + DAY_MS,
  WEEK: (start) => start + WEEK_MS,
  MONTH: (start) => firstOf(start, 1),
  YEAR: (start) => utc(new Date(start).getUTCFullYear() + 1, 0),
};

/** The start of the period of this kind that contains `ms`; both epoch milliseconds. */
export const periodStart = (kind: PeriodKind, ms: number): number => STARTS[kind](ms);

/** The first instant after the period of this kind that contains `ms`. */
export const periodEnd = (kind: PeriodKind, ms: number): number =>
  NEXT[kind](periodStart(kind, ms));

/** The starts of the kept periods that make up the period of this kind that contains `ms`. */
export function keptPartsOf(kind: PeriodKind, ms: number): number[] {
  const parts: number[] = [];
  const end = periodEnd(kind, ms);
  for (let part = periodStart(kind, ms); part < end; part = periodEnd(PARTS[kind], part))
    parts.push(part);
  return parts;
}

/** Returns the start of the month of `ms`, or of the month `months` later. */
function firstOf(ms: number, months: number): number {
  const at = new Date(ms);
  return utc(at.getUTCFullYear(), at.getUTCMonth() + months);
}

// Date.UTC reads years 0 to 99 as 1900 to 1999.
function utc(year: number, month: number): number {
  const at = new Date(0);
  at.setUTCFullYear(year, month, 1);
  return at.getTime();
}
