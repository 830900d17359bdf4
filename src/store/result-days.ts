// Narrows queries to days of results. On PostgreSQL, each day of results is a table, by the time in
// their ids. A query with bounds on ids opens only those days' tables: planning for all takes
// longer than most queries.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import { DAY_MS, HOUR_MS } from "../model/periods.ts";
import { expiredIdsBefore, RETENTION_LEASE } from "../model/retention.ts";
import { decodeTime, encodeTime } from "../runtime/ids.ts";
import type { BulkRow } from "./bulk.ts";
import type { Database } from "./database.ts";
import { cursorOf } from "./leases.ts";
import type { Direction } from "./records.ts";

export interface TimeRange {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** How far the start of a call may be from the time in its result's id, in milliseconds. */
export interface Spans {
  readonly late: number;
  readonly early: number;
}

/** Covers almost all results: a day's delay, and clocks that differ. Larger spans are noted. */
const USUAL: Spans = { late: 25 * HOUR_MS, early: HOUR_MS };

/** Call it in the transaction that stores the results: queries then allow for their spans. */
export async function noteSpans(
  { kysely, rowLocks }: Database,
  results: readonly BulkRow<"id" | "time">[],
): Promise<void> {
  if (!rowLocks) return;
  let { late, early } = USUAL;
  for (const { id, time } of results) {
    const after = Number(time) - decodeTime(String(id));
    late = Math.max(late, after);
    early = Math.max(early, -after);
  }
  if (late === USUAL.late && early === USUAL.early) return;
  await kysely
    .updateTable("result_spans")
    .set({ late: sql`greatest(late, ${late})`, early: sql`greatest(early, ${early})` })
    .where((eb) => eb.or([eb("late", "<", late), eb("early", "<", early)]))
    .execute();
}

/** Returns the spans that cover all results stored so far. PostgreSQL only. */
export async function readSpans({ kysely }: Database): Promise<Spans> {
  const noted = await kysely.selectFrom("result_spans").selectAll().executeTakeFirstOrThrow();
  return { late: Math.max(noted.late, USUAL.late), early: Math.max(noted.early, USUAL.early) };
}

/** Makes conditions on ids that hold for all results that started in a range. */
export async function nearStarts(
  database: Database,
): Promise<(range: TimeRange) => RawBuilder<boolean>> {
  if (!database.rowLocks) return () => sql<boolean>`true`;
  const { late, early } = await readSpans(database);
  return ({ start, end }) => idsBetween(start - late, end + early);
}

/** A condition on ids that holds for all results that started in the range. */
export const idsOfStarts = async (
  database: Database,
  range: TimeRange,
): Promise<RawBuilder<boolean>> => (await nearStarts(database))(range);

/** A condition on the times in ids: `from` is inclusive, `to` exclusive. */
export function idsBetween(from: number, to: number): RawBuilder<boolean> {
  const isFrom = from > 0 ? sql<boolean>`results.id >= ${encodeTime(from)}` : sql<boolean>`true`;
  if (to > LAST_TIME) return isFrom;
  return sql<boolean>`${isFrom} and results.id < ${encodeTime(Math.max(to, 0))}`;
}

/** The year 10000. */
const LAST_TIME = 253_402_300_800_000;

const ALL_TIMES: TimeRange = { start: 0, end: Number.MAX_SAFE_INTEGER };
const WINDOWS_MS = [2 * DAY_MS, 16 * DAY_MS];

/**
 * Divides all times from `from` (inclusive) on into growing ranges: a page filled by the first
 * opens few tables.
 */
export function growingRanges(
  { rowLocks }: Database,
  from: number,
  direction: Direction,
): TimeRange[] {
  if (!rowLocks) return [ALL_TIMES];
  return [0, ...WINDOWS_MS].map((near, at) => {
    const far = WINDOWS_MS[at] ?? Infinity;
    return direction === "forwards"
      ? { start: from + near, end: Math.min(from + far, ALL_TIMES.end) }
      : { start: Math.max(from + 1 - far, 0), end: Math.max(from + 1 - near, 0) };
  });
}

/** The hours that start at these times, in their order; neighbours become one range. */
export function joinedHours(starts: readonly number[]): TimeRange[] {
  const ranges: TimeRange[] = [];
  for (const start of starts) addRange(ranges, { start, end: start + HOUR_MS });
  return ranges;
}

/** Appends a range, or extends the last one if they touch. */
export function addRange(ranges: TimeRange[], next: TimeRange): void {
  const last = ranges.at(-1);
  if (!last || last.start > next.end || next.start > last.end) ranges.push(next);
  else {
    const [start, end] = [Math.min(last.start, next.start), Math.max(last.end, next.end)];
    ranges.splice(-1, 1, { start, end });
  }
}

/** Returns a time: no result that started then or later has been removed. */
export const completeSince = async (database: Database): Promise<number> =>
  (await cursorOf(database, RETENTION_LEASE)) ?? 0;

/** Returns a time: hardly any result that started earlier is left, only statistics. */
export const expiredBefore = async (database: Database): Promise<number> =>
  expiredIdsBefore(await completeSince(database));
