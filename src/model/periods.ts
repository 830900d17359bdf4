// Calendar periods of statistics, all on UTC boundaries. An ISO week starts on Monday (ISO 8601).

export const PERIOD_KINDS = ["HOUR", "DAY", "WEEK", "MONTH", "YEAR"] as const;
export type PeriodKind = (typeof PERIOD_KINDS)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The start of the period of this kind that contains `ms`; both epoch milliseconds. */
export function periodStart(kind: PeriodKind, ms: number): number {
  const at = new Date(ms);
  switch (kind) {
    case "HOUR":
      return Math.floor(ms / HOUR_MS) * HOUR_MS;
    case "DAY":
      return Math.floor(ms / DAY_MS) * DAY_MS;
    case "WEEK": {
      const day = Math.floor(ms / DAY_MS) * DAY_MS;
      const daysSinceMonday = (new Date(day).getUTCDay() + 6) % 7;
      return day - daysSinceMonday * DAY_MS;
    }
    case "MONTH":
      return utc(at.getUTCFullYear(), at.getUTCMonth());
    case "YEAR":
      return utc(at.getUTCFullYear(), 0);
  }
}

/** The first instant after the period of this kind that contains `ms`. */
export function periodEnd(kind: PeriodKind, ms: number): number {
  const start = periodStart(kind, ms);
  const at = new Date(start);
  switch (kind) {
    case "HOUR":
      return start + HOUR_MS;
    case "DAY":
      return start + DAY_MS;
    case "WEEK":
      return start + 7 * DAY_MS;
    case "MONTH":
      return utc(at.getUTCFullYear(), at.getUTCMonth() + 1);
    case "YEAR":
      return utc(at.getUTCFullYear() + 1, 0);
  }
}

// Date.UTC reads years 0 to 99 as 1900 to 1999.
function utc(year: number, month: number): number {
  const at = new Date(0);
  at.setUTCFullYear(year, month, 1);
  return at.getTime();
}
