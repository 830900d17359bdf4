// Pages of results, which three tables hold: those of calls, those of workflows, and pending runs.
import { sql } from "kysely";
import type { AliasableExpression, RawBuilder, SelectQueryBuilder, Selectable } from "kysely";
import { periodEnd } from "../model/periods.ts";
import { decodeTime } from "../runtime/ids.ts";
import type { Database } from "./database.ts";
import { chunksOf, isAmong } from "./database.ts";
import { numberOf } from "./names.ts";
import type { Direction, ResultPage } from "./records.ts";
import { expiredBefore, growingRanges, idsBetween, idsOfStarts } from "./result-days.ts";
import type { Schema } from "./schema.ts";

/** What a page asks of the ids and times in these columns. */
export function placeOnPage(
  { after, order, from, to }: ResultPage,
  columns: { readonly id: string; readonly time: string },
): RawBuilder<boolean>[] {
  const [id, time] = [sql.ref(columns.id), sql.ref(columns.time)];
  const beyond = order === "desc" ? sql<boolean>`${id} < ${after}` : sql<boolean>`${id} > ${after}`;
  return [
    ...(after === "" ? [] : [beyond]),
    ...(from === undefined ? [] : [sql<boolean>`${time} >= ${from}`]),
    ...(to === undefined ? [] : [sql<boolean>`${time} < ${to}`]),
  ];
}

/** Terms of a compound query, of which SQLite takes 500. */
const MOST_GROUPS = 100;

/** The ids of a call's results on a page, in its order. */
export async function idsOnPage(
  database: Database,
  callId: string,
  page: ResultPage,
): Promise<string[]> {
  const { order, limit, from, to } = page;
  const found =
    from !== undefined || to !== undefined
      ? await idsInTime(database, callId, page)
      : await idsOfGroups(database, callId, page);
  found.sort();
  return (order === "desc" ? found.toReversed() : found).slice(0, limit);
}

async function idsInTime(database: Database, callId: string, page: ResultPage): Promise<string[]> {
  const { from: start = 0, to: end = Infinity } = page;
  const query = timedQuery(database, callId, page, await idsOfStarts(database, { start, end }));
  return idsOf(await query.execute());
}

async function idsOfGroups(
  database: Database,
  callId: string,
  page: ResultPage,
): Promise<string[]> {
  const found: string[] = [];
  const all = chunksOf(await groupsOf(database, callId, page), MOST_GROUPS);
  if (all.length === 0) return found;
  for (const days of await daysOfPage(database, callId, page)) {
    for (const groups of all) {
      const query = groupedQuery(database, groups, page, days);
      found.push(...idsOf(await query.execute()));
    }
    if (found.length >= page.limit) break;
  }
  return found;
}

const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);

/** Where the page may begin and go on to: in ranges of the times in ids, in its order. */
async function daysOfPage(
  database: Database,
  callId: string,
  { after, order }: ResultPage,
): Promise<RawBuilder<boolean>[]> {
  if (!database.rowLocks) return [sql<boolean>`true`];
  const direction = order === "desc" ? "backwards" : "forwards";
  const begins = after === "" ? await firstOnPage(database, callId, direction) : decodeTime(after);
  const ranges = growingRanges(database, begins, direction);
  return ranges.map(({ start, end }, at) => {
    const isFirst = at === 0 && after === "";
    if (direction === "forwards") return idsBetween(isFirst ? 0 : start, end);
    return idsBetween(start, isFirst ? Infinity : end);
  });
}

/** About the time in the first id: of the oldest or newest day of which the call has statistics. */
async function firstOnPage(
  database: Database,
  callId: string,
  direction: Direction,
): Promise<number> {
  const days = database.kysely
    .selectFrom("stats")
    .where("call", "=", numberOf(database, callId))
    .where("kind", "=", numberOf(database, "DAY"))
    .where("period", ">=", await expiredBefore(database));
  const { first, last } = await days
    .select(({ fn }) => [fn.min("period").as("first"), fn.max("period").as("last")])
    .executeTakeFirstOrThrow();
  return (direction === "forwards" ? first : last && periodEnd("DAY", last)) ?? 0;
}

/** Results of one call with one outcome at one location, by their numbers. */
export type Group = Pick<Selectable<Schema["results"]>, (typeof GROUP_COLUMNS)[number]>;

/** Those that have statistics: of some, all results may have been removed. */
export async function groupsOf(
  database: Database,
  callId: string,
  { codes, location_id }: ResultPage,
): Promise<Group[]> {
  let groups = database.kysely
    .selectFrom("stats")
    .select(["call", "location", "result"])
    .distinct()
    .where("call", "=", numberOf(database, callId))
    .where("kind", "=", numberOf(database, "MONTH"))
    .where("count", ">", 0);
  if (location_id !== undefined)
    groups = groups.where("location", "=", numberOf(database, location_id));
  if (codes) groups = groups.where("result", "in", numbersAmong(database, codes));
  return groups.execute();
}

/** An index has each group in the order of its ids. */
export function groupedQuery(
  { kysely, rowLocks }: Database,
  groups: readonly Group[],
  page: ResultPage,
  days = ANY_DAY,
): Ids {
  const { order, limit } = page;
  const ofGroup = (numberIn: (column: keyof Group) => number | RawBuilder<number>) => {
    let query = kysely.selectFrom("results").select("id").where(days);
    for (const column of GROUP_COLUMNS) query = query.where(column, "=", numberIn(column));
    for (const condition of placeOnPage(page, RESULT_PLACE)) query = query.where(condition);
    return query.orderBy("id", order).limit(limit);
  };
  const select = (ids: AliasableExpression<{ id: string }>): Ids =>
    kysely.selectFrom(ids.as("found")).selectAll();
  if (!rowLocks)
    return groups
      .map((group) => select(ofGroup((column) => group[column])))
      .reduce((all, query) => all.unionAll(query));
  // Planned once for all groups: that takes longer than to read them.
  const numbers = GROUP_COLUMNS.map((name) => sql`${groups.map((group) => group[name])}::int[]`);
  return select(sql<{ id: string }>`(
    select of_group.id from unnest(${sql.join(numbers)}) as given (call, location, result)
      cross join lateral (${ofGroup((column) => sql.ref<number>(`given.${column}`))}) as of_group
    order by of_group.id ${sql.raw(order ?? "asc")} limit ${limit}
  )`);
}

const GROUP_COLUMNS = ["call", "location", "result"] as const;

/** Results in a range of time: an index has those of a call by time, of all groups. */
export function timedQuery(database: Database, callId: string, page: ResultPage, days = ANY_DAY) {
  const { order, limit, codes, location_id } = page;
  let query = database.kysely
    .selectFrom("results")
    .select("id")
    .where("call", "=", numberOf(database, callId))
    .where(days);
  for (const condition of placeOnPage(page, RESULT_PLACE)) query = query.where(condition);
  // The sign keeps these from leading to the index of groups, which has all times.
  if (location_id !== undefined)
    query = query.where(sql`+location`, "=", numberOf(database, location_id));
  if (codes) query = query.where(sql`+result`, "in", numbersAmong(database, codes));
  // An expression keeps the order from leading to the index of ids.
  return query.orderBy(database.rowLocks ? sql`id || ''` : "id", order).limit(limit);
}

const ANY_DAY = sql<boolean>`true`;

const RESULT_PLACE = { id: "id", time: "time" };

type Ids = SelectQueryBuilder<Schema, never, { id: string }>;

const numbersAmong = (database: Database, names: readonly string[]) =>
  database.kysely
    .selectFrom("names")
    .select("id")
    .where(isAmong(database, "name", names));
