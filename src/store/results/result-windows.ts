// Finds where a page of a call's results lies on PostgreSQL: in windows of ids, one after another
// in the page's order. Statistics count the results of each day, so a page opens the tables of few
// days, even if its results are rare.
import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import { DAY_MS, periodEnd, periodStart } from "../../model/periods.ts";
import { decodeTime } from "../../runtime/ids.ts";
import type { Database } from "../database.ts";
import { selectNumber, selectNumbers } from "../names.ts";
import type { ResultPage } from "../records.ts";
import { addRange, expiredBefore, idsBetween, readSpans } from "../result-days.ts";
import type { Spans, TimeRange } from "../result-days.ts";

/** How many results that match a page's filter started on a day. */
export interface CountedDay {
  readonly period: number;
  readonly count: number;
}

/** Returns one condition on ids for each window. */
export async function windowsOfPage(
  database: Database,
  callId: string,
  page: ResultPage,
): Promise<RawBuilder<boolean>[]> {
  const spans = await readSpans(database);
  const { from = 0, to = Infinity } = page;
  if (to - from <= SHORT_MS) return [idsIn([{ start: from - spans.late, end: to + spans.early }])];
  const most = page.limit + DAYS_BEHIND_CURSOR;
  const days = await countedDays(database, callId, page, spans, most);
  const windows = windowsOf(days, spans, page);
  return (days.length < most ? windows : [...windows, beyond(windows, page)]).map(idsIn);
}

/** In a range this short, finding the days with results takes longer than reading them all. */
const SHORT_MS = 2 * DAY_MS;

/** All results of this many days may lie before the place where the page begins. */
const DAYS_BEHIND_CURSOR = 3;

/** Returns at most `most` days, in the order of the page. */
async function countedDays(
  database: Database,
  callId: string,
  { after, order, codes, location_id, from, to = Infinity }: ResultPage,
  { late, early }: Spans,
  most: number,
): Promise<CountedDay[]> {
  const cursor = after === "" ? undefined : decodeTime(after);
  const isBackwards = order === "desc";
  const oldest = isBackwards || cursor === undefined ? 0 : cursor - early;
  const newest = isBackwards && cursor !== undefined ? cursor + late : Infinity;
  const starts = Math.max(oldest, from ?? 0, await expiredBefore(database));
  const ends = Math.min(newest, to - 1, Number.MAX_SAFE_INTEGER);
  let days = database.kysely
    .selectFrom("stats")
    .select(["period", sql<number>`cast(sum(count) as bigint)`.as("count")])
    .where("call", "=", selectNumber(database, callId))
    .where("kind", "=", selectNumber(database, "DAY"))
    .where("period", ">=", periodStart("DAY", starts))
    .where("period", "<=", ends)
    .where("count", ">", 0);
  if (location_id !== undefined)
    days = days.where("location", "=", selectNumber(database, location_id));
  if (codes) days = days.where("result", "in", selectNumbers(database, codes));
  return days.groupBy("period").orderBy("period", order).limit(most).execute();
}

/**
 * Each window is a list of ranges of the times in ids. It ends once its days have as many results
 * as the page; between its ranges there are none.
 */
export function windowsOf(
  days: readonly CountedDay[],
  { late, early }: Spans,
  { order, limit }: Pick<ResultPage, "order" | "limit">,
): TimeRange[][] {
  const isBackwards = order === "desc";
  let bound = isBackwards ? Infinity : 0;
  const windows: TimeRange[][] = [];
  let [ranges, held]: [TimeRange[], number] = [[], 0];
  for (const { period, count } of days) {
    const [start, end] = [Math.max(period - late, 0), periodEnd("DAY", period) + early];
    const day = isBackwards
      ? { start, end: Math.min(end, bound) }
      : { start: Math.max(start, bound), end };
    addRange(ranges, day);
    held += count;
    if (held < limit) continue;
    windows.push(ranges);
    bound = isBackwards ? day.start : day.end;
    [ranges, held] = [[], 0];
  }
  return ranges.length > 0 ? [...windows, ranges] : windows;
}

/** The range of all ids that the page would reach after these windows. */
function beyond(windows: readonly TimeRange[][], { order }: ResultPage): TimeRange[] {
  const ranges = windows.flat();
  if (order === "desc") return [{ start: 0, end: Math.min(...ranges.map(({ start }) => start)) }];
  return [{ start: Math.max(...ranges.map(({ end }) => end)), end: Infinity }];
}

/** The condition begins with bounds around all ranges, for the index. */
function idsIn(ranges: readonly TimeRange[]): RawBuilder<boolean> {
  const start = Math.min(...ranges.map((range) => range.start));
  const end = Math.max(...ranges.map((range) => range.end));
  const within = idsBetween(start, end);
  if (ranges.length === 1) return within;
  const each = ranges.map((range) => sql`(${idsBetween(range.start, range.end)})`);
  return sql<boolean>`${within} and (${sql.join(each, sql` or `)})`;
}
