// How long data is kept, and the size of batches in which expired data is removed.
import { DAY_MS, HOUR_MS, periodStart } from "./periods.ts";

/** How long the settings say that data is kept, in whole days. */
export interface RetentionDays {
  /** Requests, responses and bodies of results. */
  readonly details: number;
  /** Results, of calls and of workflows. */
  readonly raw: number;
  /** Statistics by hour, and percentiles by day, week, month and year. */
  readonly hours: number;
  readonly audit: number;
}

/** The midnight (UTC) from which data of each kind is kept. */
export type KeptFrom = Readonly<Record<keyof RetentionDays, number>>;

/** In the order of their removal: details never outlive their results. */
export const EXPIRING_KINDS = [
  "details",
  "workflow_results",
  "results",
  "hours",
  "percentiles",
  "audit",
] as const;
export type ExpiringKind = (typeof EXPIRING_KINDS)[number];

/** The right to remove data. Results and statistics from before its cursor may be gone. */
export const RETENTION_LEASE = "retention";

/** Its cursor is the time from which the last removal counted back its days. */
export const COUNTING_LEASE = "retention's clock";

/** Its cursor: the percentiles of periods before this time have been removed. */
export const PERCENTILES_LEASE = "retention of percentiles";

/** Where a batch ended, in the order of its kind; undefined before the first row. */
export type RemovalPlace = readonly (string | number)[] | undefined;

/** The next rows to be removed. */
export interface Batch {
  readonly kept: KeptFrom;
  readonly after: RemovalPlace;
  /** How many rows to look at; for percentiles, at how many statistics. */
  readonly limit: number;
  /** Counts what would be removed, and changes nothing. */
  readonly dryRun?: boolean;
  /** The percentiles of periods before this time have been removed. */
  readonly doneBefore?: number | null;
}

export interface Removed {
  /** For percentiles, counters of their histograms. */
  readonly rows: number;
  /** Undefined if there are no more. */
  readonly next: RemovalPlace;
}

/**
 * Keeps results and statistics from `neededSince` on, which insights still need. Details go with
 * their results at the latest; statistics by hour lead to results, so they stay at least as long,
 * which is up to `ID_MARGIN_MS` longer than the setting of results says.
 */
export function keptFrom(days: RetentionDays, now: number, neededSince: number): KeptFrom {
  const since = (kind: keyof RetentionDays): number => now - days[kind] * DAY_MS;
  const midnight = (ms: number): number => periodStart("DAY", ms);
  const raw = midnight(Math.min(since("raw"), neededSince));
  return {
    details: Math.max(midnight(since("details")), raw),
    raw,
    hours: Math.min(midnight(since("hours")), expiredIdsBefore(raw)),
    audit: midnight(since("audit")),
  };
}

const MOST_AHEAD_MS = 6 * HOUR_MS;

/**
 * Returns the time to count back from: at most six hours after that of the previous removal.
 * Removals are hourly, so a clock set forward by mistake costs little before someone notices.
 */
export const countedFrom = (now: number, before: number | null): number =>
  before === null ? now : Math.min(now, before + MOST_AHEAD_MS);

/**
 * A call may start this long after the time in its result's id: a day of `run_delay` plus how late
 * it may be, rounded up to whole days. Only a workflow with long delays between its calls takes
 * longer; the start of each of its results decides.
 */
const ID_MARGIN_MS = 2 * DAY_MS;

/** Results whose ids have an earlier time are expired, unless they started in time to be kept. */
export const expiredIdsBefore = (kept: number): number => Math.max(0, kept - ID_MARGIN_MS);

const [FIRST_BATCH, LEAST_BATCH, MOST_BATCH] = [100, 10, 10_000];

/** Returns how many rows the next batch should have to take `wantedMs`. */
export function nextBatch(
  wantedMs: number,
  last?: { readonly rows: number; readonly ms: number },
): number {
  if (!last) return FIRST_BATCH;
  const change = Math.min(2, Math.max(0.25, wantedMs / Math.max(last.ms, 0.1)));
  return Math.min(MOST_BATCH, Math.max(LEAST_BATCH, Math.round(last.rows * change)));
}
